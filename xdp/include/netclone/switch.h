/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The switch's decisions: Algorithm 1 of the paper (section 3) and the extensions of
 * section 3.7, on the header alone. forward.h turns them into bytes and ports.
 * A request first gets a route, then an id: an id is used up only by a request that goes
 * out with it. */
#ifndef NETCLONE_SWITCH_H
#define NETCLONE_SWITCH_H

#include "identity.h"
#include "load.h"
#include "state.h"

struct nc_route {
	nc_u32 dst;    /* server that the request (the original, if cloned) goes to */
	nc_u32 other;  /* cloned: server of the copy */
	nc_u32 grp;    /* cloned: the group (dst, other), whose devmap sends both; else 0 */
	nc_u32 second; /* dst is the second candidate of the packet's group */
};

/* The group of the same two servers in the other order: 2k+1 <-> 2k+2. */
NC_INLINE nc_u32 nc_reverse_group(nc_u32 grp)
{
	return ((grp - 1) ^ 1) + 1;
}

NC_INLINE int nc_is_usable(const struct nc_server *s, int ip6)
{
	if (!s || !(s->flags & NC_SERVER_VALID) || !s->ifindex)
		return 0;
	return ip6 ? (s->ip6[0] | s->ip6[1] | s->ip6[2] | s->ip6[3]) != 0 : s->ip4 != 0;
}

/* ---- failure detection; every function here is behind server_timeout_ns != 0 ---- */

NC_INLINE int nc_is_failed(const struct nc_health *health, nc_u64 timeout_ns, nc_u64 now_ns)
{
	nc_u64 since = health->owing_since_ns;

	return since && now_ns - since > timeout_ns;
}

/* Plain stores: a lost update moves a count by one or a time by one packet. */
NC_INLINE void nc_note_sent(struct nc_env *env, nc_u32 sid, nc_u64 now_ns)
{
	struct nc_health *health = nc_health_of(env, sid);

	if (!health)
		return;
	health->owed++;
	if (!health->owing_since_ns)
		health->owing_since_ns = now_ns;
}

NC_INLINE void nc_note_heard(struct nc_env *env, nc_u32 sid)
{
	struct nc_health *health = nc_health_of(env, sid);

	if (!health || !health->owing_since_ns)
		return;
	health->owing_since_ns = 0;
	health->probed_ns = 0;
	health->owed = 0;
}

/* A failed server is sent a copy once a timeout, counted from when it was found failed. */
NC_INLINE int nc_is_probe_due(struct nc_health *health, nc_u64 timeout_ns, nc_u64 now_ns)
{
	if (health->probed_ns && now_ns - health->probed_ns <= timeout_ns)
		return 0;
	if (!health->probed_ns) {
		health->probed_ns = now_ns;
		return 0;
	}
	health->probed_ns = now_ns;
	return 1;
}

enum nc_pick {
	NC_PICK_BY_STATE, /* both alive: the paper's rules */
	NC_PICK_FIRST,
	NC_PICK_SECOND,
	NC_PICK_PROBE_FIRST,  /* to the second, copy to the failed first */
	NC_PICK_PROBE_SECOND, /* to the first, copy to the failed second */
};

NC_INLINE enum nc_pick nc_pick_by_health(struct nc_env *env, const struct nc_switch_config *cfg,
					 const struct nc_group *g)
{
	struct nc_health *first = nc_health_of(env, g->first);
	struct nc_health *second = nc_health_of(env, g->second);
	nc_u64 timeout_ns = cfg->server_timeout_ns, now_ns = nc_now_ns(env);
	int first_failed, second_failed;

	if (!first || !second)
		return NC_PICK_BY_STATE;
	first_failed = nc_is_failed(first, timeout_ns, now_ns);
	second_failed = nc_is_failed(second, timeout_ns, now_ns);
	if (nc_likely(!first_failed && !second_failed))
		return NC_PICK_BY_STATE;
	if (first_failed && second_failed)
		return NC_PICK_FIRST;
	if (first_failed)
		return nc_is_probe_due(first, timeout_ns, now_ns) ? NC_PICK_PROBE_FIRST
								  : NC_PICK_SECOND;
	return nc_is_probe_due(second, timeout_ns, now_ns) ? NC_PICK_PROBE_SECOND : NC_PICK_FIRST;
}

