/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* From the switch's decision to bytes and an out port. Everything that can make a packet
 * pass untouched is asked before its first byte is written. */
#ifndef NETCLONE_FORWARD_H
#define NETCLONE_FORWARD_H

#include "fdb.h"
#include "parse.h"
#include "rewrite.h"
#include "sum.h"
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
		reason = nc_switch_route(NC_WAY_PLAIN, env, cfg, h, nc_is_ip6(p), &r);
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
		/* Where a sum was left out and comes to 0, 0xffff is written. */
		if (nc_unlikely(sum->state == NC_SUM_FULL &&
				(sum->check != nc_l4_check(p) || sum->check == 0)))
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

/* The plain way over one kind of IP (`ip6`, a constant), for a frame that came in on port
 * `in_port`. f->action says what to do with it; the frame has been rewritten accordingly.
 * Returns its counter, or NC_NOT_PLAIN. */
NC_INLINE nc_u32 nc_switch_plain(struct nc_env *env, const struct nc_switch_config *cfg,
				 const struct nc_frame *frame, int ip6, nc_u32 in_port,
				 struct nc_forward *f)
{
	const struct nc_ranges ranges = nc_switch_ranges(cfg);
	struct nc_packet p = {.frame = frame->handle, .end = frame->end};
	enum nc_counter reason;

	*f = (struct nc_forward){.action = NC_PASS};
	if (nc_unlikely(!nc_parse_plain(frame->data, ip6, &p)))
		return NC_NOT_PLAIN;
	reason = nc_parse_rest(&cfg->ports, &ranges, sizeof(struct nc_udp), &p);
	if (reason == NC_CTR_not_netclone)
		return reason;
	if (nc_unlikely(reason != NC_PARSED)) /* why not, the other way finds out */
		return NC_NOT_PLAIN;
	if (nc_unlikely(!nc_is_plain(cfg, p.nc)) || nc_unlikely(!nc_is_full_sum(&p)))
		return NC_NOT_PLAIN;
	return nc_switch_parsed(NC_WAY_PLAIN, env, cfg, &p, in_port, f);
}

/* The other way, for any frame, with whatever the switch and the packet ask for. */
NC_INLINE enum nc_counter nc_switch_any(struct nc_env *env, const struct nc_switch_config *cfg,
					const struct nc_frame *frame, nc_u32 in_port,
					struct nc_forward *f)
{
	const struct nc_ranges ranges = nc_switch_ranges(cfg);
	struct nc_packet p = {};
	enum nc_counter reason;

	*f = (struct nc_forward){.action = NC_PASS};
	reason = nc_parse(frame, &cfg->ports, &ranges, &p);
	if (reason != NC_PARSED)
		return reason;
	return nc_switch_parsed(NC_WAY_ANY, env, cfg, &p, in_port, f);
}

/* Whichever way, in one: what the kernel programs have in parts. */
NC_INLINE enum nc_counter nc_switch_packet(struct nc_env *env, const struct nc_switch_config *cfg,
					   const struct nc_frame *frame, nc_u32 in_port,
					   struct nc_forward *f)
{
	nc_u32 reason = nc_switch_plain(env, cfg, frame, 0, in_port, f);

	if (reason == NC_NOT_PLAIN)
		reason = nc_switch_plain(env, cfg, frame, 1, in_port, f);
	if (reason == NC_NOT_PLAIN)
		return nc_switch_any(env, cfg, frame, in_port, f);
	return (enum nc_counter)reason;
}

#endif
