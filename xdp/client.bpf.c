// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The client: tc gives blank requests a group and a filter table; XDP drops the response
 * to a request that was already answered. */
#define NC_ROLE_CLIENT
#include "netclone/state.h"
#include "netclone/client.h"
#include "state/host.h"

NC_INLINE nc_u32 nc_client_parse(const struct nc_client_config *cfg, const struct nc_frame *frame,
				 struct nc_packet *p)
{
	const struct nc_ranges ranges = {
		.n_groups = cfg->n_groups,
		.n_filter_tables = cfg->n_filter_tables,
		.blank = 1,
	};

	return nc_parse(frame, &cfg->ports, &ranges, p);
}

NC_XDP(nc_client_in)
{
	const struct nc_client_config *cfg = nc_client_cfg_of(NC_ENV);
	const struct nc_frame frame = NC_FRAME(ctx);
	struct nc_packet p = {};
	nc_u32 reason;

	if (!cfg)
		return XDP_PASS;
	reason = nc_client_parse(cfg, &frame, &p);
	if (reason == NC_PARSED && p.nc->type != NC_TYPE_RESP)
		reason = NC_CTR_other_direction;
	if (reason == NC_PARSED)
		reason = nc_client_response(NC_ENV, cfg, p.nc);
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
	struct nc_frame frame;
	struct nc_packet p = {};
	struct nc_header old;
	nc_u32 reason;

	if (!cfg)
		return TC_ACT_OK;
	frame = nc_pulled(ctx);
	reason = nc_client_parse(cfg, &frame, &p);
	if (reason == NC_PARSED && p.nc->type != NC_TYPE_REQ)
		reason = NC_CTR_other_direction;
	if (reason == NC_PARSED) {
		old = *p.nc;
		reason = nc_client_request(NC_ENV, cfg, p.nc);
	}
	if (reason == NC_CTR_request_stamped &&
	    nc_replace_l4_check(ctx, &p, nc_header_diff((void *)&old, (void *)p.nc)) < 0)
		reason = NC_CTR_checksum_failed;
	nc_count(NC_ENV, NC_HOOK_EGRESS, reason);
	return reason == NC_CTR_checksum_failed ? TC_ACT_SHOT : TC_ACT_OK;
}
