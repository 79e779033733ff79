/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Failure detection, beyond the paper (docs/data-plane.md): before [line 6], a failed candidate is
 * passed over, and probed now and then; [lines 14-16] also clear what the server owes.
 * Everything here is behind server_timeout_ns != 0. */
#ifndef NETCLONE_HEALTH_H
#define NETCLONE_HEALTH_H

#include "../algorithm1.h"

NC_INLINE int nc_is_failed(const struct nc_health *health, nc_u64 timeout_ns, nc_u64 now_ns)
{
	nc_u64 since = health->owing_since_ns;

	return since && now_ns - since > timeout_ns;
}

/* Plain stores: a lost update moves a count by one or a time by one packet. */
NC_INLINE void nc_note_sent(struct nc_env *env, nc_u32 sid, nc_u64 now_ns)
{
	struct nc_health *health = nc_health_of(env, sid);

	if (!health)
		return;
	health->owed++;
	if (!health->owing_since_ns)
		health->owing_since_ns = now_ns;
}

NC_INLINE void nc_note_heard(struct nc_env *env, nc_u32 sid)
{
	struct nc_health *health = nc_health_of(env, sid);

	if (!health || !health->owing_since_ns)
		return;
	health->owing_since_ns = 0;
	health->probed_ns = 0;
	health->owed = 0;
}

/* A failed server is sent a clone once per timeout, counted from when it was found failed. */
NC_INLINE int nc_is_probe_due(struct nc_health *health, nc_u64 timeout_ns, nc_u64 now_ns)
{
	if (health->probed_ns && now_ns - health->probed_ns <= timeout_ns)
		return 0;
	if (!health->probed_ns) {
		health->probed_ns = now_ns;
		return 0;
	}
	health->probed_ns = now_ns;
	return 1;
}

/* One candidate failed: the other one, with a probe now and then. Both: the first. */
NC_INLINE nc_u32 nc_choose_by_health(struct nc_env *env, const struct nc_switch_config *cfg,
				     const struct nc_group *g)
{
	struct nc_health *first = nc_health_of(env, g->first);
	struct nc_health *second = nc_health_of(env, g->second);
	nc_u64 timeout_ns = cfg->server_timeout_ns, now_ns = nc_now_ns(env);
	int first_failed, second_failed;

	if (!first || !second)
		return NC_CHOICE_NONE;
	first_failed = nc_is_failed(first, timeout_ns, now_ns);
	second_failed = nc_is_failed(second, timeout_ns, now_ns);
	if (nc_likely(!first_failed && !second_failed))
		return NC_CHOICE_NONE;
	if (first_failed && second_failed)
		return 0;
	return (first_failed ? NC_CHOICE_SECOND : 0) |
	       (nc_is_probe_due(first_failed ? first : second, timeout_ns, now_ns)
			? NC_CHOICE_BOTH | NC_CHOICE_PROBE
			: 0);
}

/* A choice of one server that has failed since, while the other candidate lives. */
NC_INLINE int nc_is_dead_end(struct nc_env *env, const struct nc_switch_config *cfg,
			     const struct nc_group *g, nc_u32 choice)
{
	struct nc_health *first = nc_health_of(env, g->first);
	struct nc_health *second = nc_health_of(env, g->second);
	nc_u64 timeout_ns = cfg->server_timeout_ns, now_ns;
	int first_failed, second_failed;

	if (choice & (NC_CHOICE_BOTH | NC_CHOICE_NONE) || !first || !second)
		return 0;
	now_ns = nc_now_ns(env);
	first_failed = nc_is_failed(first, timeout_ns, now_ns);
	second_failed = nc_is_failed(second, timeout_ns, now_ns);
	return choice & NC_CHOICE_SECOND ? second_failed && !first_failed
					 : first_failed && !second_failed;
}

#endif