/* ---- routing ---- */

NC_INLINE void nc_route_one(struct nc_route *r, const struct nc_group *g, int second)
{
	r->dst = second ? g->second : g->first;
	r->grp = 0;
	r->second = !!second;
}

/* Falls back to a single server where the group's devmap is missing, or may be about to
 * belong to another pair. */
NC_INLINE void nc_route_both(struct nc_env *env, const struct nc_switch_config *cfg,
			     struct nc_route *r, const struct nc_group *g, nc_u32 grp, int second)
{
	nc_route_one(r, g, second);
	r->other = second ? g->first : g->second;
	grp = second ? nc_reverse_group(grp) : grp;
	if (!nc_extension(cfg->flags & NC_SWITCH_HOLD) && nc_can_clone(env, grp))
		r->grp = grp;
}

/* Beyond the paper: RackSched without clones, and the reserve rule (reserve.h). */
NC_INLINE enum nc_counter nc_route_by_load(struct nc_env *env, const struct nc_switch_config *cfg,
					   const struct nc_group *g, nc_u32 grp, nc_u32 *first,
					   nc_u32 *second, struct nc_route *r)
{
	int to_second, clone;

	if (!(cfg->flags & NC_SWITCH_RESERVE)) {
		nc_route_one(r, g, *second < *first);
		return NC_CTR_not_cloned;
	}
	clone = !((*first | *second) & NC_LOAD_REFUSES);
	to_second = nc_load_of(*second) < nc_load_of(*first);
	nc_load_add(to_second ? second : first);
	if (!clone) {
		nc_route_one(r, g, to_second);
		return NC_CTR_not_cloned;
	}
	nc_load_add(to_second ? first : second);
	nc_route_both(env, cfg, r, g, grp, to_second);
	return r->grp ? NC_CTR_cloned : NC_CTR_not_cloned;
}

/* Both candidates are usable: lines 6-9, RackSched, failed servers. */
NC_INLINE enum nc_counter nc_route_by_state(struct nc_env *env, const struct nc_switch_config *cfg,
					    const struct nc_group *g, nc_u32 grp,
					    struct nc_route *r)
{
	nc_u32 *first = nc_state_of(env, g->first), *second = nc_state_of(env, g->second);
	enum nc_pick pick = NC_PICK_BY_STATE;

	if (nc_extension(cfg->server_timeout_ns))
		pick = nc_pick_by_health(env, cfg, g);
	if (nc_unlikely(pick != NC_PICK_BY_STATE)) {
		int to_second = pick == NC_PICK_SECOND || pick == NC_PICK_PROBE_FIRST;

		if (pick == NC_PICK_FIRST || pick == NC_PICK_SECOND) {
			nc_route_one(r, g, to_second);
			return NC_CTR_not_cloned;
		}
		nc_route_both(env, cfg, r, g, grp, to_second);
		return r->grp ? NC_CTR_probed : NC_CTR_not_cloned;
	}
	if (!first || !second) { /* not reached: group entries are in range */
		nc_route_one(r, g, 0);
		return NC_CTR_not_cloned;
	}
	if (nc_extension(cfg->flags & (NC_SWITCH_NO_CLONES | NC_SWITCH_RESERVE)))
		return nc_route_by_load(env, cfg, g, grp, first, second, r);
	if (*first == 0 && *second == 0) {
		nc_route_both(env, cfg, r, g, grp, 0);
		return r->grp ? NC_CTR_cloned : NC_CTR_not_cloned;
	}
	nc_route_one(r, g, nc_extension(cfg->flags & NC_SWITCH_RACKSCHED) && *second < *first);
	return NC_CTR_not_cloned;
}

