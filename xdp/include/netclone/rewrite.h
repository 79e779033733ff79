/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The bytes that a switch writes: addresses, and the header of a request that goes out. */
#ifndef NETCLONE_REWRITE_H
#define NETCLONE_REWRITE_H

#include "checksum.h"
#include "switch.h"

NC_INLINE void nc_write_mac(struct nc_packet *p, const struct nc_server *s)
{
	__builtin_memcpy(p->eth->dst, s->mac, sizeof(s->mac));
}

/* Writes the destination; returns what it adds to the L4 sum by way of the pseudo header. */
NC_INLINE nc_u64 nc_write_address(struct nc_packet *p, const struct nc_server *s)
{
	struct nc_ip6 *ip6 = nc_ip6_of(p);
	nc_u64 diff = 0;

	if (!ip6) {
		diff = nc_diff32(nc_ip4_of(p)->dst, s->ip4);
		nc_ip4_of(p)->check = nc_check_updated(nc_ip4_of(p)->check, diff);
		nc_ip4_of(p)->dst = s->ip4;
		return diff;
	}
	for (int i = 0; i < 4; i++) {
		diff += nc_diff32(ip6->dst[i], s->ip6[i]);
		ip6->dst[i] = s->ip6[i];
	}
	return diff;
}

/* Assigns a header field; the value is what the field adds to the sum. Macros, because a
 * pointer to a field of a packed structure does not know its alignment. */
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

/* CLO is the low byte of a 16-bit word whose high byte is reserved. */
NC_INLINE nc_u64 nc_write_clo(struct nc_header *h, enum nc_clo clo)
{
	nc_u64 diff = nc_diff16(nc_htons(h->clo), nc_htons(clo));

	h->clo = clo;
	return diff;
}

NC_INLINE nc_u64 nc_write_identity(enum nc_way way, struct nc_env *env,
				   const struct nc_switch_config *cfg, struct nc_header *h)
{
	nc_u64 diff = 0;

	if (nc_extension(way, cfg->switch_id))
		diff += NC_WRITE16(h->switch_id, nc_htons(cfg->switch_id));
	if (!nc_extension(way, nc_has_client_id(h)))
		diff += NC_WRITE32(h->req_id, nc_htonl(nc_next_req_id(env)));
	return diff;
}

/* Lines 2, 7 and 8: what the header of a request that goes out says. Returns what the
 * fields add to the sum. */
NC_INLINE nc_u64 nc_write_route(enum nc_way way, struct nc_env *env,
				const struct nc_switch_config *cfg, struct nc_header *h,
				const struct nc_route *r)
{
	nc_u64 diff = nc_write_identity(way, env, cfg, h);

	if (r->grp) {
		nc_filter_open(way, env, cfg, h, nc_ntohl(h->req_id));
		diff += nc_write_clo(h, NC_CLO_ORIGINAL);
		diff += NC_WRITE32(h->sid, nc_htonl(r->other));
	}
	return diff;
}

#endif
