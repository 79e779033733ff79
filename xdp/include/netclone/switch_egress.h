/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The switch, on the way out of a server's port: which frame is the clone of a cloned request, and
 * what makes it one ([lines 10-13] of Algorithm 1, for which the paper recirculates it). */
#ifndef NETCLONE_SWITCH_EGRESS_H
#define NETCLONE_SWITCH_EGRESS_H

#include "switch.h"

/* Parses a frame that the switch sends; returns whether it is one of the two of a cloned
 * request. None comes in from outside (already_cloned). */
NC_INLINE int nc_parse_cloned(const struct nc_switch_config *cfg, const struct nc_frame *frame,
			      struct nc_packet *p)
{
	struct nc_ranges ranges = nc_switch_ranges(cfg);

	ranges.at_switch = 0; /* it was asked on the way in */
	return nc_parse(frame, &cfg->ports, &ranges, p) == NC_PARSED &&
	       p->nc->type == NC_TYPE_REQ && p->nc->clo == NC_CLO_ORIGINAL;
}

/* A failed server must not refuse what may show that it lives again: it may still count what was
 * lost with it. So its clone is not marked as one. */
NC_INLINE int nc_is_to_failed(struct nc_env *env, const struct nc_switch_config *cfg,
			      const struct nc_header *h)
{
	const struct nc_health *health;

	if (nc_likely(!cfg->server_timeout_ns))
		return 0;
	health = nc_health_of(env, nc_ntohl(h->sid));
	return health && nc_is_failed(health, cfg->server_timeout_ns, nc_now_ns(env));
}

/* Marks the clone and readdresses it to its server. Returns clone_sent, or clone_lost when it must
 * not go out. */
NC_INLINE enum nc_counter nc_forward_clone(struct nc_env *env, const struct nc_switch_config *cfg,
					   struct nc_packet *p)
{
	const struct nc_server *server = nc_clone_server(env, p->nc);
	nc_u64 pseudo, payload = 0;
	struct nc_sum sum;

	if (!nc_is_usable(server, nc_is_ip6(p)))
		return NC_CTR_clone_lost;
	/* Settled by nc_take_sum, on the way in: in native mode full, or none. */
	sum.check = nc_l4_check(p);
	sum.kind = nc_has_no_check(p) ? NC_SUM_NONE : NC_SUM_FULL;
	if (nc_unlikely(cfg->flags & NC_SWITCH_GENERIC) && nc_check_is_partial(p))
		sum.kind = NC_SUM_PARTIAL;
	if (!nc_is_to_failed(env, cfg, p->nc))
		payload = nc_mark_clone(p->nc);
	pseudo = nc_readdress(p, server);
	nc_put_sum(p, &sum, pseudo, payload);
	return NC_CTR_clone_sent;
}

/* The two frames of a cloned request are alike: is the one that leaves by `port` the clone?
 * Where each server has a port of its own, the port tells. Behind one port (or when the groups
 * were renumbered just now) the frames follow each other on one CPU, and the second is the
 * clone; nc_turn remembers the first. If the clone's server has just been taken out, its port is
 * not known: then what leaves by another port than its destination's is the clone. */
NC_INLINE int nc_is_clone(struct nc_env *env, const struct nc_switch_config *cfg,
			  const struct nc_packet *p, nc_u32 port)
{
	const struct nc_header *h = p->nc;
	nc_u32 sid = nc_ntohl(h->sid), expected;
	const struct nc_server *server = nc_server_of(env, sid), *other;
	const struct nc_group *g = nc_candidates(env, h);
	nc_u64 fingerprint = nc_fingerprint(h, nc_who_asked(p, cfg->secret)), *turn;

	if (!server)
		return 0;
	if (nc_unlikely(!(server->flags & NC_SERVER_VALID))) {
		expected = nc_port_of(env, p);
		return expected && expected != port;
	}
	if (server->ifindex != port)
		return 0;
	if (g && (g->first == sid || g->second == sid)) {
		other = nc_server_of(env, g->first == sid ? g->second : g->first);
		if (!other || other->ifindex != port)
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
 * Returns NC_AS_IT_IS, or what nc_forward_clone returns. */
NC_INLINE enum nc_counter nc_switch_egress(struct nc_env *env, const struct nc_switch_config *cfg,
					   const struct nc_frame *frame, nc_u32 port)
{
	struct nc_packet p = {};

	if (!nc_parse_cloned(cfg, frame, &p) || !nc_is_clone(env, cfg, &p, port))
		return NC_AS_IT_IS;
	return nc_forward_clone(env, cfg, &p);
}

#endif
