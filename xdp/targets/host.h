/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the server's and the client's entry points share: a tc program rewrites the header
 * of a packet on its way out, and its checksum with it. */
#ifndef NETCLONE_TARGETS_HOST_H
#define NETCLONE_TARGETS_HOST_H

#include "entry.h"
#include "../include/netclone/host.h"

enum {
	/* Ethernet, two tags, IPv6, and the longest L4 part. */
	NC_PULL_LEN = 14 + 8 + 40 + NC_MAX_L4_LEN,
};

/* What lies beyond the linear part of a socket buffer is pulled into it: TCP keeps its
 * payload elsewhere, and a packet's lengths are checked against the bytes that are there. */
NC_INLINE struct nc_frame nc_pulled(struct __sk_buff *ctx)
{
	nc_u32 linear = ctx->data_end - ctx->data, want = NC_PULL_LEN;

	if (nc_unlikely(linear < ctx->len && linear < want))
		bpf_skb_pull_data(ctx, ctx->len < want ? ctx->len : want);
	return (struct nc_frame)NC_FRAME(ctx);
}

/* The kernel knows whether the sum is full or partial, and leaves a partial one alone.
 * Returns 0, or below 0 when the checksum could not be written. */
NC_INLINE long nc_replace_l4_check(struct __sk_buff *ctx, const struct nc_egress *out)
{
	const struct nc_packet *p = &out->packet;
	nc_u32 check = p->protocol == NC_PROTO_UDP ? __builtin_offsetof(struct nc_udp, check)
						   : __builtin_offsetof(struct nc_tcp, check);
	nc_u32 offset = p->l4_offset + check;
	nc_u64 flags = p->protocol == NC_PROTO_UDP ? BPF_F_MARK_MANGLED_0 : 0;

	return bpf_l4_csum_replace(ctx, offset, 0, nc_fold(out->diff), flags);
}

#endif
