// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The switch as XDP: parse, decide, act, count. One program on every port; the devmap
 * program, at the servers' ports, makes the copy into a clone on its way out. A frame tries the
 * plain way over IPv4, then the one over IPv6, then takes the way that has everything: a part
 * each, for the verifier to walk once. */
#define NC_ROLE_SWITCH
#include "netclone/table_access.h"
#include "netclone/forward.h"
#include "netclone/leave.h"
#include "targets/entry.h"

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

NC_PART int nc_switch_in_any(struct xdp_md *ctx)
{
	const struct nc_switch_config *cfg = nc_switch_cfg_of(NC_ENV);
	const struct nc_frame frame = NC_FRAME(ctx);
	struct nc_forward f;
	nc_u32 reason;

	if (!cfg)
		return XDP_PASS;
	reason = nc_switch_any(NC_ENV, cfg, &frame, ctx->ingress_ifindex, &f);
	return nc_act(reason, &f);
}

/* The plain way over one kind of IP (`ip6`, a constant). Returns whether the frame went it, with
 * what is to become of it in *verdict. */
NC_INLINE int nc_goes_plain(struct xdp_md *ctx, int ip6, int *verdict)
{
	const struct nc_switch_config *cfg = nc_switch_cfg_of(NC_ENV);
	const struct nc_frame frame = NC_FRAME(ctx);
	struct nc_forward f;
	nc_u32 reason;

	*verdict = XDP_PASS;
	if (!cfg)
		return 1;
	reason = nc_switch_plain(NC_ENV, cfg, &frame, ip6, ctx->ingress_ifindex, &f);
	if (reason == NC_NOT_PLAIN)
		return 0;
	*verdict = nc_act(reason, &f);
	return 1;
}

NC_PART int nc_switch_in_ip6(struct xdp_md *ctx)
{
	int verdict;

	return nc_goes_plain(ctx, 1, &verdict) ? verdict : nc_switch_in_any(ctx);
}

NC_XDP(nc_switch_in)
{
	int verdict;

	return nc_goes_plain(ctx, 0, &verdict) ? verdict : nc_switch_in_ip6(ctx);
}

NC_XDP_DEVMAP(nc_switch_clone)
{
	const struct nc_switch_config *cfg = nc_switch_cfg_of(NC_ENV);
	const struct nc_frame frame = NC_FRAME(ctx);
	nc_u32 reason;

	if (!cfg)
		return XDP_PASS;
	reason = nc_leave(NC_ENV, cfg, &frame, ctx->egress_ifindex);
	if (reason == NC_AS_IT_IS)
		return XDP_PASS;
	nc_count(NC_ENV, NC_HOOK_CLONE, reason);
	return reason == NC_CTR_clone_sent ? XDP_PASS : XDP_DROP;
}
