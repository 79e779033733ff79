/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a switch decides, on the header and the tables alone: Algorithm 1, and the extensions at the
 * lines that they change. switch.h turns it into bytes and ports.
 * A request is routed first and gets its id then: an id is used up only by a request that goes
 * out with it. */
#ifndef NETCLONE_DECISION_H
#define NETCLONE_DECISION_H

#include "algorithm1.h"
#include "extensions/clone_cap.h"
#include "extensions/failed.h"
#include "extensions/health.h"
#include "extensions/multi_packet.h"
#include "extensions/multi_rack.h"
#include "extensions/racksched.h"
#include "extensions/reserve.h"
#include "extensions/retransmission.h"
#include "extensions/state_age.h"
#include "verifier.h"

/* Most packets ask for nothing but Algorithm 1, at a switch that is set to nothing but Algorithm 1
 * and RackSched. They take the fast path, where no extension is even asked for; the full path
 * is for all. One text is compiled for both: `path` is a constant. */
enum nc_path {
	NC_FAST_PATH,
	NC_FULL_PATH,
};

/* A condition that only extensions can make true. NC_PAPER_ONLY leaves them out: what they
 * cost is measured against that. */
#ifdef NC_PAPER_ONLY
#define nc_extension(path, x) ((path) == NC_FULL_PATH && (x) && 0)
#else
#define nc_extension(path, x) ((path) == NC_FULL_PATH && nc_unlikely(x))
#endif

enum {
	NC_SWITCH_EXTENSIONS =
		NC_SWITCH_GENERIC | NC_SWITCH_NO_CLONES | NC_SWITCH_RESERVE | NC_SWITCH_HOLD,
};

/* Whether neither the switch's settings nor the header ask for what the fast path leaves out. One
 * branch for all: SWITCH_ID and FLAGS lie in one word with TYPE. */
NC_INLINE int nc_fits_fast_path(const struct nc_switch_config *cfg, const struct nc_header *h)
{
#ifdef NC_PAPER_ONLY
	(void)cfg;
	(void)h;
	return 1;
#else
	nc_be32 word;

	__builtin_memcpy(&word, h, sizeof(word));
	return !((cfg->flags & NC_SWITCH_EXTENSIONS) | cfg->switch_id | cfg->clone_share |
		 cfg->server_timeout_ns | (word & nc_htonl(0xffffff00)) | (h->pkt_count & 0xfe));
#endif
}

/* ---- requests ---- */

struct nc_route {
	nc_u32 chosen;	 /* server that the request (the original, if cloned) goes to */
	nc_u32 clone_to; /* cloned: the clone's server */
	nc_u32 grp;	 /* cloned: the group (chosen, other), whose devmap sends both; else 0 */
	nc_u32 who;	 /* in: who asked (nc_who_asked) */
	nc_u32 length;	 /* in: bytes of the frame */
};

/* The reserve rule, and RackSched alone, which never clones. */
NC_INLINE nc_u32 nc_choose_by_queue(struct nc_env *env, const struct nc_switch_config *cfg,
				    const struct nc_group *g, nc_u32 *first, nc_u32 *second)
{
	if (cfg->flags & NC_SWITCH_RESERVE) {
		if (nc_load_of(*second) < nc_load_of(*first))
			nc_pass_over(env, cfg, g->first);
		return nc_choose_by_load(first, second);
	}
	if (!nc_is_shorter(second, first) || nc_pass_over(env, cfg, g->first))
		return 0;
	return NC_CHOICE_SECOND;
}

/* RackSched: the second's queue is shorter, unless what is known of the first is too old. */
NC_INLINE nc_u32 nc_choose_shorter(struct nc_env *env, const struct nc_switch_config *cfg,
				   const struct nc_group *g, const nc_u32 *first,
				   const nc_u32 *second)
{
	if (!nc_pass_over(env, cfg, g->first))
		return NC_CHOICE_SECOND;
	return nc_are_idle(first, second) ? NC_CHOICE_BOTH : 0;
}

