// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The server: XDP drops clones that come while requests wait; tc writes SID and STATE into
 * responses. */
#define NC_ROLE_SERVER
#include "netclone/server.h"
#include "targets/segments.h"

NC_XDP(nc_server_in)
{
	const struct nc_server_config *cfg = nc_server_cfg_of(NC_ENV);
	const struct nc_frame frame = NC_FRAME(ctx);
	nc_u32 reason;

	if (!cfg)
		return XDP_PASS;
	reason = nc_server_ingress(NC_ENV, cfg, &frame);
	nc_count(NC_ENV, NC_HOOK_INGRESS, reason);
	if (reason == NC_CTR_dropped_server_busy || reason == NC_CTR_dropped_from_server_port)
		return XDP_DROP;
	if (nc_unlikely(cfg->flags & NC_HOST_XSK) &&
	    (reason == NC_CTR_request_admitted || reason == NC_CTR_clone_admitted))
		return nc_redirect_to_socket(ctx->rx_queue_index);
	return XDP_PASS;
}

NC_TC(nc_server_out)
{
	const struct nc_server_config *cfg = nc_server_cfg_of(NC_ENV);
	struct nc_egress out = {};
	struct nc_packet all = {};
	struct nc_frame frame;
	nc_u32 reason;

	if (!cfg)
		return TC_ACT_UNSPEC; /* others' filters come next */
	frame = nc_pulled(ctx);
	if (nc_has_segments(ctx, &frame, &cfg->ports, &all)) {
		nc_stamp_segments(ctx, cfg, &all, nc_client_word(&all));
		return TC_ACT_UNSPEC;
	}
	reason = nc_server_egress(NC_ENV, cfg, &frame, &out);
	if (reason == NC_CTR_response_stamped && nc_replace_l4_check(ctx, &out) < 0)
		reason = NC_CTR_checksum_failed;
	nc_count(NC_ENV, NC_HOOK_EGRESS, reason);
	return reason == NC_CTR_checksum_failed ? TC_ACT_SHOT : TC_ACT_UNSPEC;
}
