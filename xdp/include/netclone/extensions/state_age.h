/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The age of a state: where a candidate is passed over for its state, in place of [line 6], a state
 * that has not changed for a timeout is forgotten. A server whose last response said "busy", and
 * whose later requests were lost, is asked again. Only RackSched and the reserve rule pass a
 * candidate over; Algorithm 1 asks each server of every group that has it first. */
#ifndef NETCLONE_STATE_AGE_H
#define NETCLONE_STATE_AGE_H

#include "../algorithm1.h"

/* Candidate `sid` is passed over. Returns whether its state has just been forgotten. Plain stores:
 * an update lost to another CPU's has the same effect. */
NC_SUBPROGRAM int nc_pass_over(struct nc_env *env, const struct nc_switch_config *cfg, nc_u32 sid)
{
	struct nc_health *health = nc_health_of(env, sid);
	nc_u32 *state = nc_state_of(env, sid), now_state;
	nc_u64 now_ns, since_ns;

	NC_KEEP_ARGUMENT(env);
	if (!cfg || !health || !state || !cfg->state_timeout_ns)
		return 0;
	now_state = *(volatile nc_u32 *)state;
	now_ns = nc_now_ns(env);
	since_ns = health->passed_over_since_ns;
	if (!since_ns || health->passed_over_for != now_state) {
		health->passed_over_for = now_state;
		health->passed_over_since_ns = now_ns;
		return 0;
	}
	if (now_ns - since_ns <= cfg->state_timeout_ns)
		return 0;
	*(volatile nc_u32 *)state = 0;
	health->passed_over_since_ns = 0;
	return 1;
}

#endif
