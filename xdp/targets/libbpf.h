/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The tables as BTF-defined maps. The loader sets max_entries of nc_groups, nc_filter,
 * nc_clone_ports and nc_ports to what the topology needs. */
#ifndef NETCLONE_TARGETS_LIBBPF_H
#define NETCLONE_TARGETS_LIBBPF_H

#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_helpers.h>

#include "kernel.h"

/* libbpf knows a program by its section. */
#define NC_XDP(name) SEC("xdp") int name(struct xdp_md *ctx)
#define NC_XDP_DEVMAP(name) SEC("xdp/devmap") int name(struct xdp_md *ctx)
#define NC_TC(name) SEC("tc") int name(struct __sk_buff *ctx)

char nc_license[] SEC("license") = "Dual BSD/GPL";

/* A subprogram is passed 0, but its argument needs a size. */
struct nc_env {
	char unused;
};

struct nc_counter_set {
	nc_u64 packets[NC_CTR_COUNT];
};

#define NC_ARRAY(name_, value_, entries_, flags_)                                                  \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_ARRAY);                                                  \
		__uint(max_entries, entries_);                                                     \
		__uint(map_flags, flags_);                                                         \
		__type(key, nc_u32);                                                               \
		__type(value, value_);                                                             \
	} name_ SEC(".maps")

#define NC_ACCESSOR(function_, value_, map_)                                                       \
	NC_INLINE value_ *function_(struct nc_env *env, nc_u32 index)                              \
	{                                                                                          \
		(void)env;                                                                         \
		return bpf_map_lookup_elem(&map_, &index);                                         \
	}

#define NC_SINGLE_ACCESSOR(function_, value_, map_)                                                \
	NC_INLINE value_ *function_(struct nc_env *env)                                            \
	{                                                                                          \
		nc_u32 index = 0;                                                                  \
                                                                                                   \
		(void)env;                                                                         \
		return bpf_map_lookup_elem(&map_, &index);                                         \
	}

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, NC_HOOK_COUNT);
	__type(key, nc_u32);
	__type(value, struct nc_counter_set);
} nc_counters SEC(".maps");

NC_INLINE void nc_count(struct nc_env *env, nc_u32 hook, nc_u32 reason)
{
	struct nc_counter_set *set = bpf_map_lookup_elem(&nc_counters, &hook);

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
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, nc_u32);
	__type(value, struct nc_scratch);
} nc_scratch SEC(".maps");

NC_INLINE struct nc_scratch *nc_scratch_of(void)
{
	nc_u32 index = 0;

	return bpf_map_lookup_elem(&nc_scratch, &index);
}

NC_SUBPROGRAM int nc_xdp_frame_sum(struct xdp_md *ctx, nc_u32 offset, nc_u32 len)
{
	return nc_chunked_sum(ctx, offset, len);
}

NC_INLINE nc_u16 nc_frame_sum(void *frame, nc_u32 offset, nc_u32 len)
{
	return (nc_u16)nc_xdp_frame_sum(frame, offset, len);
}

NC_ARRAY(nc_switch_cfg, struct nc_switch_config, 1, 0);
NC_ARRAY(nc_groups, struct nc_group, NC_DEFAULT_SERVERS *(NC_DEFAULT_SERVERS - 1) + 1, 0);
NC_ARRAY(nc_servers, struct nc_server, NC_MAX_SERVERS, 0);
NC_ARRAY(nc_state, nc_u32, NC_MAX_SERVERS, 0);
NC_ARRAY(nc_health, struct nc_health, NC_MAX_SERVERS, 0);
NC_ARRAY(nc_sequence, nc_u64, 1, 0);
NC_ARRAY(nc_filter, nc_u64, NC_DEFAULT_FILTER_TABLES << NC_FILTER_SLOTS_LOG2, 0);
NC_ARRAY(nc_requests, nc_u64, 1 << NC_REQUEST_SLOTS_LOG2, 0);
NC_ARRAY(nc_attempts, nc_u64, 1 << NC_REQUEST_SLOTS_LOG2, 0);
NC_ARRAY(nc_fdb, nc_u64, 1 << NC_FDB_SLOTS_LOG2, 0);
NC_ARRAY(nc_port_roles, nc_u32, NC_DEFAULT_PORT_ENTRIES, 0);
NC_ARRAY(nc_clone_tokens, nc_u64, 1, 0);

struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, NC_DEFAULT_PORT_ENTRIES);
	__uint(key_size, sizeof(nc_u32));
	__uint(value_size, sizeof(struct bpf_devmap_val));
} nc_ports SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, nc_u32);
	__type(value, nc_u64);
} nc_turn SEC(".maps");

