/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "logic.h"

#include <stdlib.h>
#include <string.h>

static inline uint32_t sim_groups(const struct sim_config *cfg)
{
	return cfg->servers * (cfg->servers - 1);
}

static void sim_list_groups(struct nc_group *groups, uint32_t servers)
{
	uint32_t grp = 1;

	for (uint32_t a = 0; a < servers; a++)
		for (uint32_t b = a + 1; b < servers; b++) {
			groups[grp++] = (struct nc_group){(nc_u16)a, (nc_u16)b};
			groups[grp++] = (struct nc_group){(nc_u16)b, (nc_u16)a};
		}
}

void sim_switch_lists(struct sim_host *h, uint32_t sid, int listed)
{
	h->env.servers[sid].flags = listed ? NC_SERVER_VALID : 0;
}

int sim_switch_init(struct sim_host *h, const struct sim_config *cfg, uint32_t rack)
{
	static const uint32_t flags_of[SIM_SCHEMES] = {
		[SIM_RACKSCHED] = NC_SWITCH_RACKSCHED | NC_SWITCH_NO_CLONES,
		[SIM_NETCLONE_RACKSCHED] = NC_SWITCH_RACKSCHED,
		[SIM_NETCLONE_RESERVE] = NC_SWITCH_RESERVE,
	};
	struct nc_env *env = &h->env;

	env->switch_cfg = (struct nc_switch_config){
		.flags = flags_of[cfg->scheme],
		.n_groups = sim_groups(cfg),
		.n_filter_tables = cfg->filter_tables,
		.filter_mask = (1U << cfg->filter_slots_log2) - 1,
		.switch_id = cfg->racks > 1 ? (nc_u16)(rack + 1) : 0,
		.server_timeout_ns = (nc_u64)cfg->server_timeout_ns,
		.state_timeout_ns = SIM_STATE_TIMEOUT_S * 1000000000ULL,
	};
	env->groups = calloc(sim_groups(cfg) + 1, sizeof(*env->groups));
	env->servers = calloc(NC_MAX_SERVERS, sizeof(*env->servers));
	env->state = calloc(NC_MAX_SERVERS, sizeof(*env->state));
	env->health = calloc(NC_MAX_SERVERS, sizeof(*env->health));
	env->filter =
		calloc((size_t)cfg->filter_tables << cfg->filter_slots_log2, sizeof(*env->filter));
	if (!env->groups || !env->servers || !env->state || !env->health || !env->filter)
		return -1;
	sim_list_groups(env->groups, cfg->servers);
	for (uint32_t sid = 0; sid < cfg->servers; sid++) {
		env->servers[sid].ifindex = sid + 1;
		env->servers[sid].ip4 = nc_htonl(sid + 1);
		sim_switch_lists(h, sid, 1);
	}
	return 0;
}

void sim_switch_clear(struct sim_host *h, const struct sim_config *cfg, struct lg_rng *rng)
{
	struct nc_env *env = &h->env;

	memset(env->state, 0, NC_MAX_SERVERS * sizeof(*env->state));
	memset(env->health, 0, NC_MAX_SERVERS * sizeof(*env->health));
	memset(env->filter, 0,
	       ((size_t)cfg->filter_tables << cfg->filter_slots_log2) * sizeof(*env->filter));
	env->sequence = (nc_u32)lg_rng_next(rng);
}

int sim_server_init(struct sim_host *h, const struct sim_config *cfg, uint32_t sid)
{
	struct nc_env *env = &h->env;

	env->server_cfg = (struct nc_server_config){
		.sid = sid,
		.workers = cfg->workers[sid],
		.state_source = cfg->count_in_flight ? NC_STATE_INFLIGHT : NC_STATE_APP,
		.slice_shift = SIM_SLICE_SHIFT,
		.slices = SIM_SLICES,
		.n_filter_tables = cfg->filter_tables,
		.flags = cfg->scheme == SIM_NETCLONE_RESERVE ? NC_HOST_RESERVE : 0,
	};
	if (!cfg->count_in_flight)
		return 0; /* the table is left out, and with it its cost */
	env->inflight = calloc(1U << NC_INFLIGHT_SLOTS_LOG2, sizeof(*env->inflight));
	return env->inflight ? 0 : -1;
}

void sim_server_clear(struct sim_host *h)
{
	struct nc_env *env = &h->env;

	if (env->inflight)
		memset(env->inflight, 0, (1U << NC_INFLIGHT_SLOTS_LOG2) * sizeof(*env->inflight));
	memset(&env->slices, 0, sizeof(env->slices));
	memset(&env->reserve, 0, sizeof(env->reserve));
	env->app_queue_length = 0;
}

