/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "plain_client.h"

#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/clock.h"

#define QUIET_NS 100000000ULL

static bool receive(int fd, struct lg_plain_result *result)
{
	uint8_t packet[LG_PAYLOAD_MAX];
	const struct lg_body *body = (const struct lg_body *)(packet + LG_BODY_OFFSET);
	struct lg_peer from;
	socklen_t len = sizeof(from.in6);
	ssize_t n = recvfrom(fd, packet, sizeof(packet), MSG_DONTWAIT, &from.sa, &len);

	if (n < (ssize_t)LG_PAYLOAD_LEN || body->magic != htole32(LG_BODY_MAGIC))
		return false;
	result->answered++;
	lg_hist_add(&result->latency, lg_now_ns() - body->sent_ns);
	return true;
}

void lg_plain_client_run(int fd, const struct lg_peer *server, uint64_t duration_ns,
			 struct lg_plain_result *result)
{
	uint8_t packet[LG_PAYLOAD_LEN] = {0};
	struct lg_body *body = (struct lg_body *)(packet + LG_BODY_OFFSET);
	uint64_t cpu_ns = lg_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	uint64_t now_ns = lg_now_ns(), end_ns = now_ns + duration_ns, last_ns;

	memset(result, 0, sizeof(*result));
	lg_hist_init(&result->latency);
	((struct nc_header *)packet)->type = NC_TYPE_REQ;
	body->magic = htole32(LG_BODY_MAGIC);
	while (now_ns < end_ns) {
		body->seq++;
		body->sched_ns = body->sent_ns = now_ns;
		if (sendto(fd, packet, sizeof(packet), 0, &server->sa, lg_peer_len(server)) < 0)
			result->errors++;
		else
			result->sent++;
		receive(fd, result);
		now_ns = lg_now_ns();
	}
	result->cpu_ns = lg_clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
	for (last_ns = now_ns; now_ns < last_ns + QUIET_NS && result->answered < result->sent;
	     now_ns = lg_now_ns())
		if (receive(fd, result))
			last_ns = now_ns;
}