enum nc_usable {
	NC_FIRST_USABLE = 1,
	NC_SECOND_USABLE = 2,
	NC_BOTH_USABLE = 3,
};

/* ---- multi-packet requests whose ids are the client's: what was decided for the first packet
 * that came holds for all (the cloned-request table of section 3.7) ---- */

struct nc_message {
	nc_u64 *slot; /* 0: not such a packet */
	nc_u64 key;
	nc_u64 entry; /* what the slot holds */
};

NC_INLINE struct nc_message nc_message_of(struct nc_env *env, const struct nc_header *h)
{
	struct nc_message m = {};

	if (nc_extension(nc_is_multi_packet(h) && nc_has_client_id(h))) {
		m.key = nc_request_key(h, nc_ntohl(h->req_id));
		m.slot = nc_request_slot(env, nc_slot(m.key, (1U << NC_REQUEST_SLOTS_LOG2) - 1));
		if (m.slot)
			m.entry = *(volatile nc_u64 *)m.slot;
	}
	return m;
}

/* The entry is this request's, and can be followed: the one server that an uncloned request
 * was sent to must still be there; of a cloned request's two, either will do. */
NC_INLINE int nc_can_follow(const struct nc_message *m, enum nc_usable usable)
{
	if (!m->slot || (m->entry & ~NC_REQUEST_DECISION) != m->key)
		return 0;
	if (m->entry & NC_REQUEST_CLONED)
		return 1;
	return usable & (m->entry & NC_REQUEST_SECOND ? NC_SECOND_USABLE : NC_FIRST_USABLE);
}

NC_INLINE enum nc_counter nc_follow(struct nc_env *env, const struct nc_switch_config *cfg,
				    const struct nc_message *m, const struct nc_group *g,
				    nc_u32 grp, enum nc_usable usable, struct nc_route *r)
{
	int second = !!(m->entry & NC_REQUEST_SECOND);

	if (m->entry & NC_REQUEST_CLONED && usable == NC_BOTH_USABLE)
		nc_route_both(env, cfg, r, g, grp, second);
	else if (m->entry & NC_REQUEST_CLONED)
		nc_route_one(r, g, usable == NC_SECOND_USABLE);
	else
		nc_route_one(r, g, second);
	return r->grp ? NC_CTR_cloned : NC_CTR_not_cloned;
}

/* Stores a fresh decision. Returns 1 when another CPU was first with a packet of this same
 * request: its decision, now in m->entry, is to be followed. */
NC_INLINE int nc_remember(struct nc_message *m, const struct nc_route *r, enum nc_usable usable)
{
	nc_u64 decided =
		m->key | (r->grp ? NC_REQUEST_CLONED : 0) | (r->second ? NC_REQUEST_SECOND : 0);
	nc_u64 expected = m->entry;

	m->entry = nc_replace(m->slot, expected, decided);
	return m->entry != expected && nc_can_follow(m, usable);
}

/* Lines 4-9 for a request whose GRP is in range; changes no packet and takes no id.
 * Returns cloned, not_cloned or probed with *r filled in, or the reason to pass. */
NC_INLINE enum nc_counter nc_switch_route(struct nc_env *env, const struct nc_switch_config *cfg,
					  const struct nc_header *h, int ip6, struct nc_route *r)
{
	nc_u32 grp = nc_ntohl(h->grp);
	const struct nc_group *g = nc_group_of(env, grp);
	struct nc_message m = nc_message_of(env, h);
	enum nc_counter reason = NC_CTR_not_cloned;
	enum nc_usable usable;

	if (!g)
		return NC_CTR_bad_group;
	usable = (nc_is_usable(nc_server_of(env, g->first), ip6) ? NC_FIRST_USABLE : 0) |
		 (nc_is_usable(nc_server_of(env, g->second), ip6) ? NC_SECOND_USABLE : 0);
	if (nc_unlikely(!usable))
		return NC_CTR_unknown_port;

	if (nc_unlikely(nc_can_follow(&m, usable))) {
		reason = nc_follow(env, cfg, &m, g, grp, usable, r);
	} else {
		/* Packets that nothing ties together are not cloned. */
		if (nc_unlikely(usable != NC_BOTH_USABLE ||
				nc_extension(nc_is_multi_packet(h) && !m.slot)))
			nc_route_one(r, g, usable == NC_SECOND_USABLE);
		else
			reason = nc_route_by_state(env, cfg, g, grp, r);
		if (nc_unlikely(m.slot) && nc_remember(&m, r, usable))
			reason = nc_follow(env, cfg, &m, g, grp, usable, r);
	}
	if (nc_extension(cfg->server_timeout_ns)) {
		nc_u64 now_ns = nc_now_ns(env);

		nc_note_sent(env, r->dst, now_ns);
		if (r->grp)
			nc_note_sent(env, r->other, now_ns);
	}
	return reason;
}

