/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* STATE under the reserve rule (reserve.h): more than the queue's length. The server's load,
 * comparable between servers of different size, and whether it refuses clones. */
#ifndef NETCLONE_LOAD_H
#define NETCLONE_LOAD_H

#include "packet.h"

/* 0, after a restart: nothing heard yet, taken for idle. */
#define NC_LOAD_REFUSES (1U << 31) /* clones are refused */
#define NC_LOAD_MASK (NC_LOAD_REFUSES - 1)
#define NC_LOAD_FULL (1U << 16) /* every worker busy, nobody waits; one less: one idle, .. */

NC_INLINE nc_u32 nc_load_of(nc_u32 state)
{
	return state & NC_LOAD_MASK;
}

/* One more request on its way to this server; its next response sets the count right. */
NC_INLINE void nc_load_add(nc_u32 *state)
{
	nc_u32 now = *(volatile nc_u32 *)state;

	if (nc_likely(nc_load_of(now) < NC_LOAD_MASK))
		*(volatile nc_u32 *)state = now + 1;
}

#endif
