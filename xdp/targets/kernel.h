/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the kernel's programs do to a frame by helper calls, whoever loads them: libbpf or BCC. */
#ifndef NETCLONE_TARGETS_KERNEL_H
#define NETCLONE_TARGETS_KERNEL_H

#define NC_ENV ((struct nc_env *)0) /* kernel programs have one set of tables */
#define NC_FRAME(ctx)                                                                              \
	{                                                                                          \
		(void *)(long)(ctx)->data, (void *)(long)(ctx)->data_end, (ctx)                    \
	}

#ifdef NC_ROLE_SWITCH
/* ---- nc_frame_sum ---- */

enum {
	NC_SUM_CHUNK = 512,	/* the most that bpf_csum_diff takes before kernel 6.12 */
	NC_SCRATCH_WORDS = 256, /* a chunk and its padding, as a power of two */
};

struct nc_scratch {
	nc_u32 word[NC_SCRATCH_WORDS];
};

NC_INLINE struct nc_scratch *nc_scratch_of(void);

/* 0 for a frame that ends before offset + len, which nc_parse has excluded. */
NC_INLINE nc_u16 nc_chunked_sum(void *frame, nc_u32 offset, nc_u32 len)
{
	struct nc_scratch *scratch = nc_scratch_of();
	nc_u64 sum = 0, rest;

	if (!scratch)
		return 0;
	for (int i = 0; i < NC_MAX_L4_LEN / NC_SUM_CHUNK && len > NC_SUM_CHUNK; i++) {
		if (bpf_xdp_load_bytes(frame, offset, scratch->word, NC_SUM_CHUNK) < 0)
			return 0;
		sum = bpf_csum_diff(0, 0, (void *)scratch->word, NC_SUM_CHUNK, (nc_u32)sum);
		offset += NC_SUM_CHUNK;
		len -= NC_SUM_CHUNK;
		NC_RECHECK(len);
	}
	rest = len;
	NC_RECHECK(rest);
	if (rest == 0 || rest > NC_SUM_CHUNK)
		return 0;
	scratch->word[rest / 4 & (NC_SCRATCH_WORDS - 1)] = 0;
	if (bpf_xdp_load_bytes(frame, offset, scratch->word, rest) < 0)
		return 0;
	sum = bpf_csum_diff(0, 0, (void *)scratch->word, (rest + 3) & ~3U, (nc_u32)sum);
	return nc_fold((nc_u32)sum);
}
#endif

#if defined(NC_ROLE_SERVER) || defined(NC_ROLE_CLIENT)
/* ---- tc programs of the hosts: a header is rewritten on its way out, and the checksum with
 * it ---- */

enum {
	NC_PULL_LEN = sizeof(struct nc_eth) + NC_VLAN_MAX_TAGS * sizeof(struct nc_vlan) +
		      sizeof(struct nc_ip6) + NC_MAX_L4_LEN,
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

#endif
