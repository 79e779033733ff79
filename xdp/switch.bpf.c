// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The switch as XDP: parse, decide, act, count. One program on every port; the devmap
 * program, at the servers' ports, makes the clone on its way out. A frame tries the fast path over
 * IPv4, then the one over IPv6, and falls back to the full path: a subprogram each. */
#define NC_ROLE_SWITCH
#include "netclone/switch.h"
#include "netclone/switch_egress.h"

NC_INLINE int nc_act(nc_u32 reason, const struct nc_forward *f)
{
	nc_count(NC_ENV, NC_HOOK_INGRESS, reason);
	switch (f->action) {
	case NC_SEND:
		return nc_redirect_to(f->port);
	case NC_CLONE:
		return nc_redirect_both(f->grp, f->port);
	case NC_DROP:
		return XDP_DROP;
	default:
		return XDP_PASS;
	}
}

NC_SUBPROGRAM int nc_switch_full_path(struct xdp_md *ctx)
{
	const struct nc_switch_config *cfg = nc_switch_cfg_of(NC_ENV);
	const struct nc_frame frame = NC_FRAME(ctx);
	struct nc_forward f;
	nc_u32 reason;

	if (!cfg)
		return XDP_PASS;
	reason = nc_switch_full(NC_ENV, cfg, &frame, ctx->ingress_ifindex, &f);
	return nc_act(reason, &f);
}

/* The fast path over one kind of IP (`ip6`, a constant). Returns whether the frame took it, with
 * what is to become of it in *verdict. */
NC_INLINE int nc_takes_fast_path(struct xdp_md *ctx, int ip6, int *verdict)
{
	const struct nc_switch_config *cfg = nc_switch_cfg_of(NC_ENV);
	const struct nc_frame frame = NC_FRAME(ctx);
	struct nc_forward f;
	nc_u32 reason;

	*verdict = XDP_PASS;
	if (!cfg)
		return 1;
	reason = nc_switch_fast(NC_ENV, cfg, &frame, ip6, ctx->ingress_ifindex, &f);
	if (reason == NC_TAKE_FULL_PATH)
		return 0;
	*verdict = nc_act(reason, &f);
	return 1;
}

NC_SUBPROGRAM int nc_switch_fast_path_ip6(struct xdp_md *ctx)
{
	int verdict;

	return nc_takes_fast_path(ctx, 1, &verdict) ? verdict : nc_switch_full_path(ctx);
}

NC_XDP(nc_switch_in)
{
	int verdict;

	return nc_takes_fast_path(ctx, 0, &verdict) ? verdict : nc_switch_fast_path_ip6(ctx);
}

NC_XDP_DEVMAP(nc_switch_clone)
{
	const struct nc_switch_config *cfg = nc_switch_cfg_of(NC_ENV);
	const struct nc_frame frame = NC_FRAME(ctx);
	nc_u32 reason;

	if (!cfg)
		return XDP_PASS;
	reason = nc_switch_egress(NC_ENV, cfg, &frame, ctx->egress_ifindex);
	if (reason == NC_AS_IT_IS)
		return XDP_PASS;
	nc_count(NC_ENV, NC_HOOK_CLONE, reason);
	return reason == NC_CTR_clone_sent ? XDP_PASS : XDP_DROP;
}
