/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* When a server is busy (section 3.4 of the paper, "State tracking"): STATE is the length of its
 * request queue, and a clone that finds the queue not empty is dropped. Plain C on wire.h alone,
 * so that servers which stamp their responses themselves follow the same rule. */
#ifndef NETCLONE_BUSY_H
#define NETCLONE_BUSY_H

#include "wire.h"

/* Requests that wait, out of `requests` for which there are `workers`: all that the server holds
 * and all workers, or those not yet taken up and the idle workers. */
NC_INLINE nc_u32 nc_queue_length(nc_u32 requests, nc_u32 workers)
{
	return requests > workers ? requests - workers : 0;
}

/* Only clones are ever dropped: the original is served wherever it went. */
NC_INLINE int nc_is_dropped(nc_u32 clo, nc_u32 queue_length)
{
	return clo == NC_CLO_CLONE && queue_length > 0;
}

#endif
