/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The filter tables (FilterT): which cloned requests have been answered; lines 17-23 of
 * Algorithm 1, sections 3.5 and 3.7. */
#ifndef NETCLONE_FILTER_H
#define NETCLONE_FILTER_H

#include "identity.h"
#include "table_access.h"

NC_INLINE nc_u64 *nc_filter_slot_of(struct nc_env *env, const struct nc_switch_config *cfg,
				    nc_u8 idx, nc_u64 fingerprint)
{
	return nc_filter_slot(env, idx * (cfg->filter_mask + 1) +
					   nc_slot(fingerprint, cfg->filter_mask));
}

/* ---- a request whose id is the client's may be sent again, whole or in part, and a response of
 * any number of packets to the earlier attempt may have left a fingerprint a packet. So these
 * fingerprints carry how often packets of the request were cloned. Requests that share a slot
 * of that count can only let a slower response pass. ---- */

NC_INLINE nc_u64 *nc_attempts_of(struct nc_env *env, const struct nc_header *h)
{
	nc_u64 key = nc_request_key(NC_WAY_ANY, h, nc_ntohl(h->req_id));

	return nc_attempt_slot(env, nc_request_index(key));
}

/* What a packet leaves in a filter table. The slot tells the low bits of REQ_ID as well, so
 * the count is laid over them, and over the five bits that are free. */
NC_INLINE nc_u64 nc_held_fingerprint(enum nc_way way, struct nc_env *env,
				     const struct nc_switch_config *cfg, const struct nc_header *h,
				     nc_u64 fingerprint)
{
	nc_u64 *attempts;

	if (!nc_extension(way, nc_is_multi_packet(h) && nc_has_client_id(h)))
		return fingerprint;
	attempts = nc_attempts_of(env, h);
	if (attempts) {
		nc_u64 count = *(volatile nc_u64 *)attempts, slots = cfg->filter_mask + 1ULL;

		fingerprint ^= (count & cfg->filter_mask) ^ count / slots << NC_FP_ATTEMPT_SHIFT;
	}
	return fingerprint;
}

NC_INLINE void nc_filter_clear(struct nc_env *env, const struct nc_switch_config *cfg,
			       const struct nc_header *h, nc_u64 fingerprint, nc_u64 held)
{
	nc_u64 *slot = nc_filter_slot_of(env, cfg, h->idx, fingerprint);

	if (slot && *(volatile nc_u64 *)slot == held)
		nc_replace(slot, held, 0);
}

/* A request that is being cloned must not find its past self: an id that has come round
 * again, or a retransmission. */
NC_INLINE void nc_filter_open(enum nc_way way, struct nc_env *env,
			      const struct nc_switch_config *cfg, const struct nc_header *h,
			      nc_u32 req_id)
{
	nc_u64 fingerprint = nc_fingerprint(way, h, req_id), key, *attempts;

	nc_filter_clear(env, cfg, h, fingerprint,
			nc_held_fingerprint(way, env, cfg, h, fingerprint));
	if (!nc_extension(way, nc_has_client_id(h)))
		return;
	if (nc_is_multi_packet(h)) { /* its response may be a single packet */
		key = nc_request_key(way, h, req_id);
		nc_filter_clear(env, cfg, h, key, key);
	}
	/* A plain store: an update lost to another CPU's has the same effect. */
	attempts = nc_attempts_of(env, h);
	if (attempts)
		++*(volatile nc_u64 *)attempts;
}

/* Lines 17-23. One atomic swap decides between two responses that come at once: exactly
 * one of them finds the other's fingerprint. */
NC_INLINE enum nc_counter nc_filter_response(enum nc_way way, struct nc_env *env,
					     const struct nc_switch_config *cfg,
					     const struct nc_header *h)
{
	nc_u64 fingerprint = nc_fingerprint(way, h, nc_ntohl(h->req_id));
	nc_u64 held = nc_held_fingerprint(way, env, cfg, h, fingerprint);
	nc_u64 *slot = nc_filter_slot_of(env, cfg, h->idx, fingerprint);

	if (!slot || nc_swap(slot, held) != held)
		return NC_CTR_response_first;
	nc_replace(slot, held, 0);
	return NC_CTR_filtered_slower_response;
}

#endif
