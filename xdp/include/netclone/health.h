/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Failure detection, beyond the paper (docs/data-plane.md): what servers owe, and which of them
 * are taken for failed. Every function here is behind server_timeout_ns != 0. */
#ifndef NETCLONE_HEALTH_H
#define NETCLONE_HEALTH_H

#include "table_access.h"

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

/* A failed server is sent a copy once a timeout, counted from when it was found failed. */
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

#endif
