/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The only door from the logic to the tables. One file of targets/ provides, for
 * `struct nc_env *env` (opaque to the logic: which switch, which host; kernel programs have
 * one set of tables and pass 0):
 *
 *   switch  const struct nc_switch_config *nc_switch_cfg_of(env)
 *           const struct nc_group *nc_group_of(env, grp)      GrpT
 *           const struct nc_server *nc_server_of(env, sid)    AddrT
 *           nc_u32 *nc_state_of(env, sid)                     StateT
 *           struct nc_health *nc_health_of(env, sid)
 *           nc_u64 *nc_sequence_of(env)
 *           nc_u64 *nc_filter_slot(env, index)                FilterT, all tables in a row
 *           nc_u64 *nc_request_slot(env, index)               cloned-request table
 *           nc_u64 *nc_attempt_slot(env, index)               clonings of one request
 *           nc_u64 *nc_fdb_slot(env, index)
 *           nc_u32 *nc_port_role_of(env, ifindex)
 *           nc_u64 *nc_clone_tokens_of(env)
 *           nc_u64 *nc_turn_of(env)                           one for each CPU
 *           int nc_can_clone(env, grp)                        the group's devmap is there
 *           nc_u16 nc_frame_sum(frame handle, offset, len)    sum of bytes of the frame,
 *                                                             even offset first
 *   server  const struct nc_server_config *nc_server_cfg_of(env)
 *           nc_u64 *nc_inflight_slot(env, index)
 *           struct nc_slices *nc_slices_of(env)
 *           nc_u32 nc_app_queue_length(env)
 *           struct nc_reserve *nc_reserve_of(env)
 *   client  const struct nc_client_config *nc_client_cfg_of(env)
 *           nc_u64 *nc_answered_slot(env, index)
 *   all     nc_u64 nc_now_ns(env)      monotonic, a few ms coarse
 *           nc_u32 nc_random(env)
 *           void nc_count(env, hook, reason)
 *
 * A look-up returns 0 for an index that is out of the table. */
#ifndef NETCLONE_TABLE_ACCESS_H
#define NETCLONE_TABLE_ACCESS_H

#include "checksum.h"
#include "counters.h"
#include "packet.h"
#include "tables.h"
#include "verifier.h"

struct nc_env;

#if defined(NC_TARGET_BCC)
#include "../../targets/bcc.h"
#elif defined(__bpf__)
#include "../../targets/libbpf.h"
#else
#include "../../targets/native.h"
#endif

/* Atomic on a slot shared by all CPUs; each returns what was there before. With
 * NC_SINGLE_THREAD, for a target that has its tables to itself, plain. */
#ifdef NC_SINGLE_THREAD
NC_INLINE nc_u64 nc_swap(nc_u64 *slot, nc_u64 value)
{
	nc_u64 old = *slot;

	*slot = value;
	return old;
}

NC_INLINE nc_u64 nc_replace(nc_u64 *slot, nc_u64 expected, nc_u64 value)
{
	nc_u64 old = *slot;

	if (old == expected)
		*slot = value;
	return old;
}

NC_INLINE nc_u64 nc_increment(nc_u64 *slot)
{
	return (*slot)++;
}
#else
NC_INLINE nc_u64 nc_swap(nc_u64 *slot, nc_u64 value)
{
	return __sync_lock_test_and_set(slot, value);
}

NC_INLINE nc_u64 nc_replace(nc_u64 *slot, nc_u64 expected, nc_u64 value)
{
	return __sync_val_compare_and_swap(slot, expected, value);
}

NC_INLINE nc_u64 nc_increment(nc_u64 *slot)
{
	return __sync_fetch_and_add(slot, 1);
}
#endif

#endif