int sim_client_init(struct sim_host *h, const struct sim_config *cfg, uint32_t number)
{
	struct nc_env *env = &h->env;
	uint64_t seed = cfg->seed + 0x5851f42d4c957f2dULL * (number + 1);

	env->random = lg_splitmix64(&seed);
	env->client_cfg = (struct nc_client_config){
		.n_groups = sim_groups(cfg),
		.n_filter_tables = cfg->filter_tables,
		.duplicate_window_ns = SIM_DUPLICATE_WINDOW_S * 1000000000ULL,
	};
	env->answered = calloc(1U << NC_ANSWERED_SLOTS_LOG2, sizeof(*env->answered));
	return env->answered ? 0 : -1;
}

void sim_host_free(struct sim_host *h)
{
	free(h->env.groups);
	free(h->env.servers);
	free(h->env.state);
	free(h->env.health);
	free(h->env.filter);
	free(h->env.inflight);
	free(h->env.answered);
}

inline void sim_client_stamps(struct sim_host *h, struct nc_header *nc, uint64_t now_ns, int write)
{
	memset(nc, 0, sizeof(*nc));
	if (write)
		nc->flags = NC_FLAG_NO_CLONE;
	h->env.now_ns = now_ns;
	nc_client_request(&h->env, &h->env.client_cfg, nc, 0);
}

inline int sim_client_delivers(struct sim_host *h, const struct nc_header *nc, uint64_t now_ns)
{
	h->env.now_ns = now_ns;
	return nc_client_response(&h->env, &h->env.client_cfg, nc, 0) == NC_CTR_response_delivered;
}

inline struct sim_verdict sim_switch_decides(struct sim_host *h, struct nc_header *nc,
					     uint64_t now_ns)
{
	struct nc_env *env = &h->env;
	const struct nc_switch_config *cfg = &env->switch_cfg;
	struct nc_route r = {};
	enum nc_counter reason;

	env->now_ns = now_ns;
	reason = nc_route_request(NC_FULL_PATH, env, cfg, nc, 0, &r);
	if (nc_unlikely(reason != NC_CTR_cloned && reason != NC_CTR_not_cloned &&
			reason != NC_CTR_probed))
		return (struct sim_verdict){};
	nc_write_request(NC_FULL_PATH, env, cfg, nc, &r);
	return (struct sim_verdict){r.grp ? 2 : 1, r.chosen, r.clone_to};
}

inline void sim_switch_sends_on(struct sim_host *h, struct nc_header *nc)
{
	nc_identify(NC_FULL_PATH, &h->env, &h->env.switch_cfg, nc);
}

inline int sim_switch_is_foreign(const struct sim_host *h, const struct nc_header *nc)
{
	return nc_is_foreign(&h->env.switch_cfg, nc);
}

inline int sim_switch_forwards(struct sim_host *h, const struct nc_header *nc, uint64_t now_ns)
{
	h->env.now_ns = now_ns;
	return nc_filter_response(NC_FULL_PATH, &h->env, &h->env.switch_cfg, nc, 0) !=
	       NC_CTR_filtered_slower_response;
}

/* What the server's application knows of itself. Under the reserve rule it tells its program
 * how many requests it holds, else how many wait. */
static inline void sim_server_tells(struct sim_host *h, uint32_t busy, uint32_t queued)
{
	h->env.app_queue_length =
		h->env.server_cfg.flags & NC_HOST_RESERVE ? busy + queued : queued;
}

/* 0 where requests in flight are not counted: nobody looks at it then. */
static inline uint64_t sim_flight_key(const struct sim_host *h, const struct nc_header *nc,
				      uint32_t client)
{
	if (!h->env.inflight)
		return 0;
	return nc_inflight_key(nc, nc_htonl(client), nc_htons(SIM_NC_PORT));
}

inline int sim_server_admits(struct sim_host *h, const struct nc_header *nc, uint64_t now_ns,
			     uint32_t client, uint32_t busy, uint32_t queued)
{
	struct nc_env *env = &h->env;
	const struct nc_server_config *cfg = &env->server_cfg;

	env->now_ns = now_ns;
	sim_server_tells(h, busy, queued);
	return nc_server_request(env, cfg, nc, sim_flight_key(h, nc, client),
				 nc_slice_now(env, cfg)) != NC_CTR_dropped_server_busy;
}

inline void sim_server_stamps(struct sim_host *h, struct nc_header *nc, uint64_t now_ns,
			      uint32_t client, uint32_t busy, uint32_t queued)
{
	struct nc_env *env = &h->env;
	const struct nc_server_config *cfg = &env->server_cfg;

	env->now_ns = now_ns;
	sim_server_tells(h, busy, queued);
	nc->type = NC_TYPE_RESP;
	nc_server_response(env, cfg, nc, sim_flight_key(h, nc, client), nc_slice_now(env, cfg));
}
