/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* UDP segmentation offload: a program sends one buffer that is cut into segments further down,
 * each with a header of ours. Their checksums are partial and do not cover the header. */
#ifndef NETCLONE_TARGETS_SEGMENTS_H
#define NETCLONE_TARGETS_SEGMENTS_H

enum {
	NC_MAX_SEGMENTS = 128, /* the kernel's UDP_MAX_SEGMENTS */
};

/* Fills in what the segments of a buffer have in common. Returns whether it has several. */
NC_INLINE int nc_has_segments(struct __sk_buff *ctx, const struct nc_frame *frame,
			      const struct nc_ports *ports, struct nc_packet *all)
{
	return nc_unlikely(ctx->gso_segs > 1) && nc_find_udp(frame, ports, all);
}

#ifdef NC_ROLE_SERVER
#define nc_segment_of_role nc_server_segment
#define nc_segment_config nc_server_config
#else
#define nc_segment_of_role nc_client_segment
#define nc_segment_config nc_client_config
#endif

/* `whose`: what tells the client (see the role's function). The config is looked up again: the
 * packet's pointers end with the first segment that is written. */
NC_INLINE void nc_stamp_segments(struct __sk_buff *ctx, const struct nc_segment_config *cfg,
				 const struct nc_packet *all, nc_u32 whose)
{
	const struct nc_packet ports = {.src_port = all->src_port, .dst_port = all->dst_port};
	nc_u32 at = all->l4_offset + sizeof(struct nc_udp), size = ctx->gso_size, reason;
	struct nc_header h;

	for (int i = 0; i < NC_MAX_SEGMENTS; i++) {
		if (at >= ctx->len)
			return;
		reason = NC_CTR_short_payload;
		if (size >= sizeof(h) && bpf_skb_load_bytes(ctx, at, &h, sizeof(h)) == 0)
			reason = nc_segment_of_role(NC_ENV, cfg, &ports, &h, whose);
		if ((reason == NC_CTR_request_stamped || reason == NC_CTR_response_stamped) &&
		    bpf_skb_store_bytes(ctx, at, &h, sizeof(h), 0) < 0)
			reason = NC_CTR_checksum_failed;
		nc_count(NC_ENV, NC_HOOK_EGRESS, reason);
		at += size;
	}
}

#endif
