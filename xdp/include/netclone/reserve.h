/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The reserve rule, a scheme beyond the paper (docs/simulator.md): clones only into room
 * that originals will not miss, and originals to where there is most room.
 *
 * Room of a server: its workers less the requests that it holds (below zero: requests wait).
 * Its reserve grows with the workers that originals keep busy on average: nothing up to
 * 21/32 of them, then 3/4 of what is beyond. A clone is admitted while the room is at least
 * the reserve; without a reserve that is the paper's rule, an empty queue. A response
 * carries the load, and whether clones are refused. The switch counts what it has sent
 * since, so that it does not send everything to the server that answered last.
 *
 * Constant work a packet: two moving averages and a product. Plain loads and stores: an
 * update lost between two CPUs moves an average by one sample. */
#ifndef NETCLONE_RESERVE_H
#define NETCLONE_RESERVE_H

#include "inflight.h"
#include "load.h"

enum {
	NC_RESERVE_SHIFT = 9, /* an average reaches back about 2^9 requests */
	NC_RESERVE_ONE = 1 << 16,
	NC_RESERVE_FREE_32NDS = 21,
};

/* Requests that the server holds, waiting or in work. */
NC_INLINE nc_u32 nc_requests_held(struct nc_env *env, const struct nc_server_config *cfg,
				  nc_u32 slice)
{
	if (cfg->state_source == NC_STATE_APP)
		return nc_app_queue_length(env);
	return nc_inflight_total(env, cfg, slice);
}

NC_INLINE nc_u32 nc_averaged(nc_u32 average, nc_u32 sample)
{
	return (nc_u32)(average + (((nc_s64)sample - (nc_s64)average) >> NC_RESERVE_SHIFT));
}

/* A request arrives: Poisson arrivals see time averages. Clones serve as long as originals,
 * so originals keep their share of the busy workers busy. */
NC_INLINE void nc_reserve_note(struct nc_env *env, const struct nc_server_config *cfg, int clone,
			       nc_u32 slice)
{
	struct nc_reserve *r = nc_reserve_of(env);
	nc_u32 busy;

	if (!r)
		return;
	r->originals = nc_averaged(r->originals, clone ? 0 : NC_RESERVE_ONE);
	if (clone)
		return;
	busy = nc_requests_held(env, cfg, slice);
	busy = busy < cfg->workers ? busy : cfg->workers;
	r->busy = nc_averaged(r->busy, (busy & 0xffff) << 16);
}

/* Workers kept for originals, rounded at random: `dither` is any number of the packet's. */
NC_INLINE nc_u32 nc_reserve_now(struct nc_env *env, const struct nc_server_config *cfg,
				nc_u32 dither)
{
	const struct nc_reserve *r = nc_reserve_of(env);
	nc_u64 used, free_of_reserve = (nc_u64)cfg->workers * (NC_RESERVE_ONE / 32);

	if (!r)
		return 0;
	used = (nc_u64)r->busy * r->originals >> 16;
	free_of_reserve *= NC_RESERVE_FREE_32NDS;
	if (used <= free_of_reserve)
		return 0;
	used = (used - free_of_reserve) * 3 / 4;
	return (nc_u32)((used + (dither * 0x9e3779b1U >> 16)) >> 16);
}

NC_INLINE int nc_reserve_refuses(struct nc_env *env, const struct nc_server_config *cfg,
				 nc_u32 dither, nc_u32 slice)
{
	nc_u32 held = nc_requests_held(env, cfg, slice);

	return held + nc_reserve_now(env, cfg, dither) > cfg->workers;
}

/* STATE of a response. */
NC_INLINE nc_u32 nc_reserve_state(struct nc_env *env, const struct nc_server_config *cfg,
				  nc_u32 dither, nc_u32 slice)
{
	nc_u32 held = nc_requests_held(env, cfg, slice);
	nc_u32 load = NC_LOAD_FULL + held - (cfg->workers & 0xffff);

	return load | (nc_reserve_refuses(env, cfg, dither, slice) ? NC_LOAD_REFUSES : 0);
}

#endif
