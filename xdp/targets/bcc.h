/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The tables as BCC tables. BCC rewrites `table.method()` only in functions of the main
 * file, not in macros: every accessor is written out, and the loader hands over one flat
 * text. The loader defines NC_GROUP_ENTRIES, NC_FILTER_ENTRIES and NC_PORT_ENTRIES to what the
 * topology needs. */
#ifndef NETCLONE_TARGETS_BCC_H
#define NETCLONE_TARGETS_BCC_H

#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#include "kernel.h"

/* BCC knows a program by its function. */
#define NC_XDP(name) int name(struct xdp_md *ctx)
#define NC_XDP_DEVMAP(name) int name(struct xdp_md *ctx)
#define NC_TC(name) int name(struct __sk_buff *ctx)

struct nc_counter_set {
	nc_u64 packets[NC_CTR_COUNT];
};

BPF_PERCPU_ARRAY(nc_counters, struct nc_counter_set, NC_HOOK_COUNT);

NC_INLINE void nc_count(struct nc_env *env, nc_u32 hook, nc_u32 reason)
{
	int index = hook;
	struct nc_counter_set *set = nc_counters.lookup(&index);

	(void)env;
	NC_RECHECK(reason);
	if (set && reason < NC_CTR_COUNT)
		set->packets[reason]++;
}

NC_INLINE nc_u64 nc_now_ns(struct nc_env *env)
{
	(void)env;
	return bpf_ktime_get_coarse_ns();
}

NC_INLINE nc_u32 nc_random(struct nc_env *env)
{
	(void)env;
	return bpf_get_prandom_u32();
}

#ifdef NC_ROLE_SWITCH
#ifndef NC_GROUP_ENTRIES
#define NC_GROUP_ENTRIES (NC_DEFAULT_SERVERS * (NC_DEFAULT_SERVERS - 1) + 1)
#endif
#ifndef NC_FILTER_ENTRIES
#define NC_FILTER_ENTRIES (NC_DEFAULT_FILTER_TABLES << NC_FILTER_SLOTS_LOG2)
#endif
#ifndef NC_PORT_ENTRIES
#define NC_PORT_ENTRIES NC_DEFAULT_PORT_ENTRIES
#endif

BPF_PERCPU_ARRAY(nc_scratch, struct nc_scratch, 1);

NC_INLINE struct nc_scratch *nc_scratch_of(void)
{
	int index = 0;

	return nc_scratch.lookup(&index);
}

NC_INLINE nc_u16 nc_frame_sum(void *frame, nc_u32 offset, nc_u32 len)
{
	return nc_chunked_sum(frame, offset, len);
}

BPF_TABLE("array", u32, struct nc_switch_config, nc_switch_cfg, 1);
BPF_TABLE("array", u32, struct nc_group, nc_groups, NC_GROUP_ENTRIES);
BPF_TABLE("array", u32, struct nc_server, nc_servers, NC_MAX_SERVERS);
BPF_TABLE("array", u32, nc_u32, nc_state, NC_MAX_SERVERS);
BPF_TABLE("array", u32, struct nc_health, nc_health, NC_MAX_SERVERS);
BPF_TABLE("array", u32, nc_u64, nc_sequence, 1);
BPF_TABLE("array", u32, nc_u64, nc_filter, NC_FILTER_ENTRIES);
BPF_TABLE("array", u32, nc_u64, nc_requests, 1 << NC_REQUEST_SLOTS_LOG2);
BPF_TABLE("array", u32, nc_u64, nc_attempts, 1 << NC_REQUEST_SLOTS_LOG2);
BPF_TABLE("array", u32, nc_u64, nc_fdb, 1 << NC_FDB_SLOTS_LOG2);
BPF_TABLE("array", u32, nc_u32, nc_port_roles, NC_PORT_ENTRIES);
BPF_TABLE("array", u32, nc_u64, nc_clone_tokens, 1);
BPF_XDP_REDIRECT_MAP("devmap", struct bpf_devmap_val, nc_ports, NC_PORT_ENTRIES);
BPF_PERCPU_ARRAY(nc_turn, nc_u64, 1);
BPF_F_TABLE("devmap", u32, struct bpf_devmap_val, nc_pair_ports, 2, 0);
BPF_ARRAY_OF_MAPS(nc_clone_ports, "nc_pair_ports", NC_GROUP_ENTRIES);

NC_INLINE const struct nc_switch_config *nc_switch_cfg_of(struct nc_env *env)
{
	u32 index = 0;

	(void)env;
	return nc_switch_cfg.lookup(&index);
}

NC_INLINE const struct nc_group *nc_group_of(struct nc_env *env, nc_u32 grp)
{
	(void)env;
	return nc_groups.lookup(&grp);
}

NC_INLINE const struct nc_server *nc_server_of(struct nc_env *env, nc_u32 sid)
{
	(void)env;
	return nc_servers.lookup(&sid);
}

NC_INLINE nc_u32 *nc_state_of(struct nc_env *env, nc_u32 sid)
{
	(void)env;
	return nc_state.lookup(&sid);
}

