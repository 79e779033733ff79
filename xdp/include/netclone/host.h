/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the server's and the client's side have in common: a header that is rewritten on its
 * way out. */
#ifndef NETCLONE_HOST_H
#define NETCLONE_HOST_H

#include "checksum.h"
#include "parse.h"

/* A packet on its way out. When its counter says that it was rewritten, its L4 checksum is
 * the caller's to update by `diff`: only the target knows whether the sum is partial. */
struct nc_egress {
	struct nc_packet packet;
	nc_u64 diff; /* what the rewritten header adds to the sum */
};

struct nc_header_words {
	nc_be32 word[NC_HEADER_LEN / 4];
} NC_UNALIGNED;

/* What the header adds to a sum now, less what it added before. */
NC_INLINE nc_u64 nc_header_diff(const struct nc_header *before, const struct nc_header *after)
{
	const struct nc_header_words *old = (const void *)before, *now = (const void *)after;
	nc_u64 diff = 0;

	NC_UNROLL
	for (int i = 0; i < NC_HEADER_LEN / 4; i++)
		diff += nc_diff32(old->word[i], now->word[i]);
	return diff;
}

#endif
