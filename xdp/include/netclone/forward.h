/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* From the switch's decision to bytes and an out port. Everything that can make a packet
 * pass untouched is asked before its first byte is written. */
#ifndef NETCLONE_FORWARD_H
#define NETCLONE_FORWARD_H

#include "checksum.h"
#include "switch.h"

enum nc_action {
	NC_PASS, /* to Linux, untouched */
	NC_DROP,
	NC_SEND,  /* out of `port` */
	NC_CLONE, /* out of both ports of group `grp`; on the way nc_leave makes the clone */
};

struct nc_forward {
	enum nc_action action;
	nc_u32 port; /* ifindex */
	nc_u32 grp;
};

/* ---- forwarding cache: one 64-bit word an entry, read and written whole ---- */

/* 48 bits, first byte of the address highest. */
#define NC_MAC_OF(mac)                                                                             \
	((nc_u64)nc_ntohs((mac)[0]) << 32 | (nc_u64)nc_ntohs((mac)[1]) << 16 | nc_ntohs((mac)[2]))

NC_INLINE nc_u64 *nc_fdb_slot_of(struct nc_env *env, nc_u64 mac)
{
	return nc_fdb_slot(env, (mac ^ mac >> 12 ^ mac >> 24) & ((1U << NC_FDB_SLOTS_LOG2) - 1));
}

NC_INLINE void nc_learn(struct nc_env *env, const struct nc_packet *p, nc_u32 port)
{
	nc_u64 mac = NC_MAC_OF(p->eth->src), entry = mac << 16 | port;
	nc_u64 *slot;

	if (nc_unlikely(p->tagged || port > 0xffff))
		return;
	slot = nc_fdb_slot_of(env, mac);
	if (slot && *slot != entry)
		*(volatile nc_u64 *)slot = entry;
}

/* Port of the destination MAC address; 0: not known. */
NC_INLINE nc_u32 nc_port_of(struct nc_env *env, const struct nc_packet *p)
{
	nc_u64 mac = NC_MAC_OF(p->eth->dst), entry;
	nc_u64 *slot;

	if (nc_unlikely(p->tagged))
		return 0;
	slot = nc_fdb_slot_of(env, mac);
	if (!slot)
		return 0;
	entry = *(volatile nc_u64 *)slot;
	return entry >> 16 == mac ? (nc_u32)(entry & 0xffff) : 0;
}

/* ---- bytes ---- */

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

/* ---- L4 checksums: taken before anything is written, put back with what has changed ---- */

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

/* ---- the packet's way through the switch ---- */

NC_INLINE enum nc_counter nc_forward_no_clone(struct nc_env *env,
					      const struct nc_switch_config *cfg,
					      struct nc_packet *p, const struct nc_sum *sum,
					      nc_u32 in_port, struct nc_forward *f)
{
	nc_u32 port = nc_port_of(env, p);
	nc_u64 diff;

	if (!port)
		return NC_CTR_unknown_port;
	nc_learn(env, p, in_port);
	diff = nc_write_identity(NC_WAY_ANY, env, cfg, p->nc);
	nc_put_sum(p, sum, 0, diff);
	f->action = NC_SEND;
	f->port = port;
	return NC_CTR_no_clone;
}

NC_INLINE enum nc_counter nc_forward_request(enum nc_way way, struct nc_env *env,
					     const struct nc_switch_config *cfg,
					     struct nc_packet *p, const struct nc_sum *sum,
					     nc_u32 in_port, struct nc_forward *f)
{
	struct nc_header *h = p->nc;
	const struct nc_server *dst;
	enum nc_counter reason;
	nc_u64 pseudo, payload;
	struct nc_route r = {};

	if (nc_unlikely(h->clo != NC_CLO_NONE))
		return NC_CTR_already_cloned;
	if (nc_unlikely(sum->state == NC_SUM_AMBIGUOUS))
		return NC_CTR_checksum_ambiguous;
	if (nc_extension(way, h->flags & NC_FLAG_NO_CLONE))
		return nc_forward_no_clone(env, cfg, p, sum, in_port, f);

	if (way == NC_WAY_PLAIN)
		reason = nc_switch_route(NC_WAY_PLAIN, env, cfg, h, 0, &r);
	else
		reason = nc_switch_route_any(env, cfg, h, nc_is_ip6(p), &r);
	if (nc_unlikely(reason != NC_CTR_cloned && reason != NC_CTR_not_cloned &&
			reason != NC_CTR_probed))
		return reason;
	dst = nc_server_of(env, r.dst);
	if (!dst)
		return NC_CTR_unknown_port;

	nc_learn(env, p, in_port);
	payload = nc_write_route(way, env, cfg, h, &r);
	nc_write_mac(p, dst);
	pseudo = nc_write_address(p, dst);
	nc_put_sum(p, sum, pseudo, payload);

	f->action = r.grp ? NC_CLONE : NC_SEND;
	f->port = dst->ifindex;
	f->grp = r.grp;
	return reason;
}

