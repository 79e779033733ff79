/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The switch, on the way in: from a frame to a decision, bytes and an out port. What is cloned
 * here becomes two packets on the way out: switch_egress.h.
 * Everything that can make a packet pass untouched is asked before its first byte is written. */
#ifndef NETCLONE_SWITCH_H
#define NETCLONE_SWITCH_H

#include "decision.h"
#include "forwarding.h"
#include "parse.h"

enum nc_action {
	NC_PASS, /* to Linux, untouched */
	NC_DROP,
	NC_SEND,  /* out of `port` */
	NC_CLONE, /* out of both ports of group `grp`; nc_switch_egress makes the clone */
};

struct nc_forward {
	enum nc_action action;
	nc_u32 port; /* ifindex */
	nc_u32 grp;
};

/* What a switch takes as in range. */
NC_INLINE struct nc_ranges nc_switch_ranges(const struct nc_switch_config *cfg)
{
	return (struct nc_ranges){
		.n_groups = cfg->n_groups,
		.n_filter_tables = cfg->n_filter_tables,
		.at_switch = 1,
		.switch_id = nc_htons(cfg->switch_id),
	};
}

/* Bytes, from the Ethernet header to the end of the IP packet. */
NC_INLINE nc_u32 nc_length_of(const struct nc_packet *p)
{
	return p->l4_offset + p->l4_len;
}

/* Writes are never cloned, and go where they were sent: in place of [lines 4-9]. */
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
	diff = nc_identify(NC_FULL_PATH, env, cfg, p->nc);
	nc_put_sum(p, sum, 0, diff);
	f->action = NC_SEND;
	f->port = port;
	return NC_CTR_no_clone;
}

NC_INLINE enum nc_counter nc_forward_request(enum nc_path path, struct nc_env *env,
					     const struct nc_switch_config *cfg,
					     struct nc_packet *p, const struct nc_sum *sum,
					     nc_u32 in_port, struct nc_forward *f)
{
	struct nc_header *h = p->nc;
	const struct nc_server *chosen;
	enum nc_counter reason;
	nc_u64 pseudo, payload;
	struct nc_route r = {};

	if (nc_unlikely(sum->kind == NC_SUM_AMBIGUOUS))
		return NC_CTR_checksum_ambiguous;
	if (nc_extension(path, h->flags & NC_FLAG_NO_CLONE))
		return nc_forward_no_clone(env, cfg, p, sum, in_port, f);

	if (path == NC_FULL_PATH) {
		r.who = nc_who_asked(p, cfg->secret);
		r.length = nc_length_of(p);
	}
	if (path == NC_FAST_PATH)
		reason = nc_route_request(NC_FAST_PATH, env, cfg, h, nc_is_ip6(p), &r);
	else
		reason = nc_route_request_in_full(env, cfg, h, nc_is_ip6(p), &r);
	if (nc_unlikely(reason != NC_CTR_cloned && reason != NC_CTR_not_cloned &&
			reason != NC_CTR_probed && reason != NC_CTR_clone_capped))
		return reason;
	chosen = nc_server_of(env, r.chosen);
	if (!chosen)
		return NC_CTR_unknown_port;

	nc_learn(env, p, in_port);
	payload = nc_write_request(path, env, cfg, h, &r);
	pseudo = nc_readdress(p, chosen);
	nc_put_sum(p, sum, pseudo, payload);

	f->action = r.grp ? NC_CLONE : NC_SEND;
	f->port = chosen->ifindex;
	f->grp = r.grp;
	return reason;
}

/* A response that is not from its server. A client has none to send that claims to be one of two;
 * from elsewhere it may be that of a server that was removed, or is not known yet. */
NC_INLINE enum nc_counter nc_refuse_response(struct nc_env *env, const struct nc_header *h,
					     nc_u32 in_port, struct nc_forward *f)
{
	const nc_u32 *role = nc_port_role_of(env, in_port);

	if (h->clo == NC_CLO_NONE || !role || !(*role & NC_PORT_CLIENT))
		return NC_CTR_unknown_source;
	f->action = NC_DROP;
	return NC_CTR_dropped_forged_response;
}

/* The response itself is never modified (but for a partial sum, completed). */
NC_INLINE enum nc_counter nc_forward_response(enum nc_path path, struct nc_env *env,
					      const struct nc_switch_config *cfg,
					      struct nc_packet *p, const struct nc_sum *sum,
					      nc_u32 in_port, struct nc_forward *f)
{
	const struct nc_server *server = nc_server_of(env, nc_ntohl(p->nc->sid));
	enum nc_counter reason;
	nc_u32 who = 0;

	if (nc_unlikely(!nc_is_from(p, server, in_port)))
		return nc_refuse_response(env, p->nc, in_port, f);
	if (path == NC_FULL_PATH)
		who = nc_who_asked(p, cfg->secret);
	reason = nc_filter_response(path, env, cfg, p->nc, who);
	if (reason == NC_CTR_filtered_slower_response) {
		f->action = NC_DROP;
		return reason;
	}
	f->port = nc_port_of(env, p);
	if (nc_likely(f->port)) {
		/* Where a sum was left out and comes to 0, 0xffff is written. */
		if (nc_unlikely(sum->kind == NC_SUM_FULL &&
				(sum->check != nc_l4_check(p) || sum->check == 0)))
			nc_set_l4_check(p, sum->check);
		f->action = NC_SEND;
	}
	return reason;
}

