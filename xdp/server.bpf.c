// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The server: XDP drops clones that come while requests wait; tc writes SID and STATE into
 * responses. */
#define NC_ROLE_SERVER
#include "netclone/state.h"
#include "netclone/server.h"
#include "state/host.h"

NC_INLINE nc_u32 nc_server_parse(const struct nc_server_config *cfg, const struct nc_frame *frame,
				 struct nc_packet *p)
{
	const struct nc_ranges ranges = {
		.n_groups = NC_MAX_GROUPS,
		.n_filter_tables = cfg->n_filter_tables,
	};

	return nc_parse(frame, &cfg->ports, &ranges, p);
}

NC_XDP(nc_server_in)
{
	const struct nc_server_config *cfg = nc_server_cfg_of(NC_ENV);
	const struct nc_frame frame = NC_FRAME(ctx);
	struct nc_packet p = {};
	nc_u32 reason;
	nc_u64 key;

	if (!cfg)
		return XDP_PASS;
	reason = nc_server_parse(cfg, &frame, &p);
	if (reason == NC_PARSED && p.nc->type != NC_TYPE_REQ)
		reason = NC_CTR_other_direction;
	if (reason != NC_PARSED) {
		nc_count(NC_ENV, NC_HOOK_INGRESS, reason);
		return XDP_PASS;
	}
	key = nc_inflight_key(p.nc, p.is_ip6 ? nc_ip6_of(&p)->src[3] : nc_ip4_of(&p)->src,
			      p.src_port);
	reason = nc_server_request(NC_ENV, cfg, p.nc, key, nc_slice_now(NC_ENV, cfg));
	nc_count(NC_ENV, NC_HOOK_INGRESS, reason);
	if (reason == NC_CTR_dropped_server_busy)
		return XDP_DROP;
	if (nc_unlikely(cfg->flags & NC_HOST_XSK))
		return nc_redirect_to_socket(ctx->rx_queue_index);
	return XDP_PASS;
}

NC_TC(nc_server_out)
{
	const struct nc_server_config *cfg = nc_server_cfg_of(NC_ENV);
	struct nc_frame frame;
	struct nc_packet p = {};
	struct nc_header old;
	nc_u32 reason;
	nc_u64 key;

	if (!cfg)
		return TC_ACT_OK;
	frame = nc_pulled(ctx);
	reason = nc_server_parse(cfg, &frame, &p);
	if (reason == NC_PARSED && p.nc->type != NC_TYPE_RESP)
		reason = NC_CTR_other_direction;
	if (reason != NC_PARSED) {
		nc_count(NC_ENV, NC_HOOK_EGRESS, reason);
		return TC_ACT_OK;
	}
	old = *p.nc;
	key = nc_inflight_key(p.nc, p.is_ip6 ? nc_ip6_of(&p)->dst[3] : nc_ip4_of(&p)->dst,
			      p.dst_port);
	nc_server_response(NC_ENV, cfg, p.nc, key, nc_slice_now(NC_ENV, cfg));
	reason = NC_CTR_response_stamped;
	if (nc_replace_l4_check(ctx, &p, nc_header_diff((void *)&old, (void *)p.nc)) < 0)
		reason = NC_CTR_checksum_failed;
	nc_count(NC_ENV, NC_HOOK_EGRESS, reason);
	return reason == NC_CTR_response_stamped ? TC_ACT_OK : TC_ACT_SHOT;
}