NC_INLINE int nc_is_source(const struct nc_packet *p, const struct nc_server *s)
{
	const struct nc_ip6 *ip6 = nc_ip6_of(p);

	if (!s || !(s->flags & NC_SERVER_VALID))
		return 0;
	if (!ip6)
		return s->ip4 && nc_ip4_of(p)->src == s->ip4;
	return (s->ip6[0] | s->ip6[1] | s->ip6[2] | s->ip6[3]) != 0 && ip6->src[0] == s->ip6[0] &&
	       ip6->src[1] == s->ip6[1] && ip6->src[2] == s->ip6[2] && ip6->src[3] == s->ip6[3];
}

/* The response itself is never modified (but for a partial sum, completed). */
NC_INLINE enum nc_counter nc_forward_response(enum nc_way way, struct nc_env *env,
					      const struct nc_switch_config *cfg,
					      struct nc_packet *p, const struct nc_sum *sum,
					      struct nc_forward *f)
{
	enum nc_counter reason;

	if (nc_unlikely(!nc_is_source(p, nc_server_of(env, nc_ntohl(p->nc->sid)))))
		return NC_CTR_unknown_source;
	reason = nc_switch_response(way, env, cfg, p->nc);
	if (reason == NC_CTR_filtered_slower_response) {
		f->action = NC_DROP;
		return reason;
	}
	f->port = nc_port_of(env, p);
	if (nc_likely(f->port)) {
		if (nc_unlikely(sum->state == NC_SUM_FULL && sum->check != nc_l4_check(p)))
			nc_set_l4_check(p, sum->check);
		f->action = NC_SEND;
	}
	return reason;
}

/* A NetClone packet, parsed. */
NC_INLINE enum nc_counter nc_switch_parsed(enum nc_way way, struct nc_env *env,
					   const struct nc_switch_config *cfg, struct nc_packet *p,
					   nc_u32 in_port, struct nc_forward *f)
{
	struct nc_sum sum = {NC_SUM_FULL, nc_l4_check(p)};

	if (nc_extension(way, nc_is_foreign(cfg, p->nc)))
		return NC_CTR_foreign_switch;
	if (way == NC_WAY_ANY) {
		sum = nc_take_sum(p, nc_extension(way, cfg->flags & NC_SWITCH_GENERIC));
		nc_blur_sum(p, &sum);
	}
	if (p->nc->type == NC_TYPE_REQ)
		return nc_forward_request(way, env, cfg, p, &sum, in_port, f);
	return nc_forward_response(way, env, cfg, p, &sum, f);
}

/* "This frame goes the other way": nothing has been done to it. */
#define NC_NOT_PLAIN (NC_CTR_COUNT + 1U)

/* The plain way, for a frame that came in on port `in_port`. f->action says what to do with it;
 * the frame has been rewritten accordingly. Returns its counter, or NC_NOT_PLAIN. */
NC_INLINE nc_u32 nc_switch_plain(struct nc_env *env, const struct nc_switch_config *cfg,
				 const struct nc_frame *frame, nc_u32 in_port, struct nc_forward *f)
{
	const struct nc_ranges ranges = {
		.n_groups = cfg->n_groups,
		.n_filter_tables = cfg->n_filter_tables,
	};
	struct nc_packet p = {.frame = frame->handle, .end = frame->end};
	enum nc_counter reason;

	*f = (struct nc_forward){.action = NC_PASS};
	if (nc_unlikely(!nc_is_plain_switch(cfg)) || nc_unlikely(!nc_parse_plain(frame->data, &p)))
		return NC_NOT_PLAIN;
	reason = nc_parse_rest(&cfg->ports, &ranges, sizeof(struct nc_udp), &p);
	if (reason != NC_PARSED)
		return reason;
	if (nc_unlikely(!nc_is_plain_header(p.nc)) || nc_unlikely(!nc_is_full_sum(&p)))
		return NC_NOT_PLAIN;
	return nc_switch_parsed(NC_WAY_PLAIN, env, cfg, &p, in_port, f);
}

/* The other way, for any frame, with whatever the switch and the packet ask for. */
NC_INLINE enum nc_counter nc_switch_any(struct nc_env *env, const struct nc_switch_config *cfg,
					const struct nc_frame *frame, nc_u32 in_port,
					struct nc_forward *f)
{
	const struct nc_ranges ranges = {
		.n_groups = cfg->n_groups,
		.n_filter_tables = cfg->n_filter_tables,
	};
	struct nc_packet p = {};
	enum nc_counter reason;

	*f = (struct nc_forward){.action = NC_PASS};
	reason = nc_parse(frame, &cfg->ports, &ranges, &p);
	if (reason != NC_PARSED)
		return reason;
	return nc_switch_parsed(NC_WAY_ANY, env, cfg, &p, in_port, f);
}

