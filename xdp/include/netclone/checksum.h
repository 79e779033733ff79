/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Internet checksums (RFC 1071, 1624). Sums are one's complement over 16-bit words and do
 * not depend on byte order, so fields are added as they lie in memory; every changed field
 * starts at an even offset from the start of L4. */
#ifndef NETCLONE_CHECKSUM_H
#define NETCLONE_CHECKSUM_H

#include "packet.h"

/* 64-bit one's complement accumulator -> 16 bits, not complemented. */
NC_INLINE nc_u16 nc_fold(nc_u64 sum)
{
	nc_u32 half;

	/* Added to itself with its halves exchanged, the upper half is the sum of both with the
	 * carry brought round: once for 64 bits, once for 32. */
	half = (nc_u32)((sum + (sum >> 32 | sum << 32)) >> 32);
	return (nc_u16)((half + (half >> 16 | half << 16)) >> 16);
}

/* What a field of 16 or 32 bits adds to the sum when it changes. */
NC_INLINE nc_u64 nc_diff16(nc_be16 old, nc_be16 now)
{
	return (nc_u64)(nc_u16)~old + now;
}

NC_INLINE nc_u64 nc_diff32(nc_be32 old, nc_be32 now)
{
	return (nc_u64)(nc_u32)~old + now;
}

/* Writes a header field; the value is what the field adds to the sum. Macros, because a pointer to
 * a field of a packed structure does not know its alignment. */
#define NC_WRITE16(field, value)                                                                   \
	({                                                                                         \
		nc_be16 now_ = (value);                                                            \
		nc_u64 diff_ = nc_diff16(field, now_);                                             \
		field = now_;                                                                      \
		diff_;                                                                             \
	})
#define NC_WRITE32(field, value)                                                                   \
	({                                                                                         \
		nc_be32 now_ = (value);                                                            \
		nc_u64 diff_ = nc_diff32(field, now_);                                             \
		field = now_;                                                                      \
		diff_;                                                                             \
	})

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

/* RFC 1624, equation 3. The zero of one's complement that is added keeps the result from
 * being 0xffff, the other zero, also where nothing has changed. */
NC_INLINE nc_u16 nc_check_updated(nc_u16 check, nc_u64 diff)
{
	return (nc_u16)~nc_fold((nc_u64)(nc_u16)~check + 0xffff + diff);
}

NC_INLINE nc_be16 nc_l4_check(const struct nc_packet *p)
{
	return p->protocol == NC_PROTO_UDP ? ((struct nc_udp *)p->l4)->check
					   : ((struct nc_tcp *)p->l4)->check;
}

NC_INLINE void nc_set_l4_check(struct nc_packet *p, nc_be16 check)
{
	if (p->protocol == NC_PROTO_UDP) /* 0 would mean: no checksum */
		((struct nc_udp *)p->l4)->check = check ? check : 0xffff;
	else
		((struct nc_tcp *)p->l4)->check = check;
}

/* UDP over IPv4 may go without a checksum. */
NC_INLINE int nc_has_no_check(const struct nc_packet *p)
{
	return !nc_is_ip6(p) && p->protocol == NC_PROTO_UDP && ((struct nc_udp *)p->l4)->check == 0;
}

NC_INLINE nc_u16 nc_pseudo_sum(const struct nc_packet *p)
{
	const struct nc_ip6 *ip6 = nc_ip6_of(p);
	nc_u64 sum = nc_htons(p->protocol);

	sum += nc_htons((nc_u16)p->l4_len);
	if (!ip6) {
		sum += nc_ip4_of(p)->src;
		sum += nc_ip4_of(p)->dst;
	} else {
		for (int i = 0; i < 4; i++) {
			sum += ip6->src[i];
			sum += ip6->dst[i];
		}
	}
	return nc_fold(sum);
}

/* The check field holds the sum of the pseudo header and no more: what a local socket
 * leaves to a device that computes checksums. A full checksum may have this value too. */
NC_INLINE int nc_check_is_partial(const struct nc_packet *p)
{
	return !nc_has_no_check(p) && nc_l4_check(p) == nc_pseudo_sum(p);
}

#endif
