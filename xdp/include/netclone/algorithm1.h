/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Algorithm 1 of the paper, on the header and the tables alone: what each of its 23 lines does, in
 * its order. decision.h puts the lines together and asks extensions/ in between; switch.h
 * turns what comes out into bytes and ports.
 *
 * A function that writes to the header returns what that adds to the packet's checksum. */
#ifndef NETCLONE_ALGORITHM1_H
#define NETCLONE_ALGORITHM1_H

#include "checksum.h"
#include "fingerprint.h"
#include "table_access.h"

/* ---- a request from a client: [lines 1-9] ---- */

/* [lines 1-2] The next of the sequence: unique across CPUs, never 0. */
NC_INLINE nc_u32 nc_next_req_id(struct nc_env *env)
{
	nc_u64 *sequence = nc_sequence_of(env);
	nc_u32 id;

	if (nc_never(!sequence))
		return 0;
	id = (nc_u32)(nc_increment(sequence) + 1);
	return nc_likely(id) ? id : (nc_u32)(nc_increment(sequence) + 1);
}

/* [line 3] An id is used up only by a request that goes out with it: this is done when the lines
 * below have decided. */
NC_INLINE nc_u64 nc_assign_req_id(struct nc_env *env, struct nc_header *h)
{
	return NC_WRITE32(h->req_id, nc_htonl(nc_next_req_id(env)));
}

/* [line 4] The candidates, first and second: GrpT[GRP]. */
NC_INLINE const struct nc_group *nc_candidates(struct nc_env *env, const struct nc_header *h)
{
	return nc_group_of(env, nc_ntohl(h->grp));
}

enum nc_usable {
	NC_FIRST_USABLE = 1,
	NC_SECOND_USABLE = 2,
	NC_BOTH_USABLE = 3,
};

/* An entry of AddrT with a known port and an address of the packet's IP version. */
NC_INLINE int nc_is_usable(const struct nc_server *s, int ip6)
{
	if (!s || !(s->flags & NC_SERVER_VALID) || !s->ifindex)
		return 0;
	return ip6 ? (s->ip6[0] | s->ip6[1] | s->ip6[2] | s->ip6[3]) != 0 : s->ip4 != 0;
}

/* [line 5] Which candidates AddrT has an address for. The chosen one's is written by nc_readdress:
 * the first's, unless an extension chooses otherwise. */
NC_INLINE nc_u32 nc_usable_of(struct nc_env *env, const struct nc_group *g, int ip6)
{
	return (nc_is_usable(nc_server_of(env, g->first), ip6) ? NC_FIRST_USABLE : 0) |
	       (nc_is_usable(nc_server_of(env, g->second), ip6) ? NC_SECOND_USABLE : 0);
}

/* [line 6] Both are idle. StateT is read twice: its shadow is for switches whose memory is read
 * once a packet. */
NC_INLINE int nc_are_idle(const nc_u32 *first_state, const nc_u32 *second_state)
{
	return *first_state == 0 && *second_state == 0;
}

/* CLO is the low byte of a 16-bit word whose high byte is reserved. */
NC_INLINE nc_u64 nc_write_clo(struct nc_header *h, enum nc_clo clo)
{
	nc_u64 diff = nc_diff16(nc_htons(h->clo), nc_htons(clo));

	h->clo = clo;
	return diff;
}

/* [lines 7-8] Marks the original, and notes for the clone which server it is for. */
NC_INLINE nc_u64 nc_mark_original(struct nc_header *h, nc_u32 clone_sid)
{
	nc_u64 diff = nc_write_clo(h, NC_CLO_ORIGINAL);

	return diff + NC_WRITE32(h->sid, nc_htonl(clone_sid));
}

/* [line 9] The original and the clone leave by the two ports of a group: of the request's, or, if
 * the original goes to the second candidate, of the same two servers in the other order
 * (2k+1 <-> 2k+2). */
NC_INLINE nc_u32 nc_clone_group(nc_u32 grp, int second)
{
	return second ? ((grp - 1) ^ 1) + 1 : grp;
}

/* ---- the clone, on its way out where the paper recirculates it: [lines 10-13] ---- */

/* [lines 10-12] */
NC_INLINE nc_u64 nc_mark_clone(struct nc_header *h)
{
	return nc_write_clo(h, NC_CLO_CLONE);
}

/* [line 13] The server that [line 8] noted: AddrT[SID]. */
NC_INLINE const struct nc_server *nc_clone_server(struct nc_env *env, const struct nc_header *h)
{
	return nc_server_of(env, nc_ntohl(h->sid));
}

/* ---- a response from a server: [lines 14-23] ---- */

/* [lines 14-16] StateT[SID] = STATE. Not written when equal, so that the cache line stays shared
 * between CPUs. */
NC_INLINE void nc_track_state(struct nc_env *env, const struct nc_header *h)
{
	nc_u32 *state = nc_state_of(env, nc_ntohl(h->sid)), reported = nc_ntohl(h->state);

	if (state && *state != reported)
		*(volatile nc_u32 *)state = reported;
}

/* [line 17] Only a cloned request has two responses. */
NC_INLINE int nc_is_of_cloned(const struct nc_header *h)
{
	return h->clo != NC_CLO_NONE && nc_likely(nc_is_identified(h));
}

/* [line 18] IDX picks the filter table, the fingerprint its slot. */
NC_INLINE nc_u64 *nc_filter_slot_of(struct nc_env *env, const struct nc_switch_config *cfg,
				    nc_u8 idx, nc_u64 fingerprint)
{
	return nc_filter_slot(env, idx * (cfg->filter_mask + 1) +
					   nc_slot(fingerprint, cfg->filter_mask));
}

/* [lines 19-23] The fingerprint is there: the slower response, which clears it and is dropped.
 * It is not: the faster one, which leaves it. One atomic swap decides between two that come
 * at once: exactly one finds the other's. Returns whether it is the slower one. */
NC_INLINE int nc_is_slower(nc_u64 *slot, nc_u64 fingerprint)
{
	if (!slot || nc_swap(slot, fingerprint) != fingerprint)
		return 0;
	nc_replace(slot, fingerprint, 0);
	return 1;
}

#endif
