/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* L4 checksums of a packet that is rewritten: taken before anything is written, put back with
 * what has changed (docs/data-plane.md, "Checksums"). */
#ifndef NETCLONE_SUM_H
#define NETCLONE_SUM_H

#include "table_access.h"

enum nc_sum_state {
	NC_SUM_NONE,	  /* UDP over IPv4 without a checksum */
	NC_SUM_FULL,	  /* `check` is the packet's checksum */
	NC_SUM_PARTIAL,	  /* `check` is the sum of the pseudo header, and is to stay that */
	NC_SUM_AMBIGUOUS, /* one of the two, and which cannot be told */
};

struct nc_sum {
	nc_u32 state; /* enum nc_sum_state */
	nc_u16 check;
};

/* Of a UDP packet: anything that is neither missing nor partial. */
NC_INLINE int nc_is_full_sum(const struct nc_packet *p)
{
	nc_u16 check = nc_l4_check(p);

	return check != 0 && check != nc_pseudo_sum(p);
}

/* A redirected frame loses the mark that says "partial": native mode takes the full checksum of
 * such a packet. In generic mode the mark survives and the sum must stay partial; but a sum
 * that is also right as a full one could be either, and after a rewrite they differ.
 * UDP over IPv6 that came without a checksum must leave with one. */
NC_INLINE struct nc_sum nc_take_sum(const struct nc_packet *p, int generic)
{
	struct nc_sum sum = {NC_SUM_FULL, nc_l4_check(p)};
	nc_u16 pseudo, bytes;

	if (nc_has_no_check(p)) {
		sum.state = NC_SUM_NONE;
		return sum;
	}
	pseudo = nc_pseudo_sum(p);
	if (nc_likely(sum.check != pseudo && !(sum.check == 0 && p->protocol == NC_PROTO_UDP)))
		return sum;
	bytes = nc_frame_sum(p->frame, p->l4_offset, p->l4_len);
	if (sum.check == 0) {
		sum.check = (nc_u16)~nc_fold((nc_u64)bytes + pseudo);
	} else if (!generic) {
		sum.check = (nc_u16)~bytes; /* which already hold the pseudo header's sum */
	} else {
		/* With a right checksum in them, and the pseudo header, bytes sum to all ones. */
		sum.state = nc_fold((nc_u64)bytes + pseudo) == 0xffff ? NC_SUM_AMBIGUOUS
								      : NC_SUM_PARTIAL;
	}
	return sum;
}

/* Changes nothing, but then the verifier walks what follows once and not for each way in which a
 * sum was taken (nc_byte_at): the lowest bit of IP's version, 4 or 6, is 0. */
NC_INLINE void nc_blur_sum(const struct nc_packet *p, struct nc_sum *sum)
{
	nc_u32 zero = nc_ip_version(p->l3) & 1;

	sum->state ^= zero * 3;
	sum->check ^= -zero;
}

/* `payload` is what the header's fields and `pseudo` what the addresses add. A partial sum
 * covers only the pseudo header, and is not complemented. */
NC_INLINE void nc_put_sum(struct nc_packet *p, const struct nc_sum *sum, nc_u64 pseudo,
			  nc_u64 payload)
{
	if (sum->state == NC_SUM_NONE)
		return;
	if (nc_unlikely(sum->state == NC_SUM_PARTIAL))
		nc_set_l4_check(p, nc_fold((nc_u64)sum->check + pseudo));
	else
		nc_set_l4_check(p, nc_check_updated(sum->check, pseudo + payload));
}

#endif
