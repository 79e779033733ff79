/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the generator is measured against: the simplest client that still tells the truth.
 * A loop of one sendto and one recvfrom, which timestamps each request, checks each answer
 * and keeps the latencies in a histogram; as fast as it goes. */
#ifndef LG_PLAIN_CLIENT_H
#define LG_PLAIN_CLIENT_H

#include "lib/histogram.h"
#include "io.h"

struct lg_plain_result {
	uint64_t sent, answered, errors;
	uint64_t cpu_ns; /* processor time of the thread */
	struct lg_hist latency;
};

/* `fd` is a UDP socket. Runs for duration_ns, then waits for answers until none comes for
 * 100 ms. */
void lg_plain_client_run(int fd, const struct lg_peer *server, uint64_t duration_ns,
			 struct lg_plain_result *result);

#endif
