/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The reserve rule, a scheme beyond the paper (docs/simulator.md): clones only into room
 * that originals will not miss, and originals to where there is most room. Another rule for
 * [lines 5-6], and another meaning of STATE in [lines 15-16].
 *
 * Room of a server: its workers less the requests that it holds (below zero: requests wait).
 * Its reserve grows with the workers that originals keep busy on average: nothing up to
 * 21/32 of them, then 3/4 of what is beyond. A clone is admitted while the room is at least
 * the reserve; without a reserve that is the paper's rule, an empty queue. A response
 * carries the load, and whether clones are refused. The switch counts what it has sent
 * since, so that it does not send everything to the server that answered last.
 *
 * Constant work per packet: two moving averages and a product. Plain loads and stores: an
 * update lost between two CPUs moves an average by one sample. */
#ifndef NETCLONE_RESERVE_H
#define NETCLONE_RESERVE_H

#include "../tables.h"

/* ---- STATE: more than the queue's length. The server's load, comparable between servers of
 * different size, and whether it refuses clones. 0, after a restart: nothing heard yet,
 * considered idle. ---- */

#define NC_LOAD_REFUSES (1U << 31) /* clones are refused */
#define NC_LOAD_MASK (NC_LOAD_REFUSES - 1)
#define NC_LOAD_FULL (1U << 16) /* every worker busy, nobody waits; one less: one idle, .. */

NC_INLINE nc_u32 nc_load_of(nc_u32 state)
{
	return state & NC_LOAD_MASK;
}

/* ---- at the switch ---- */

/* One more request on its way to this server; its next response sets the count right. */
NC_INLINE void nc_load_add(nc_u32 *state)
{
	nc_u32 now = *(volatile nc_u32 *)state;

	if (nc_likely(nc_load_of(now) < NC_LOAD_MASK))
		*(volatile nc_u32 *)state = now + 1;
}

NC_INLINE nc_u32 nc_choose_by_load(nc_u32 *first_state, nc_u32 *second_state)
{
	int clone = !((*first_state | *second_state) & NC_LOAD_REFUSES);
	int second = nc_load_of(*second_state) < nc_load_of(*first_state);

	nc_load_add(second ? second_state : first_state);
	if (clone)
		nc_load_add(second ? first_state : second_state);
	return (second ? NC_CHOICE_SECOND : 0) | (clone ? NC_CHOICE_BOTH : 0);
}

/* ---- at the server; `held` is the number of requests that it holds, waiting or in work ---- */

enum {
	NC_RESERVE_SHIFT = 9, /* an average reaches back about 2^9 requests */
	NC_RESERVE_ONE = 1 << 16,
	NC_RESERVE_FREE_32NDS = 21,
};

NC_INLINE nc_u32 nc_averaged(nc_u32 average, nc_u32 sample)
{
	return (nc_u32)(average + (((nc_s64)sample - (nc_s64)average) >> NC_RESERVE_SHIFT));
}

/* A request is admitted, .. */
NC_INLINE void nc_note_share(struct nc_reserve *r, int clone)
{
	r->originals = nc_averaged(r->originals, clone ? 0 : NC_RESERVE_ONE);
}

/* .. an original: Poisson arrivals see time averages. Clones serve as long as originals, so
 * originals keep their share of the busy workers busy. */
NC_INLINE void nc_note_busy(struct nc_reserve *r, nc_u32 workers, nc_u32 held)
{
	nc_u32 busy = held < workers ? held : workers;

	r->busy = nc_averaged(r->busy, (busy & 0xffff) << 16);
}

/* Workers kept for originals, rounded at random: `dither` is any number of the packet's. */
NC_INLINE nc_u32 nc_reserved(const struct nc_reserve *r, nc_u32 workers, nc_u32 dither)
{
	nc_u64 used, free_of_reserve = (nc_u64)workers * (NC_RESERVE_ONE / 32);

	if (!r)
		return 0;
	used = (nc_u64)r->busy * r->originals >> 16;
	free_of_reserve *= NC_RESERVE_FREE_32NDS;
	if (used <= free_of_reserve)
		return 0;
	used = (used - free_of_reserve) * 3 / 4;
	return (nc_u32)((used + (dither * 0x9e3779b1U >> 16)) >> 16);
}

NC_INLINE int nc_reserve_refuses(const struct nc_reserve *r, nc_u32 workers, nc_u32 held,
				 nc_u32 dither)
{
	return held + nc_reserved(r, workers, dither) > workers;
}

/* STATE of a response. */
NC_INLINE nc_u32 nc_reserve_state(const struct nc_reserve *r, nc_u32 workers, nc_u32 held,
				  nc_u32 dither)
{
	nc_u32 load = NC_LOAD_FULL + held - (workers & 0xffff);

	return load | (nc_reserve_refuses(r, workers, held, dither) ? NC_LOAD_REFUSES : 0);
}

#endif
