/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The tables as plain arrays: one struct nc_env is one switch, one server or one client,
 * with a clock of its own. A table that a role does not have is left 0; its look-ups
 * return 0. */
#ifndef NETCLONE_TARGETS_NATIVE_H
#define NETCLONE_TARGETS_NATIVE_H

struct nc_env {
	nc_u64 now_ns;
	nc_u64 random; /* state of nc_random; any value, also 0 */
	nc_u64 counters[NC_HOOK_COUNT][NC_CTR_COUNT];

	/* switch */
	struct nc_switch_config switch_cfg;
	struct nc_group *groups;   /* n_groups + 1 entries */
	struct nc_server *servers; /* NC_MAX_SERVERS */
	nc_u32 *state;		   /* NC_MAX_SERVERS */
	struct nc_health *health;  /* NC_MAX_SERVERS */
	nc_u64 sequence;
	nc_u64 turn;
	nc_u64 *filter;	    /* n_filter_tables * (filter_mask + 1) */
	nc_u64 *requests;   /* 1 << NC_REQUEST_SLOTS_LOG2 */
	nc_u64 *attempts;   /* 1 << NC_REQUEST_SLOTS_LOG2 */
	nc_u64 *fdb;	    /* 1 << NC_FDB_SLOTS_LOG2 */
	nc_u32 *port_roles; /* NC_DEFAULT_PORT_ENTRIES */
	nc_u64 clone_tokens;

	/* server */
	struct nc_server_config server_cfg;
	nc_u64 *inflight; /* 1 << NC_INFLIGHT_SLOTS_LOG2 */
	struct nc_slices slices;
	nc_u32 app_queue_length;
	struct nc_reserve reserve;

	/* client */
	struct nc_client_config client_cfg;
	nc_u64 *answered; /* 1 << NC_ANSWERED_SLOTS_LOG2 */
};

#define NC_LOOKUP(function_, type_, array_, entries_)                                              \
	NC_INLINE type_ *function_(struct nc_env *env, nc_u32 index)                               \
	{                                                                                          \
		return env->array_ && index < (entries_) ? &env->array_[index] : 0;                \
	}

NC_INLINE void nc_count(struct nc_env *env, nc_u32 hook, nc_u32 reason)
{
	if (hook < NC_HOOK_COUNT && reason < NC_CTR_COUNT)
		env->counters[hook][reason]++;
}

NC_INLINE nc_u64 nc_now_ns(struct nc_env *env)
{
	return env->now_ns;
}

/* splitmix64: seeded by env->random, so that a run can be repeated. */
NC_INLINE nc_u32 nc_random(struct nc_env *env)
{
	nc_u64 x = env->random += 0x9e3779b97f4a7c15ULL;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return (nc_u32)((x ^ x >> 31) >> 32);
}

NC_INLINE const struct nc_switch_config *nc_switch_cfg_of(struct nc_env *env)
{
	return &env->switch_cfg;
}

NC_LOOKUP(nc_group_of, const struct nc_group, groups, env->switch_cfg.n_groups + 1)
NC_LOOKUP(nc_server_of, const struct nc_server, servers, NC_MAX_SERVERS)
NC_LOOKUP(nc_state_of, nc_u32, state, NC_MAX_SERVERS)
NC_LOOKUP(nc_health_of, struct nc_health, health, NC_MAX_SERVERS)
NC_LOOKUP(nc_filter_slot, nc_u64, filter,
	  env->switch_cfg.n_filter_tables *(env->switch_cfg.filter_mask + 1))
NC_LOOKUP(nc_request_slot, nc_u64, requests, 1U << NC_REQUEST_SLOTS_LOG2)
NC_LOOKUP(nc_attempt_slot, nc_u64, attempts, 1U << NC_REQUEST_SLOTS_LOG2)
NC_LOOKUP(nc_fdb_slot, nc_u64, fdb, 1U << NC_FDB_SLOTS_LOG2)
NC_LOOKUP(nc_port_role_of, nc_u32, port_roles, NC_DEFAULT_PORT_ENTRIES)

NC_INLINE nc_u64 *nc_clone_tokens_of(struct nc_env *env)
{
	return &env->clone_tokens;
}

NC_INLINE nc_u64 *nc_sequence_of(struct nc_env *env)
{
	return &env->sequence;
}

NC_INLINE nc_u64 *nc_turn_of(struct nc_env *env)
{
	return &env->turn;
}

/* Every group can be cloned: the caller sends both frames itself. */
NC_INLINE int nc_can_clone(struct nc_env *env, nc_u32 grp)
{
	return grp >= 1 && grp <= env->switch_cfg.n_groups;
}

/* The handle of a native frame is its struct nc_frame. */
NC_INLINE nc_u16 nc_frame_sum(void *handle, nc_u32 offset, nc_u32 len)
{
	const struct nc_frame *frame = handle;
	const nc_u8 *at = (const nc_u8 *)frame->data + offset;
	nc_u64 sum = 0;

	for (nc_u32 i = 0; i < len; i++)
		sum += i % 2 ? nc_htons(at[i]) : nc_htons(at[i] << 8);
	return nc_fold(sum);
}

NC_INLINE const struct nc_server_config *nc_server_cfg_of(struct nc_env *env)
{
	return &env->server_cfg;
}

NC_LOOKUP(nc_inflight_slot, nc_u64, inflight, 1U << NC_INFLIGHT_SLOTS_LOG2)

NC_INLINE struct nc_slices *nc_slices_of(struct nc_env *env)
{
	return &env->slices;
}

NC_INLINE nc_u32 nc_app_queue_length(struct nc_env *env)
{
	return env->app_queue_length;
}

NC_INLINE struct nc_reserve *nc_reserve_of(struct nc_env *env)
{
	return &env->reserve;
}

NC_INLINE const struct nc_client_config *nc_client_cfg_of(struct nc_env *env)
{
	return &env->client_cfg;
}

NC_LOOKUP(nc_answered_slot, nc_u64, answered, 1U << NC_ANSWERED_SLOTS_LOG2)

#endif