/* Both candidates are usable: [line 6], and what extensions put in its place. */
NC_INLINE nc_u32 nc_choose(enum nc_path path, struct nc_env *env,
			   const struct nc_switch_config *cfg, const struct nc_group *g)
{
	nc_u32 *first = nc_state_of(env, g->first), *second = nc_state_of(env, g->second);
	nc_u32 choice = 0;

	if (nc_extension(path, cfg->server_timeout_ns)) {
		choice = nc_choose_by_health(env, cfg, g);

		if (choice != NC_CHOICE_NONE)
			return choice;
		choice = 0;
	}
	if (nc_never(!first || !second))
		return 0;
	if (nc_extension(path, cfg->flags & (NC_SWITCH_NO_CLONES | NC_SWITCH_RESERVE)))
		choice = nc_choose_by_queue(env, cfg, g, first, second);
	else if (nc_are_idle(first, second))
		choice = NC_CHOICE_BOTH;
	else if (nc_unlikely(cfg->flags & NC_SWITCH_RACKSCHED) && nc_is_shorter(second, first))
		choice = nc_choose_shorter(env, cfg, g, first, second);
	if (nc_extension(path, cfg->clone_share))
		choice = nc_cap(env, cfg, choice);
	return choice;
}

/* Of the usable candidates, those whose port can send a frame of this length. */
NC_INLINE nc_u32 nc_room_of(struct nc_env *env, const struct nc_group *g, nc_u32 usable,
			    nc_u32 length)
{
	const struct nc_server *first = nc_server_of(env, g->first);
	const struct nc_server *second = nc_server_of(env, g->second);

	if (first && first->max_frame && length > first->max_frame)
		usable &= ~NC_FIRST_USABLE;
	if (second && second->max_frame && length > second->max_frame)
		usable &= ~NC_SECOND_USABLE;
	return usable;
}

/* From a choice to servers. Nothing is cloned while the group's devmap is missing or, with
 * NC_SWITCH_HOLD, may be about to belong to another pair of servers: then the original goes out
 * alone. */
NC_INLINE enum nc_counter nc_route_of(enum nc_path path, struct nc_env *env,
				      const struct nc_switch_config *cfg, const struct nc_group *g,
				      nc_u32 grp, nc_u32 choice, struct nc_route *r)
{
	int second = !!(choice & NC_CHOICE_SECOND);

	r->chosen = second ? g->second : g->first;
	r->clone_to = second ? g->first : g->second;
	r->grp = 0;
	if (nc_extension(path, cfg->flags & NC_SWITCH_HOLD))
		return NC_CTR_not_cloned;
	if (!(choice & NC_CHOICE_BOTH))
		return nc_extension(path, choice & NC_CHOICE_CAPPED) ? NC_CTR_clone_capped
								     : NC_CTR_not_cloned;
	grp = nc_clone_group(grp, second);
	if (!nc_can_clone(env, grp))
		return NC_CTR_not_cloned;
	r->grp = grp;
	return choice & NC_CHOICE_PROBE ? NC_CTR_probed : NC_CTR_cloned;
}

/* [lines 4-6] for a request whose GRP is in range; changes no packet and takes no id.
 * Returns cloned, not_cloned, clone_capped or probed with *r filled in, or the reason to pass. */
NC_INLINE enum nc_counter nc_route_request(enum nc_path path, struct nc_env *env,
					   const struct nc_switch_config *cfg,
					   const struct nc_header *h, int ip6, struct nc_route *r)
{
	nc_u32 grp = nc_ntohl(h->grp), usable, choice;
	const struct nc_group *g = nc_candidates(env, h);
	struct nc_message m = {};
	enum nc_counter reason;

	if (nc_extension(path, nc_is_tied(h)))
		nc_find_message(env, h, r->who, &m);
	if (!g)
		return NC_CTR_bad_group;
	usable = nc_usable_of(env, g, ip6);
	if (nc_unlikely(!usable))
		return NC_CTR_unknown_port;
	if (nc_extension(path, 1)) {
		usable = nc_room_of(env, g, usable, r->length);
		if (!usable)
			return NC_CTR_too_long;
	}

	choice = nc_chosen_before(&m, usable);
	if (nc_extension(path, m.slot && cfg->server_timeout_ns) && usable == NC_BOTH_USABLE &&
	    nc_is_dead_end(env, cfg, g, choice))
		choice = NC_CHOICE_NONE;
	if (nc_likely(choice == NC_CHOICE_NONE)) {
		/* Packets that nothing ties together are not cloned. */
		if (nc_unlikely(usable != NC_BOTH_USABLE ||
				nc_extension(path, nc_is_multi_packet(h) && !m.slot)))
			choice = usable == NC_SECOND_USABLE ? NC_CHOICE_SECOND : 0;
		else
			choice = nc_choose(path, env, cfg, g);
		if (nc_unlikely(m.slot))
			choice = nc_remember(&m, choice, usable);
	}
	choice ^= nc_opaque_zero_of(h);
	reason = nc_route_of(path, env, cfg, g, grp, choice, r);
	if (nc_extension(path, cfg->server_timeout_ns)) {
		nc_u64 now_ns = nc_now_ns(env);

		nc_note_sent(env, r->chosen, now_ns);
		if (r->grp)
			nc_note_sent(env, r->clone_to, now_ns);
	}
	return reason;
}

