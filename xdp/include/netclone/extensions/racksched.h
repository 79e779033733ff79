/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* RackSched (section 3.7): where [line 6] says no, the shorter queue in place of the first
 * candidate of [line 5]. StateT holds queue lengths already: 0 is idle. */
#ifndef NETCLONE_RACKSCHED_H
#define NETCLONE_RACKSCHED_H

#include "../tables.h"

/* If they are equal, neither is: the first candidate stays chosen. */
NC_INLINE int nc_is_shorter(const nc_u32 *state, const nc_u32 *than)
{
	return *state < *than;
}

#endif