NC_INLINE struct nc_health *nc_health_of(struct nc_env *env, nc_u32 sid)
{
	(void)env;
	return nc_health.lookup(&sid);
}

NC_INLINE nc_u64 *nc_sequence_of(struct nc_env *env)
{
	u32 index = 0;

	(void)env;
	return nc_sequence.lookup(&index);
}

NC_INLINE nc_u64 *nc_turn_of(struct nc_env *env)
{
	int index = 0;

	(void)env;
	return nc_turn.lookup(&index);
}

NC_INLINE nc_u64 *nc_filter_slot(struct nc_env *env, nc_u32 index)
{
	(void)env;
	return nc_filter.lookup(&index);
}

NC_INLINE nc_u64 *nc_request_slot(struct nc_env *env, nc_u32 index)
{
	(void)env;
	return nc_requests.lookup(&index);
}

NC_INLINE nc_u64 *nc_attempt_slot(struct nc_env *env, nc_u32 index)
{
	(void)env;
	return nc_attempts.lookup(&index);
}

NC_INLINE nc_u64 *nc_fdb_slot(struct nc_env *env, nc_u32 index)
{
	(void)env;
	return nc_fdb.lookup(&index);
}

NC_INLINE nc_u32 *nc_port_role_of(struct nc_env *env, nc_u32 ifindex)
{
	(void)env;
	return nc_port_roles.lookup(&ifindex);
}

NC_INLINE nc_u64 *nc_clone_tokens_of(struct nc_env *env)
{
	u32 index = 0;

	(void)env;
	return nc_clone_tokens.lookup(&index);
}

NC_INLINE int nc_can_clone(struct nc_env *env, nc_u32 grp)
{
	(void)env;
	return nc_clone_ports.lookup(&grp) != 0;
}

/* To Linux where the port has left the table since it was learned. */
NC_INLINE long nc_redirect_to(nc_u32 ifindex)
{
	return nc_ports.redirect_map(ifindex, XDP_PASS);
}

/* BCC knows redirect_map only as a method of a table that it has declared: the helper by
 * its number, for a map found at run time. */
static long (*nc_bpf_redirect_map)(void *map, u64 key, u64 flags) = (void *)BPF_FUNC_redirect_map;

/* A devmap that has just gone costs the clone, never the original. */
NC_INLINE long nc_redirect_both(nc_u32 grp, nc_u32 port)
{
	void *pair = nc_clone_ports.lookup(&grp);

	return pair ? nc_bpf_redirect_map(pair, 0, BPF_F_BROADCAST) : nc_redirect_to(port);
}
#endif

#if defined(NC_ROLE_SERVER) || defined(NC_ROLE_CLIENT)
BPF_XSKMAP(nc_xsks, NC_MAX_XSK_QUEUES);

/* XDP_PASS where the queue has no socket. */
NC_INLINE long nc_redirect_to_socket(nc_u32 queue)
{
	return nc_xsks.redirect_map(queue, XDP_PASS);
}
#endif

#ifdef NC_ROLE_SERVER
BPF_TABLE("array", u32, struct nc_server_config, nc_server_cfg, 1);
BPF_TABLE("array", u32, nc_u64, nc_inflight, 1 << NC_INFLIGHT_SLOTS_LOG2);
BPF_TABLE("array", u32, struct nc_slices, nc_slices, 1);
BPF_F_TABLE("array", u32, nc_u32, nc_app_state, 1, BPF_F_MMAPABLE);
BPF_ARRAY(nc_reserve, struct nc_reserve, 1);

NC_INLINE const struct nc_server_config *nc_server_cfg_of(struct nc_env *env)
{
	u32 index = 0;

	(void)env;
	return nc_server_cfg.lookup(&index);
}

NC_INLINE nc_u64 *nc_inflight_slot(struct nc_env *env, nc_u32 index)
{
	(void)env;
	return nc_inflight.lookup(&index);
}

NC_INLINE struct nc_slices *nc_slices_of(struct nc_env *env)
{
	u32 index = 0;

	(void)env;
	return nc_slices.lookup(&index);
}

NC_INLINE struct nc_reserve *nc_reserve_of(struct nc_env *env)
{
	u32 index = 0;

	(void)env;
	return nc_reserve.lookup(&index);
}

NC_INLINE nc_u32 nc_app_queue_length(struct nc_env *env)
{
	u32 index = 0;
	nc_u32 *length = nc_app_state.lookup(&index);

	(void)env;
	return length ? *(volatile nc_u32 *)length : 0;
}
#endif

#ifdef NC_ROLE_CLIENT
BPF_TABLE("array", u32, struct nc_client_config, nc_client_cfg, 1);
BPF_TABLE("array", u32, nc_u64, nc_answered, 1 << NC_ANSWERED_SLOTS_LOG2);

NC_INLINE const struct nc_client_config *nc_client_cfg_of(struct nc_env *env)
{
	u32 index = 0;

	(void)env;
	return nc_client_cfg.lookup(&index);
}

NC_INLINE nc_u64 *nc_answered_slot(struct nc_env *env, nc_u32 index)
{
	(void)env;
	return nc_answered.lookup(&index);
}
#endif

#endif