NC_SUBPROGRAM enum nc_counter nc_route_request_in_full(struct nc_env *env,
						       const struct nc_switch_config *cfg,
						       const struct nc_header *h, int ip6,
						       struct nc_route *r)
{
	NC_KEEP_ARGUMENT(env);
	if (nc_never(!cfg || !h || !r))
		return NC_CTR_bad_group;
	return nc_route_request(NC_FULL_PATH, env, cfg, h, ip6, r);
}

/* [lines 1-3]; an id that is the client's stays. Returns what that adds to the checksum. */
NC_INLINE nc_u64 nc_identify(enum nc_path path, struct nc_env *env,
			     const struct nc_switch_config *cfg, struct nc_header *h)
{
	nc_u64 diff = 0;

	if (nc_extension(path, cfg->switch_id))
		diff += nc_claim(cfg, h);
	if (!nc_extension(path, nc_has_client_id(h)))
		diff += nc_assign_req_id(env, h);
	return diff;
}

/* A packet's fingerprint, and what it leaves of it in a filter table. */
struct nc_held {
	nc_u64 fingerprint;
	nc_u64 held;
};

NC_INLINE struct nc_held nc_held_of(enum nc_path path, struct nc_env *env,
				    const struct nc_switch_config *cfg, const struct nc_header *h,
				    nc_u32 who)
{
	struct nc_held f;

	if (path == NC_FAST_PATH)
		f.fingerprint = nc_fingerprint_of_id(nc_ntohl(h->req_id));
	else
		f.fingerprint = nc_fingerprint(h, who);
	f.held = f.fingerprint;
	if (nc_extension(path, nc_is_tied(h)))
		f.held = nc_fingerprint_of_attempt(env, cfg, h, who, f.fingerprint);
	return f;
}

/* [lines 1-3] and [lines 7-8], on a request that goes out. Returns what that adds to the
 * checksum. */
NC_INLINE nc_u64 nc_write_request(enum nc_path path, struct nc_env *env,
				  const struct nc_switch_config *cfg, struct nc_header *h,
				  const struct nc_route *r)
{
	nc_u64 diff = nc_identify(path, env, cfg, h);
	struct nc_held past;

	if (!r->grp)
		return diff;
	past = nc_held_of(path, env, cfg, h, r->who);
	nc_clear_past(env, cfg, h, past.fingerprint, past.held);
	if (nc_extension(path, nc_has_client_id(h)))
		nc_note_attempt(env, cfg, h, r->who);
	return diff + nc_mark_original(h, r->clone_to);
}

/* ---- responses ---- */

/* [lines 14-23] for a response that really comes from server SID. `who`: nc_who_asked. Returns
 * response_forwarded, response_failed, filtered_slower_response, or whose the first one is. */
NC_INLINE enum nc_counter nc_filter_response(enum nc_path path, struct nc_env *env,
					     const struct nc_switch_config *cfg,
					     const struct nc_header *h, nc_u32 who)
{
	struct nc_held f;
	nc_u64 *slot;

	nc_track_state(env, h);
	if (nc_extension(path, cfg->server_timeout_ns))
		nc_note_heard(env, nc_ntohl(h->sid));
	if (!nc_is_of_cloned(h))
		return NC_CTR_response_forwarded;
	f = nc_held_of(path, env, cfg, h, who);
	slot = nc_filter_slot_of(env, cfg, h->idx, f.fingerprint);
	if (nc_extension(path, h->flags & NC_FLAG_FAILED))
		return nc_is_failed_slower(slot, f.held) ? NC_CTR_filtered_slower_response
							 : NC_CTR_response_failed;
	if (nc_is_slower(slot, f.held))
		return NC_CTR_filtered_slower_response;
	return h->clo == NC_CLO_ORIGINAL ? NC_CTR_response_first_original
					 : NC_CTR_response_first_clone;
}

#endif
