/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* FAILED: a response that was not served does not count as the first in [lines 19-23]: it leaves no
 * fingerprint, since the other server may have a better one. */
#ifndef NETCLONE_FAILED_H
#define NETCLONE_FAILED_H

#include "../algorithm1.h"

/* Returns whether a better response has come already; it is forgotten with this one. */
NC_INLINE int nc_is_failed_slower(nc_u64 *slot, nc_u64 fingerprint)
{
	return slot && *(volatile nc_u64 *)slot == fingerprint &&
	       nc_replace(slot, fingerprint, 0) == fingerprint;
}

#endif
