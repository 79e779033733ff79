/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The switch's decisions: Algorithm 1 of the paper (section 3) and the extensions of
 * section 3.7, on the header alone. forward.h turns them into bytes and ports.
 * A request first gets a route, then an id: an id is used up only by a request that goes
 * out with it. */
#ifndef NETCLONE_SWITCH_H
#define NETCLONE_SWITCH_H

#include "filter.h"
#include "health.h"
#include "identity.h"
#include "load.h"
#include "parse.h"
#include "table_access.h"

/* What the plain way leaves out, of the switch's own settings. */
enum {
	NC_SWITCH_BEYOND =
		NC_SWITCH_GENERIC | NC_SWITCH_NO_CLONES | NC_SWITCH_RESERVE | NC_SWITCH_HOLD,
};

/* Does the switch do, or the packet ask for, anything that the plain way leaves out? One branch
 * for all: SWITCH_ID and FLAGS lie in one word with TYPE. */
NC_INLINE int nc_is_plain(const struct nc_switch_config *cfg, const struct nc_header *h)
{
#ifdef NC_PAPER_ONLY
	(void)cfg;
	(void)h;
	return 1;
#else
	nc_be32 word;

	__builtin_memcpy(&word, h, sizeof(word));
	return !((cfg->flags & NC_SWITCH_BEYOND) | cfg->switch_id | cfg->server_timeout_ns |
		 (word & nc_htonl(0xffffff00)) | (h->pkt_count & 0xfe));
#endif
}

/* What a switch takes as in range. */
NC_INLINE struct nc_ranges nc_switch_ranges(const struct nc_switch_config *cfg)
{
	return (struct nc_ranges){
		.n_groups = cfg->n_groups,
		.n_filter_tables = cfg->n_filter_tables,
	};
}