/* Lines 1-3. Unique across CPUs, never 0. */
NC_INLINE nc_u32 nc_next_req_id(struct nc_env *env)
{
	nc_u64 *sequence = nc_sequence_of(env);
	nc_u32 id;

	if (!sequence)
		return 0;
	id = (nc_u32)(nc_increment(sequence) + 1);
	return nc_likely(id) ? id : (nc_u32)(nc_increment(sequence) + 1);
}

NC_INLINE nc_u64 *nc_filter_slot_of(struct nc_env *env, const struct nc_switch_config *cfg,
				    nc_u8 idx, nc_u64 fingerprint)
{
	return nc_filter_slot(env, idx * (cfg->filter_mask + 1) +
					   nc_slot(fingerprint, cfg->filter_mask));
}

/* A request that is being cloned must not find its past self: an id that has come round
 * again, or a retransmission. */
NC_INLINE void nc_filter_open(struct nc_env *env, const struct nc_switch_config *cfg,
			      const struct nc_header *h, nc_u32 req_id)
{
	nc_u64 fingerprint = nc_fingerprint(h, req_id);
	nc_u64 *slot = nc_filter_slot_of(env, cfg, h->idx, fingerprint);

	if (slot && *(volatile nc_u64 *)slot == fingerprint)
		nc_replace(slot, fingerprint, 0);
}

/* Lines 17-23. One atomic swap decides between two responses that come at once: exactly
 * one of them finds the other's fingerprint. */
NC_INLINE enum nc_counter nc_filter_response(struct nc_env *env, const struct nc_switch_config *cfg,
					     const struct nc_header *h)
{
	nc_u64 fingerprint = nc_fingerprint(h, nc_ntohl(h->req_id));
	nc_u64 *slot = nc_filter_slot_of(env, cfg, h->idx, fingerprint);

	if (!slot || nc_swap(slot, fingerprint) != fingerprint)
		return NC_CTR_response_first;
	nc_replace(slot, fingerprint, 0);
	return NC_CTR_filtered_slower_response;
}

/* Lines 14-23 for a response that really comes from server SID. */
NC_INLINE enum nc_counter nc_switch_response(struct nc_env *env, const struct nc_switch_config *cfg,
					     const struct nc_header *h)
{
	nc_u32 sid = nc_ntohl(h->sid);
	nc_u32 *state = nc_state_of(env, sid), now_queued = nc_ntohl(h->state);

	/* Not written when equal, so that the line stays shared between CPUs. */
	if (state && *state != now_queued)
		*(volatile nc_u32 *)state = now_queued;
	if (nc_extension(cfg->server_timeout_ns))
		nc_note_heard(env, sid);
	if (h->clo == NC_CLO_NONE || nc_unlikely(!nc_is_identified(h)))
		return NC_CTR_response_forwarded;
	return nc_filter_response(env, cfg, h);
}

/* Multi-rack (section 3.7): only the client's ToR acts on a packet. */
NC_INLINE int nc_is_foreign(const struct nc_switch_config *cfg, const struct nc_header *h)
{
	return h->switch_id && h->switch_id != nc_htons(cfg->switch_id);
}

#endif