struct nc_pair_ports {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, 2);
	__uint(key_size, sizeof(nc_u32));
	__uint(value_size, sizeof(struct bpf_devmap_val));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, NC_DEFAULT_SERVERS *(NC_DEFAULT_SERVERS - 1) + 1);
	__uint(key_size, sizeof(nc_u32));
	__array(values, struct nc_pair_ports);
} nc_clone_ports SEC(".maps");

NC_SINGLE_ACCESSOR(nc_switch_cfg_of, const struct nc_switch_config, nc_switch_cfg)
NC_ACCESSOR(nc_group_of, const struct nc_group, nc_groups)
NC_ACCESSOR(nc_server_of, const struct nc_server, nc_servers)
NC_ACCESSOR(nc_state_of, nc_u32, nc_state)
NC_ACCESSOR(nc_health_of, struct nc_health, nc_health)
NC_SINGLE_ACCESSOR(nc_sequence_of, nc_u64, nc_sequence)
NC_SINGLE_ACCESSOR(nc_turn_of, nc_u64, nc_turn)
NC_ACCESSOR(nc_filter_slot, nc_u64, nc_filter)
NC_ACCESSOR(nc_request_slot, nc_u64, nc_requests)
NC_ACCESSOR(nc_attempt_slot, nc_u64, nc_attempts)
NC_ACCESSOR(nc_fdb_slot, nc_u64, nc_fdb)
NC_ACCESSOR(nc_port_role_of, nc_u32, nc_port_roles)
NC_SINGLE_ACCESSOR(nc_clone_tokens_of, nc_u64, nc_clone_tokens)

NC_INLINE int nc_can_clone(struct nc_env *env, nc_u32 grp)
{
	(void)env;
	return bpf_map_lookup_elem(&nc_clone_ports, &grp) != 0;
}

/* To Linux where the port has left the table since it was learned. */
NC_INLINE long nc_redirect_to(nc_u32 ifindex)
{
	return bpf_redirect_map(&nc_ports, ifindex, XDP_PASS);
}

/* A devmap that has just gone costs the clone, never the original. */
NC_INLINE long nc_redirect_both(nc_u32 grp, nc_u32 port)
{
	void *pair = bpf_map_lookup_elem(&nc_clone_ports, &grp);

	return pair ? bpf_redirect_map(pair, 0, BPF_F_BROADCAST) : nc_redirect_to(port);
}
#endif

#if defined(NC_ROLE_SERVER) || defined(NC_ROLE_CLIENT)
struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, NC_MAX_XSK_QUEUES);
	__uint(key_size, sizeof(nc_u32));
	__uint(value_size, sizeof(nc_u32));
} nc_xsks SEC(".maps");

/* XDP_PASS where the queue has no socket. */
NC_INLINE long nc_redirect_to_socket(nc_u32 queue)
{
	return bpf_redirect_map(&nc_xsks, queue, XDP_PASS);
}
#endif

#ifdef NC_ROLE_SERVER
NC_ARRAY(nc_server_cfg, struct nc_server_config, 1, 0);
NC_ARRAY(nc_inflight, nc_u64, 1 << NC_INFLIGHT_SLOTS_LOG2, 0);
NC_ARRAY(nc_slices, struct nc_slices, 1, 0);
NC_ARRAY(nc_app_state, nc_u32, 1, BPF_F_MMAPABLE);
NC_ARRAY(nc_reserve, struct nc_reserve, 1, 0);

NC_SINGLE_ACCESSOR(nc_server_cfg_of, const struct nc_server_config, nc_server_cfg)
NC_ACCESSOR(nc_inflight_slot, nc_u64, nc_inflight)
NC_SINGLE_ACCESSOR(nc_slices_of, struct nc_slices, nc_slices)
NC_SINGLE_ACCESSOR(nc_app_state_of, nc_u32, nc_app_state)
NC_SINGLE_ACCESSOR(nc_reserve_of, struct nc_reserve, nc_reserve)

NC_INLINE nc_u32 nc_app_queue_length(struct nc_env *env)
{
	nc_u32 *length = nc_app_state_of(env);

	return length ? *(volatile nc_u32 *)length : 0;
}
#endif

#ifdef NC_ROLE_CLIENT
NC_ARRAY(nc_client_cfg, struct nc_client_config, 1, 0);
NC_ARRAY(nc_answered, nc_u64, 1 << NC_ANSWERED_SLOTS_LOG2, 0);

NC_SINGLE_ACCESSOR(nc_client_cfg_of, const struct nc_client_config, nc_client_cfg)
NC_ACCESSOR(nc_answered_slot, nc_u64, nc_answered)
#endif

#endif
