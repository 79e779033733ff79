/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The client's side: blank requests get a group and a filter table (section 3.2), and a
 * response to a request that was already answered stops here. */
#ifndef NETCLONE_CLIENT_H
#define NETCLONE_CLIENT_H

#include "checksum.h"
#include "fingerprint.h"
#include "host.h"
#include "parse.h"
#include "segments.h"
#include "table_access.h"

/* Spreads 32 random bits over 0 .. n-1. */
NC_INLINE nc_u32 nc_scale(nc_u32 random, nc_u32 n)
{
	return (nc_u32)((nc_u64)random * n >> 32);
}

NC_INLINE nc_u32 nc_answered_index(nc_u64 fingerprint)
{
	return nc_slot(fingerprint, (1U << NC_ANSWERED_SLOTS_LOG2) - 1);
}

/* ---- answered requests: one word per slot, swapped as a whole, so that of two responses on two
 * CPUs exactly one finds the other's, and how old it is. What the slot tells (the low half of
 * REQ_ID) is not kept; of ids that clients chose, a hash is. ---- */

enum {
	NC_ANSWERED_TIME_BITS = 28, /* ticks of 2^22 ns: 13 days */
	NC_ANSWERED_TICK_SHIFT = 22,
};

NC_INLINE nc_u64 nc_answered_key(nc_u64 fingerprint)
{
	if (nc_unlikely(fingerprint & NC_FP_CLIENT_ID))
		return nc_mix(fingerprint) >> 29;
	return 1ULL << 35 | (fingerprint & NC_FP_MULTI) >> 34 |
	       (fingerprint >> NC_FP_PKT_SHIFT & 0xff) << 16 | (fingerprint >> 16 & 0xffff);
}

NC_INLINE nc_u64 nc_answered_word(nc_u64 key, nc_u64 now_ns)
{
	return key << NC_ANSWERED_TIME_BITS |
	       (now_ns >> NC_ANSWERED_TICK_SHIFT & ((1U << NC_ANSWERED_TIME_BITS) - 1));
}

/* Whether `word` says that the request of `now`, a word too, was answered within the window. */
NC_INLINE int nc_is_answered(const struct nc_client_config *cfg, nc_u64 word, nc_u64 now)
{
	nc_u64 age = (now - word) & ((1U << NC_ANSWERED_TIME_BITS) - 1);

	return word >> NC_ANSWERED_TIME_BITS == now >> NC_ANSWERED_TIME_BITS &&
	       age << NC_ANSWERED_TICK_SHIFT <= cfg->duplicate_window_ns;
}

/* A request leaves. With ids of its own, all packets and retransmissions of a request
 * must get the same group: it comes from a hash of the id. */
NC_INLINE enum nc_counter nc_client_request(struct nc_env *env, const struct nc_client_config *cfg,
					    struct nc_header *h, nc_u32 who)
{
	nc_u32 for_group, for_table;

	if (nc_unlikely(nc_has_client_id(h))) {
		nc_u64 key = nc_request_key(h, who), mixed = nc_mix(key);
		nc_u64 *answered = nc_answered_slot(env, nc_answered_index(key));
		nc_u64 word = answered ? *(volatile nc_u64 *)answered : 0;

		if (answered && word >> NC_ANSWERED_TIME_BITS == nc_answered_key(key))
			nc_replace(answered, word, 0);
		for_group = (nc_u32)(mixed >> 32);
		for_table = (nc_u32)mixed;
	} else {
		for_group = nc_random(env);
		/* The low half of the product below is as random as the high half. */
		for_table = for_group * cfg->n_groups;
	}
	if (h->grp != 0)
		return NC_CTR_request_passed;
	h->grp = nc_htonl(1 + nc_scale(for_group, cfg->n_groups));
	h->idx = (nc_u8)nc_scale(for_table, cfg->n_filter_tables);
	return NC_CTR_request_stamped;
}

