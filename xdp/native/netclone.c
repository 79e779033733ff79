// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A frame through a node: what the BPF entry points do, on plain memory. */
#include <string.h>

#include "netclone/client.h"
#include "netclone/server.h"
#include "netclone/switch.h"
#include "netclone/switch_egress.h"

#include "netclone.h"

/* Under AddressSanitizer the room behind a frame is out of bounds, as it is in the kernel. */
#if defined(__SANITIZE_ADDRESS__)
#define NC_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define NC_ASAN 1
#endif
#endif
#ifdef NC_ASAN
#include <sanitizer/asan_interface.h>
static void guard(struct nc_native_out *out)
{
	ASAN_POISON_MEMORY_REGION(out->frame + out->length, sizeof(out->frame) - out->length);
}

static void unguard(struct nc_native_out *out)
{
	ASAN_UNPOISON_MEMORY_REGION(out->frame, sizeof(out->frame));
}
#else
static void guard(struct nc_native_out *out)
{
	(void)out;
}

static void unguard(struct nc_native_out *out)
{
	(void)out;
}
#endif

static struct nc_frame frame_of(struct nc_native_out *out)
{
	struct nc_frame frame = {out->frame, out->frame + out->length, 0};

	return frame;
}

static nc_u32 port_of_server(struct nc_env *node, nc_u32 sid)
{
	const struct nc_server *server = nc_server_of(node, sid);

	return server ? server->ifindex : 0;
}

/* Where the two entries of a group's devmap lead. */
static void set_ports_of_group(struct nc_env *node, nc_u32 grp, struct nc_native_out out[2])
{
	const struct nc_group *g = nc_group_of(node, grp);

	out[0].port = g ? port_of_server(node, g->first) : 0;
	out[1].port = g ? port_of_server(node, g->second) : 0;
}

static void copy_frame(const struct nc_native_out *from, struct nc_native_out *to)
{
	to->length = from->length;
	unguard(to);
	memcpy(to->frame, from->frame, from->length);
	guard(to);
}

/* The devmap program, on a frame that leaves by its port. Returns whether it goes out. */
static int leaves(struct nc_env *node, const struct nc_switch_config *cfg,
		  struct nc_native_out *out)
{
	struct nc_frame frame = frame_of(out);
	enum nc_counter reason;

	frame.handle = &frame;
	reason = nc_switch_egress(node, cfg, &frame, out->port);
	if (reason == NC_AS_IT_IS)
		return 1;
	nc_count(node, NC_HOOK_CLONE, reason);
	return reason == NC_CTR_clone_sent;
}

/* Broadcast: the same frame to both ports, in the order of the devmap. */
static int broadcast(struct nc_env *node, const struct nc_switch_config *cfg,
		     struct nc_native_out out[2])
{
	int first, second;

	copy_frame(&out[0], &out[1]);
	first = leaves(node, cfg, &out[0]);
	second = leaves(node, cfg, &out[1]);
	if (!first && second) {
		copy_frame(&out[1], &out[0]);
		out[0].port = out[1].port;
	}
	return first + second;
}

static int feed_switch(struct nc_env *node, nc_u32 port, struct nc_native_out out[2])
{
	const struct nc_switch_config *cfg = nc_switch_cfg_of(node);
	struct nc_frame frame = frame_of(&out[0]);
	struct nc_forward f;
	nc_u32 reason;

	frame.handle = &frame;
	reason = nc_switch_ingress(node, cfg, &frame, port, &f);
	nc_count(node, NC_HOOK_INGRESS, reason);
	switch (f.action) {
	case NC_CLONE:
		set_ports_of_group(node, f.grp, out);
		return broadcast(node, cfg, out);
	case NC_SEND:
		out[0].port = f.port;
		return leaves(node, cfg, &out[0]);
	case NC_DROP:
		return 0;
	default:
		out[0].port = NC_NATIVE_STACK;
		return 1;
	}
}

/* The kernel's bpf_l4_csum_replace: a partial sum does not cover the header, and UDP that
 * is sent without a checksum stays without. */
static void replace_check(struct nc_egress *egress, int partial)
{
	struct nc_packet *p = &egress->packet;

	if (partial || (p->protocol == NC_PROTO_UDP && nc_l4_check(p) == 0))
		return;
	nc_set_l4_check(p, nc_check_updated(nc_l4_check(p), egress->diff));
}

static int feed_host(struct nc_env *node, int egress, int partial, struct nc_native_out *out)
{
	const struct nc_server_config *server = nc_server_cfg_of(node);
	const struct nc_client_config *client = nc_client_cfg_of(node);
	struct nc_frame frame = frame_of(out);
	struct nc_egress leaving = {};
	nc_u32 reason;

	frame.handle = &frame;
	if (node->inflight)
		reason = egress ? nc_server_egress(node, server, &frame, &leaving)
				: nc_server_ingress(node, server, &frame);
	else
		reason = egress ? nc_client_egress(node, client, &frame, &leaving)
				: nc_client_ingress(node, client, &frame);
	nc_count(node, egress ? NC_HOOK_EGRESS : NC_HOOK_INGRESS, reason);
	if (reason == NC_CTR_response_stamped || reason == NC_CTR_request_stamped)
		replace_check(&leaving, partial);
	out->port = egress ? NC_NATIVE_WIRE : NC_NATIVE_STACK;
	return reason != NC_CTR_dropped_server_busy && reason != NC_CTR_dropped_from_server_port &&
	       reason != NC_CTR_dropped_already_answered;
}

int nc_native_leave(struct nc_env *node, struct nc_native_out *out)
{
	return leaves(node, nc_switch_cfg_of(node), out);
}

int nc_native_feed(struct nc_env *node, uint32_t port, const uint8_t *frame, size_t length,
		   uint64_t now_ns, int partial, struct nc_native_out out[NC_NATIVE_MAX_OUT])
{
	if (length > NC_NATIVE_MAX_FRAME)
		return -1;
	node->now_ns = now_ns;
	out[0].length = (uint32_t)length;
	unguard(&out[0]);
	memcpy(out[0].frame, frame, length);
	guard(&out[0]);
	if (node->groups)
		return feed_switch(node, port, out);
	return feed_host(node, port == NC_NATIVE_STACK, partial, out);
}
