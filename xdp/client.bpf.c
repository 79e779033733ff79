// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The client: tc gives blank requests a group and a filter table; XDP drops the response
 * to a request that was already answered. */
#define NC_ROLE_CLIENT
#include "netclone/client.h"
#include "targets/segments.h"

NC_XDP(nc_client_in)
{
	const struct nc_client_config *cfg = nc_client_cfg_of(NC_ENV);
	const struct nc_frame frame = NC_FRAME(ctx);
	nc_u32 reason;

	if (!cfg)
		return XDP_PASS;
	reason = nc_client_ingress(NC_ENV, cfg, &frame);
	nc_count(NC_ENV, NC_HOOK_INGRESS, reason);
	if (reason == NC_CTR_dropped_already_answered)
		return XDP_DROP;
	if (nc_unlikely(cfg->flags & NC_HOST_XSK) && reason == NC_CTR_response_delivered)
		return nc_redirect_to_socket(ctx->rx_queue_index);
	return XDP_PASS;
}

NC_TC(nc_client_out)
{
	const struct nc_client_config *cfg = nc_client_cfg_of(NC_ENV);
	struct nc_egress out = {};
	struct nc_packet all = {};
	struct nc_frame frame;
	nc_u32 reason;

	if (!cfg)
		return TC_ACT_UNSPEC; /* others' filters come next */
	frame = nc_pulled(ctx);
	if (nc_has_segments(ctx, &frame, &cfg->ports, &all)) {
		nc_stamp_segments(ctx, cfg, &all, nc_asker_of(&all, cfg->secret, 1));
		return TC_ACT_UNSPEC;
	}
	reason = nc_client_egress(NC_ENV, cfg, &frame, &out);
	if (reason == NC_CTR_request_stamped && nc_replace_l4_check(ctx, &out) < 0)
		reason = NC_CTR_checksum_failed;
	nc_count(NC_ENV, NC_HOOK_EGRESS, reason);
	return reason == NC_CTR_checksum_failed ? TC_ACT_SHOT : TC_ACT_UNSPEC;
}