struct nc_route {
	nc_u32 dst;   /* server that the request (the original, if cloned) goes to */
	nc_u32 other; /* cloned: server of the copy */
	nc_u32 grp;   /* cloned: the group (dst, other), whose devmap sends both; else 0 */
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

/* ---- which of the two candidates: a choice is a set of these bits, none = the first alone ---- */

enum nc_choice {
	NC_CHOICE_BOTH = 1 << 0,   /* the original to one, a copy to the other */
	NC_CHOICE_SECOND = 1 << 1, /* the request, or the original, goes to the second */
	NC_CHOICE_PROBE = 1 << 2,  /* with BOTH: the copy probes a failed server */
	NC_CHOICE_NONE = 1 << 3,   /* nothing to choose by */
};

/* One candidate failed: the other one, with a probe now and then. Both: the first. */
NC_INLINE nc_u32 nc_choose_by_health(struct nc_env *env, const struct nc_switch_config *cfg,
				     const struct nc_group *g)
{
	struct nc_health *first = nc_health_of(env, g->first);
	struct nc_health *second = nc_health_of(env, g->second);
	nc_u64 timeout_ns = cfg->server_timeout_ns, now_ns = nc_now_ns(env);
	int first_failed, second_failed;

	if (!first || !second)
		return NC_CHOICE_NONE;
	first_failed = nc_is_failed(first, timeout_ns, now_ns);
	second_failed = nc_is_failed(second, timeout_ns, now_ns);
	if (nc_likely(!first_failed && !second_failed))
		return NC_CHOICE_NONE;
	if (first_failed && second_failed)
		return 0;
	return (first_failed ? NC_CHOICE_SECOND : 0) |
	       (nc_is_probe_due(first_failed ? first : second, timeout_ns, now_ns)
			? NC_CHOICE_BOTH | NC_CHOICE_PROBE
			: 0);
}

/* A choice of one server that has failed since, while the other candidate lives. */
NC_INLINE int nc_is_dead_end(struct nc_env *env, const struct nc_switch_config *cfg,
			     const struct nc_group *g, nc_u32 choice)
{
	struct nc_health *first = nc_health_of(env, g->first);
	struct nc_health *second = nc_health_of(env, g->second);
	nc_u64 timeout_ns = cfg->server_timeout_ns, now_ns;
	int first_failed, second_failed;

	if (choice & (NC_CHOICE_BOTH | NC_CHOICE_NONE) || !first || !second)
		return 0;
	now_ns = nc_now_ns(env);
	first_failed = nc_is_failed(first, timeout_ns, now_ns);
	second_failed = nc_is_failed(second, timeout_ns, now_ns);
	return choice & NC_CHOICE_SECOND ? second_failed && !first_failed
					 : first_failed && !second_failed;
}

/* Beyond the paper: RackSched without clones, and the reserve rule (reserve.h). */
NC_INLINE nc_u32 nc_choose_by_load(const struct nc_switch_config *cfg, nc_u32 *first,
				   nc_u32 *second)
{
	int to_second, clone;

	if (!(cfg->flags & NC_SWITCH_RESERVE))
		return *second < *first ? NC_CHOICE_SECOND : 0;
	clone = !((*first | *second) & NC_LOAD_REFUSES);
	to_second = nc_load_of(*second) < nc_load_of(*first);
	nc_load_add(to_second ? second : first);
	if (clone)
		nc_load_add(to_second ? first : second);
	return (to_second ? NC_CHOICE_SECOND : 0) | (clone ? NC_CHOICE_BOTH : 0);
}

/* Both candidates are usable: lines 6-9, RackSched, failed servers. */
NC_INLINE nc_u32 nc_choose(enum nc_way way, struct nc_env *env, const struct nc_switch_config *cfg,
			   const struct nc_group *g)
{
	nc_u32 *first = nc_state_of(env, g->first), *second = nc_state_of(env, g->second);

	if (nc_extension(way, cfg->server_timeout_ns)) {
		nc_u32 choice = nc_choose_by_health(env, cfg, g);

		if (choice != NC_CHOICE_NONE)
			return choice;
	}
	if (!first || !second)
		return 0; /* not reached: group entries are in range */
	if (nc_extension(way, cfg->flags & (NC_SWITCH_NO_CLONES | NC_SWITCH_RESERVE)))
		return nc_choose_by_load(cfg, first, second);
	if (*first == 0 && *second == 0)
		return NC_CHOICE_BOTH;
	if (nc_unlikely(cfg->flags & NC_SWITCH_RACKSCHED) && *second < *first)
		return NC_CHOICE_SECOND;
	return 0;
}

enum nc_usable {
	NC_FIRST_USABLE = 1,
	NC_SECOND_USABLE = 2,
	NC_BOTH_USABLE = 3,
};

/* ---- multi-packet requests whose ids are the client's: what was chosen for the first packet
 * that came holds for all (the cloned-request table of section 3.7) ---- */

struct nc_message {
	nc_u64 *slot; /* 0: not such a packet */
	nc_u64 key;
	nc_u64 entry; /* what the slot holds: key and choice */
};

_Static_assert((nc_u64)NC_CHOICE_BOTH << NC_REQUEST_CHOICE_SHIFT == NC_REQUEST_CLONED &&
		       (nc_u64)NC_CHOICE_SECOND << NC_REQUEST_CHOICE_SHIFT == NC_REQUEST_SECOND,
	       "a choice as the table holds it");

NC_INLINE struct nc_message nc_message_of(enum nc_way way, struct nc_env *env,
					  const struct nc_header *h)
{
	struct nc_message m = {};

	if (nc_extension(way, nc_is_multi_packet(h) && nc_has_client_id(h))) {
		m.key = nc_request_key(way, h, nc_ntohl(h->req_id));
		m.slot = nc_request_slot(env, nc_request_index(m.key));
		if (m.slot)
			m.entry = *(volatile nc_u64 *)m.slot;
	}
	return m;
}

/* The choice that stands in the table for this message, as far as it can still be followed:
 * the one server of an uncloned request must be there; of a cloned one's two, either will
 * do. */
NC_INLINE nc_u32 nc_chosen_before(const struct nc_message *m, nc_u32 usable)
{
	nc_u32 choice = (nc_u32)((m->entry & NC_REQUEST_DECISION) >> NC_REQUEST_CHOICE_SHIFT);

	if (nc_likely(!m->slot) || (m->entry & ~NC_REQUEST_DECISION) != m->key)
		return NC_CHOICE_NONE;
	if (choice & NC_CHOICE_BOTH)
		return usable == NC_BOTH_USABLE ? choice : usable & NC_SECOND_USABLE;
	if (!(usable & (choice & NC_CHOICE_SECOND ? NC_SECOND_USABLE : NC_FIRST_USABLE)))
		return NC_CHOICE_NONE;
	return choice;
}

_Static_assert((int)NC_SECOND_USABLE == (int)NC_CHOICE_SECOND, "usable & SECOND is a choice");

/* Stores a fresh choice. Returns the one to follow: another CPU's, if that was first with a
 * packet of this same message. */
NC_INLINE nc_u32 nc_remember(struct nc_message *m, nc_u32 choice, nc_u32 usable)
{
	nc_u64 expected = m->entry, bits = choice & (NC_CHOICE_BOTH | NC_CHOICE_SECOND);
	nc_u32 before;

	m->entry = nc_replace(m->slot, expected, m->key | bits << NC_REQUEST_CHOICE_SHIFT);
	if (nc_likely(m->entry == expected))
		return choice;
	before = nc_chosen_before(m, usable);
	return before == NC_CHOICE_NONE ? choice : before;
}

/* ---- routing ---- */

/* Nothing is cloned while the group's devmap is missing or may be about to belong to another
 * pair of servers: the original goes out alone. */
NC_INLINE enum nc_counter nc_route(enum nc_way way, struct nc_env *env,
				   const struct nc_switch_config *cfg, const struct nc_group *g,
				   nc_u32 grp, nc_u32 choice, struct nc_route *r)
{
	int second = !!(choice & NC_CHOICE_SECOND);

	r->dst = second ? g->second : g->first;
	r->other = second ? g->first : g->second;
	r->grp = 0;
	if (!(choice & NC_CHOICE_BOTH) || nc_extension(way, cfg->flags & NC_SWITCH_HOLD))
		return NC_CTR_not_cloned;
	grp = second ? nc_reverse_group(grp) : grp;
	if (!nc_can_clone(env, grp))
		return NC_CTR_not_cloned;
	r->grp = grp;
	return choice & NC_CHOICE_PROBE ? NC_CTR_probed : NC_CTR_cloned;
}

/* Lines 4-9 for a request whose GRP is in range; changes no packet and takes no id.
 * Returns cloned, not_cloned or probed with *r filled in, or the reason to pass. */
NC_INLINE enum nc_counter nc_switch_route(enum nc_way way, struct nc_env *env,
					  const struct nc_switch_config *cfg,
					  const struct nc_header *h, int ip6, struct nc_route *r)
{
	nc_u32 grp = nc_ntohl(h->grp), usable, choice;
	const struct nc_group *g = nc_group_of(env, grp);
	struct nc_message m = nc_message_of(way, env, h);
	enum nc_counter reason;

	if (!g)
		return NC_CTR_bad_group;
	usable = (nc_is_usable(nc_server_of(env, g->first), ip6) ? NC_FIRST_USABLE : 0) |
		 (nc_is_usable(nc_server_of(env, g->second), ip6) ? NC_SECOND_USABLE : 0);
	if (nc_unlikely(!usable))
		return NC_CTR_unknown_port;

	choice = nc_chosen_before(&m, usable);
	if (nc_extension(way, m.slot && cfg->server_timeout_ns) && usable == NC_BOTH_USABLE &&
	    nc_is_dead_end(env, cfg, g, choice))
		choice = NC_CHOICE_NONE;
	if (nc_likely(choice == NC_CHOICE_NONE)) {
		/* Packets that nothing ties together are not cloned. */
		if (nc_unlikely(usable != NC_BOTH_USABLE ||
				nc_extension(way, nc_is_multi_packet(h) && !m.slot)))
			choice = usable == NC_SECOND_USABLE ? NC_CHOICE_SECOND : 0;
		else
			choice = nc_choose(way, env, cfg, g);
		if (nc_unlikely(m.slot))
			choice = nc_remember(&m, choice, usable);
	}
	/* One walk for the verifier, whatever was chosen and why (see nc_byte_at). */
	choice ^= nc_opaque_zero(h);
	reason = nc_route(way, env, cfg, g, grp, choice, r);
	if (nc_extension(way, cfg->server_timeout_ns)) {
		nc_u64 now_ns = nc_now_ns(env);

		nc_note_sent(env, r->dst, now_ns);
		if (r->grp)
			nc_note_sent(env, r->other, now_ns);
	}
	return reason;
}

/* The same by the other way, as a part of its own (NC_PART). */
NC_PART enum nc_counter nc_switch_route_any(struct nc_env *env, const struct nc_switch_config *cfg,
					    const struct nc_header *h, int ip6, struct nc_route *r)
{
	NC_KEEP(env); /* an argument that is not used would not be passed */
	if (!cfg || !h || !r)
		return NC_CTR_bad_group; /* not reached */
	return nc_switch_route(NC_WAY_ANY, env, cfg, h, ip6, r);
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

/* Lines 14-23 for a response that really comes from server SID. */
NC_INLINE enum nc_counter nc_switch_response(enum nc_way way, struct nc_env *env,
					     const struct nc_switch_config *cfg,
					     const struct nc_header *h)
{
	nc_u32 sid = nc_ntohl(h->sid);
	nc_u32 *state = nc_state_of(env, sid), now_queued = nc_ntohl(h->state);

	/* Not written when equal, so that the line stays shared between CPUs. */
	if (state && *state != now_queued)
		*(volatile nc_u32 *)state = now_queued;
	if (nc_extension(way, cfg->server_timeout_ns))
		nc_note_heard(env, sid);
	if (h->clo == NC_CLO_NONE || nc_unlikely(!nc_is_identified(h)))
		return NC_CTR_response_forwarded;
	return nc_filter_response(way, env, cfg, h);
}

/* Multi-rack (section 3.7): only the client's ToR acts on a packet. */
NC_INLINE int nc_is_foreign(const struct nc_switch_config *cfg, const struct nc_header *h)
{
	return h->switch_id && h->switch_id != nc_htons(cfg->switch_id);
}

#endif
