/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Several racks (section 3.7): before [line 1], a packet of another switch is left alone; with
 * [line 3], the client's switch writes its own id. */
#ifndef NETCLONE_MULTI_RACK_H
#define NETCLONE_MULTI_RACK_H

#include "../checksum.h"
#include "../tables.h"

NC_INLINE int nc_is_foreign(const struct nc_switch_config *cfg, const struct nc_header *h)
{
	return h->switch_id && h->switch_id != nc_htons(cfg->switch_id);
}

NC_INLINE nc_u64 nc_claim(const struct nc_switch_config *cfg, struct nc_header *h)
{
	return NC_WRITE16(h->switch_id, nc_htons(cfg->switch_id));
}

#endif
