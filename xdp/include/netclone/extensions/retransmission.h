/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Retransmissions: a request that is cloned, in [lines 7-9], clears the fingerprint that its past
 * self may have left, and what [lines 19-23] compare carries the attempt.
 *
 * A request whose id is the client's may be sent again, whole or in part, and a response of any
 * number of packets to the earlier attempt may have left one fingerprint per packet. So these
 * fingerprints carry how often packets of the request were cloned. Requests that share a slot of
 * that count can only let a slower response pass. */
#ifndef NETCLONE_RETRANSMISSION_H
#define NETCLONE_RETRANSMISSION_H

#include "multi_packet.h"

NC_INLINE nc_u64 *nc_attempts_of(struct nc_env *env, const struct nc_header *h, nc_u32 who)
{
	return nc_attempt_slot(env, nc_request_index(nc_request_key(h, who)));
}

/* What a tied packet leaves in a filter table. The slot tells the low bits of REQ_ID as well, so
 * the count is laid over them, and over the bits that are free. */
NC_INLINE nc_u64 nc_fingerprint_of_attempt(struct nc_env *env, const struct nc_switch_config *cfg,
					   const struct nc_header *h, nc_u32 who,
					   nc_u64 fingerprint)
{
	nc_u64 *attempts = nc_attempts_of(env, h, who);

	if (attempts) {
		nc_u64 count = *(volatile nc_u64 *)attempts, slots = cfg->filter_mask + 1ULL;

		fingerprint ^= (count & cfg->filter_mask) ^ count / slots << NC_FP_FREE_SHIFT;
	}
	return fingerprint;
}

/* An id of the sequence may have come round again, too. `held` is what the packet with this
 * fingerprint leaves in its slot. */
NC_INLINE void nc_clear_past(struct nc_env *env, const struct nc_switch_config *cfg,
			     const struct nc_header *h, nc_u64 fingerprint, nc_u64 held)
{
	nc_u64 *slot = nc_filter_slot_of(env, cfg, h->idx, fingerprint);

	if (slot && *(volatile nc_u64 *)slot == held)
		nc_replace(slot, held, 0);
}

/* A packet with the client's id is cloned. */
NC_INLINE void nc_note_attempt(struct nc_env *env, const struct nc_switch_config *cfg,
			       const struct nc_header *h, nc_u32 who)
{
	nc_u64 key, *attempts;

	if (nc_is_multi_packet(h)) { /* its response may be a single packet */
		key = nc_request_key(h, who);
		nc_clear_past(env, cfg, h, key, key);
	}
	/* A plain store: an update lost to another CPU's has the same effect. */
	attempts = nc_attempts_of(env, h, who);
	if (attempts)
		++*(volatile nc_u64 *)attempts;
}

#endif