/* A response arrives. A request that was not cloned has only one; FAILED does not count. */
NC_INLINE enum nc_counter nc_client_response(struct nc_env *env, const struct nc_client_config *cfg,
					     const struct nc_header *h, nc_u32 who)
{
	nc_u64 fingerprint, *answered, word, before;

	if (h->clo == NC_CLO_NONE || !nc_is_identified(h) ||
	    (nc_has_client_id(h) && nc_is_multi_packet(h)))
		return NC_CTR_response_delivered;
	fingerprint = nc_fingerprint(h, who);
	answered = nc_answered_slot(env, nc_answered_index(fingerprint));
	if (!answered)
		return NC_CTR_response_delivered;
	word = nc_answered_word(nc_answered_key(fingerprint), nc_now_ns(env));
	if (nc_unlikely(h->flags & NC_FLAG_FAILED) &&
	    !nc_is_answered(cfg, *(volatile nc_u64 *)answered, word))
		return NC_CTR_response_delivered;
	before = nc_swap(answered, word);
	return nc_is_answered(cfg, before, word) ? NC_CTR_dropped_already_answered
						 : NC_CTR_response_delivered;
}

NC_INLINE struct nc_ranges nc_client_ranges(const struct nc_client_config *cfg, enum nc_type type)
{
	return (struct nc_ranges){
		.n_groups = cfg->n_groups,
		.n_filter_tables = cfg->n_filter_tables,
		.blank = type == NC_TYPE_REQ,
	};
}

NC_INLINE enum nc_counter nc_client_parse(const struct nc_client_config *cfg,
					  const struct nc_frame *frame, enum nc_type type,
					  struct nc_packet *p)
{
	const struct nc_ranges ranges = nc_client_ranges(cfg, type);
	enum nc_counter reason = nc_parse(frame, &cfg->ports, &ranges, p);

	if (reason == NC_PARSED && p->nc->type != type)
		return NC_CTR_other_direction;
	return reason;
}

/* A frame arrives. dropped_already_answered: drop it; else the client gets it, unmodified. */
NC_INLINE enum nc_counter nc_client_ingress(struct nc_env *env, const struct nc_client_config *cfg,
					    const struct nc_frame *frame)
{
	struct nc_packet p = {};
	enum nc_counter reason = nc_client_parse(cfg, frame, NC_TYPE_RESP, &p);

	if (reason != NC_PARSED)
		return reason;
	if (nc_unlikely(!nc_is_for(&cfg->host, &p)))
		return NC_CTR_not_for_host;
	if (nc_unlikely(p.nc->switch_id != nc_htons(cfg->switch_id)) &&
	    cfg->flags & NC_HOST_SWITCH_ID)
		return NC_CTR_foreign_switch;
	return nc_client_response(env, cfg, p.nc, nc_who_asked(&p, cfg->secret));
}

/* One of several segments that leave in one buffer. `who`: asks with all of them. */
NC_INLINE enum nc_counter nc_client_segment(struct nc_env *env, const struct nc_client_config *cfg,
					    const struct nc_packet *all, struct nc_header *h,
					    nc_u32 who)
{
	const struct nc_ranges ranges = nc_client_ranges(cfg, NC_TYPE_REQ);
	enum nc_counter reason = nc_check_segment(all, h, &cfg->ports, &ranges);

	if (reason != NC_PARSED)
		return reason;
	return h->type == NC_TYPE_REQ ? nc_client_request(env, cfg, h, who)
				      : NC_CTR_other_direction;
}

/* A frame leaves. request_stamped: its checksum is the caller's to update. */
NC_INLINE enum nc_counter nc_client_egress(struct nc_env *env, const struct nc_client_config *cfg,
					   const struct nc_frame *frame, struct nc_egress *out)
{
	struct nc_packet *p = &out->packet;
	enum nc_counter reason = nc_client_parse(cfg, frame, NC_TYPE_REQ, p);
	struct nc_header old;

	if (reason != NC_PARSED)
		return reason;
	old = *p->nc;
	reason = nc_client_request(env, cfg, p->nc, nc_who_asked(p, cfg->secret));
	out->diff = nc_header_diff(&old, p->nc);
	return reason;
}

#endif