/* A NetClone packet, parsed. */
NC_INLINE enum nc_counter nc_forward_packet(enum nc_path path, struct nc_env *env,
					    const struct nc_switch_config *cfg, struct nc_packet *p,
					    nc_u32 in_port, struct nc_forward *f)
{
	struct nc_sum sum = {NC_SUM_FULL, nc_l4_check(p)};

	if (nc_extension(path, nc_is_foreign(cfg, p->nc)))
		return NC_CTR_foreign_switch;
	if (path == NC_FULL_PATH) {
		sum = nc_take_sum(p, nc_extension(path, cfg->flags & NC_SWITCH_GENERIC));
		nc_merge_sum(p, &sum);
	}
	if (p->nc->type == NC_TYPE_REQ)
		return nc_forward_request(path, env, cfg, p, &sum, in_port, f);
	return nc_forward_response(path, env, cfg, p, &sum, in_port, f);
}

/* "This frame takes the full path": nothing has been done to it. */
#define NC_TAKE_FULL_PATH (NC_CTR_COUNT + 1U)

/* The fast path over one kind of IP (`ip6`, a constant), for a frame that came in on port
 * `in_port`. f->action says what to do with it; the frame has been rewritten accordingly.
 * Returns its counter, or NC_TAKE_FULL_PATH. */
NC_INLINE nc_u32 nc_switch_fast(struct nc_env *env, const struct nc_switch_config *cfg,
				const struct nc_frame *frame, int ip6, nc_u32 in_port,
				struct nc_forward *f)
{
	const struct nc_ranges ranges = nc_switch_ranges(cfg);
	struct nc_packet p = {.frame = frame->handle, .end = frame->end};
	enum nc_counter reason;

	*f = (struct nc_forward){.action = NC_PASS};
	if (nc_unlikely(!nc_parse_fast(frame->data, ip6, &p)))
		return NC_TAKE_FULL_PATH;
	reason = nc_parse_from_ports(&cfg->ports, &ranges, sizeof(struct nc_udp), &p);
	if (reason == NC_CTR_not_netclone)
		return reason;
	if (nc_unlikely(reason != NC_PARSED)) /* why not, the full path finds out */
		return NC_TAKE_FULL_PATH;
	if (nc_unlikely(!nc_fits_fast_path(cfg, p.nc)) || nc_unlikely(!nc_is_full_sum(&p)) ||
	    nc_unlikely(nc_length_of(&p) - 1 > cfg->longest_frame - 1))
		return NC_TAKE_FULL_PATH;
	return nc_forward_packet(NC_FAST_PATH, env, cfg, &p, in_port, f);
}

/* The full path, for any frame, with whatever the switch and the packet ask for. */
NC_INLINE enum nc_counter nc_switch_full(struct nc_env *env, const struct nc_switch_config *cfg,
					 const struct nc_frame *frame, nc_u32 in_port,
					 struct nc_forward *f)
{
	const struct nc_ranges ranges = nc_switch_ranges(cfg);
	struct nc_packet p = {};
	enum nc_counter reason;

	*f = (struct nc_forward){.action = NC_PASS};
	reason = nc_parse(frame, &cfg->ports, &ranges, &p);
	if (reason == NC_CTR_already_cloned)
		f->action = NC_DROP; /* clones are made here, and nowhere else */
	if (reason != NC_PARSED)
		return reason;
	return nc_forward_packet(NC_FULL_PATH, env, cfg, &p, in_port, f);
}

/* All three in turn: what the kernel program has as subprograms. */
NC_INLINE enum nc_counter nc_switch_ingress(struct nc_env *env, const struct nc_switch_config *cfg,
					    const struct nc_frame *frame, nc_u32 in_port,
					    struct nc_forward *f)
{
	nc_u32 reason = nc_switch_fast(env, cfg, frame, 0, in_port, f);

	if (reason == NC_TAKE_FULL_PATH)
		reason = nc_switch_fast(env, cfg, frame, 1, in_port, f);
	if (reason == NC_TAKE_FULL_PATH)
		return nc_switch_full(env, cfg, frame, in_port, f);
	return (enum nc_counter)reason;
}

#endif