/* Either way, in one: what the kernel programs have in two parts. */
NC_INLINE enum nc_counter nc_switch_packet(struct nc_env *env, const struct nc_switch_config *cfg,
					   const struct nc_frame *frame, nc_u32 in_port,
					   struct nc_forward *f)
{
	nc_u32 reason = nc_switch_plain(env, cfg, frame, in_port, f);

	if (reason == NC_NOT_PLAIN)
		return nc_switch_any(env, cfg, frame, in_port, f);
	return (enum nc_counter)reason;
}

/* ---- on the way out ---- */

/* Parses a frame that the switch sends; returns whether it is one of the two of a cloned
 * request. None comes in from outside (already_cloned). */
NC_INLINE int nc_parse_cloned(const struct nc_switch_config *cfg, const struct nc_frame *frame,
			      struct nc_packet *p)
{
	const struct nc_ranges ranges = {
		.n_groups = cfg->n_groups,
		.n_filter_tables = cfg->n_filter_tables,
	};

	return nc_parse(frame, &cfg->ports, &ranges, p) == NC_PARSED &&
	       p->nc->type == NC_TYPE_REQ && p->nc->clo == NC_CLO_ORIGINAL;
}

/* Lines 11-13, on the copy: marks it and readdresses it to the second server.
 * Returns clone_sent, or clone_lost when the copy must not go out. */
NC_INLINE enum nc_counter nc_mark_clone(struct nc_env *env, const struct nc_switch_config *cfg,
					struct nc_packet *p)
{
	const struct nc_server *second = nc_server_of(env, nc_ntohl(p->nc->sid));
	nc_u64 pseudo, payload;
	struct nc_sum sum;

	if (!nc_is_usable(second, nc_is_ip6(p)))
		return NC_CTR_clone_lost;
	/* Settled by nc_take_sum, on the way in: in native mode full, or none. */
	sum.check = nc_l4_check(p);
	sum.state = nc_has_no_check(p) ? NC_SUM_NONE : NC_SUM_FULL;
	if (nc_unlikely(cfg->flags & NC_SWITCH_GENERIC) && nc_check_is_partial(p))
		sum.state = NC_SUM_PARTIAL;
	payload = nc_write_clo(p->nc, NC_CLO_CLONE);
	nc_write_mac(p, second);
	pseudo = nc_write_address(p, second);
	nc_put_sum(p, &sum, pseudo, payload);
	return NC_CTR_clone_sent;
}

/* For a frame that is known to be the copy. */
NC_INLINE enum nc_counter nc_make_clone(struct nc_env *env, const struct nc_switch_config *cfg,
					const struct nc_frame *frame)
{
	struct nc_packet p = {};

	if (!nc_parse_cloned(cfg, frame, &p))
		return NC_CTR_clone_lost;
	return nc_mark_clone(env, cfg, &p);
}

/* Of the two frames of a cloned request, which are alike: is the one that leaves by `port`
 * the copy? Where each server has a port of its own, the port tells. Behind one port (or when
 * the groups were renumbered just now) the frames follow each other on one CPU, and the second
 * is the copy; nc_turn remembers the first. */
NC_INLINE int nc_is_copy(struct nc_env *env, const struct nc_header *h, nc_u32 port)
{
	nc_u32 sid = nc_ntohl(h->sid);
	const struct nc_server *second = nc_server_of(env, sid), *first;
	const struct nc_group *g = nc_group_of(env, nc_ntohl(h->grp));
	nc_u64 fingerprint = nc_fingerprint(NC_WAY_ANY, h, nc_ntohl(h->req_id)), *turn;

	if (!second || second->ifindex != port)
		return 0;
	if (g && (g->first == sid || g->second == sid)) {
		first = nc_server_of(env, g->first == sid ? g->second : g->first);
		if (!first || first->ifindex != port)
			return 1;
	}
	turn = nc_turn_of(env);
	if (!turn)
		return 0;
	if (*turn != fingerprint) {
		*turn = fingerprint;
		return 0;
	}
	*turn = 0;
	return 1;
}

#define NC_AS_IT_IS NC_CTR_COUNT

/* Any frame that leaves by a server's port. The kernel sends in bulk what one poll redirected
 * to a port, and runs over the whole bulk the devmap program that its first frame asked for.
 * So all entries that lead there name one program, which sees clones, originals and all else.
 * Returns NC_AS_IT_IS, or what nc_mark_clone returns. */
NC_INLINE enum nc_counter nc_leave(struct nc_env *env, const struct nc_switch_config *cfg,
				   const struct nc_frame *frame, nc_u32 port)
{
	struct nc_packet p = {};

	if (!nc_parse_cloned(cfg, frame, &p) || !nc_is_copy(env, p.nc, port))
		return NC_AS_IT_IS;
	return nc_mark_clone(env, cfg, &p);
}

#endif
