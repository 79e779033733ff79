/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Requests in flight at a server, counted without its help.
 *
 * A direct-mapped table holds one word per request: its key and the time slice it came in.
 * Beside it stand the counts of the last NC_INFLIGHT_SLICES slices. A response takes its
 * request's word away and lowers the count of that word's slice; a request that is never
 * answered drops out when its slice does. Each word has been counted exactly once before it
 * stands in the table, where another CPU may take it away at once: so no count goes below
 * zero, and none is left over.
 *
 * At most NC_INFLIGHT_SLICES - 1 slices are alive, so that a CPU that is about to lower
 * the oldest living one and a CPU that has just entered the next slice do not meet. */
#ifndef NETCLONE_INFLIGHT_H
#define NETCLONE_INFLIGHT_H

#include "fingerprint.h"
#include "table_access.h"

enum {
	NC_SLICE_BITS = 32, /* of a slice's number, in a table word: as many as its count has */
};

NC_INLINE nc_u32 nc_slice_now(struct nc_env *env, const struct nc_server_config *cfg)
{
	return (nc_u32)(nc_now_ns(env) >> (cfg->slice_shift & 63));
}

/* 48 bits, never 0. Ports and client ids are spread before they are added: clients that
 * count ids, ports and CLIENT_IDs up from the same start must not meet. */
NC_INLINE nc_u64 nc_inflight_key(const struct nc_header *h, nc_be32 client_ip, nc_be16 client_port)
{
	nc_u64 key = (nc_u64)client_ip << 32 | h->req_id;

	key += client_port * 0xbf58476d1ce4e5b9ULL;
	if (nc_unlikely(nc_has_client_id(h)))
		key += (h->client_id + 1U) * 0x94d049bb133111ebULL;
	key = nc_mix(key) >> 16;
	/* The low bits choose the slot. A client's ids that a switch counts up lie side by side
	 * in the table: one cache line serves the next requests too. */
	if (nc_likely(h->req_id && !nc_has_client_id(h))) {
		nc_u32 client = (client_ip + ((nc_u32)client_port << 13)) * 0x9e3779b1U;

		key = (key & ~0xffffULL) | ((nc_ntohl(h->req_id) + (client >> 16)) & 0xffff);
	}
	return key | 1ULL << 47; /* or a word of slice 0 could be that of an empty slot */
}

/* Age of a table word in slices: 2^32 of them are 99 days at the shortest timeout. */
NC_INLINE nc_u32 nc_slice_age(nc_u64 word, nc_u32 slice)
{
	return slice - (nc_u32)word;
}

/* What a request leaves in its slot. The slot tells the low 16 bits of the key. */
NC_INLINE nc_u64 nc_inflight_word(nc_u64 key, nc_u32 slice)
{
	return (key >> 16) << NC_SLICE_BITS | slice;
}

NC_INLINE nc_u64 *nc_inflight_slot_of(struct nc_env *env, nc_u64 key)
{
	return nc_inflight_slot(env, (nc_u32)key & ((1U << NC_INFLIGHT_SLOTS_LOG2) - 1));
}

NC_INLINE void nc_slice_add(struct nc_env *env, nc_u32 slice)
{
	struct nc_slices *slices = nc_slices_of(env);
	nc_u64 *count, old;

	if (!slices)
		return;
	count = &slices->slice[slice & (NC_INFLIGHT_SLICES - 1)];
	old = *(volatile nc_u64 *)count;
	/* The slot still counts a slice that is over: its leftovers are forgotten here. */
	if (nc_unlikely((nc_u32)(old >> 32) != slice))
		nc_replace(count, old, (nc_u64)slice << 32);
	nc_increment(count);
}

NC_INLINE void nc_slice_take(struct nc_env *env, nc_u32 slice)
{
	struct nc_slices *slices = nc_slices_of(env);
	nc_u64 *count, old;

	if (!slices)
		return;
	count = &slices->slice[slice & (NC_INFLIGHT_SLICES - 1)];
	old = *(volatile nc_u64 *)count;
	if ((nc_u32)(old >> 32) == slice && (nc_u32)old > 0)
		__sync_fetch_and_add(count, -1ULL);
}

NC_INLINE nc_u32 nc_inflight_total(struct nc_env *env, const struct nc_server_config *cfg,
				   nc_u32 slice)
{
	struct nc_slices *slices = nc_slices_of(env);
	nc_u32 total = 0;

	if (!slices)
		return 0;
	NC_UNROLL
	for (int i = 0; i < NC_INFLIGHT_SLICES; i++) {
		nc_u64 count = ((volatile struct nc_slices *)slices)->slice[i];

		if (slice - (nc_u32)(count >> 32) < cfg->slices)
			total += (nc_u32)count;
	}
	return total;
}

NC_INLINE int nc_inflight_is(nc_u64 word, const struct nc_server_config *cfg, nc_u64 key,
			     nc_u32 slice)
{
	return word >> NC_SLICE_BITS == key >> 16 && nc_slice_age(word, slice) < cfg->slices;
}

NC_INLINE int nc_inflight_has(struct nc_env *env, const struct nc_server_config *cfg, nc_u64 key,
			      nc_u32 slice)
{
	nc_u64 *slot = nc_inflight_slot_of(env, key);

	return slot && nc_inflight_is(*(volatile nc_u64 *)slot, cfg, key, slice);
}

NC_INLINE void nc_inflight_admit(struct nc_env *env, const struct nc_server_config *cfg, nc_u64 key,
				 nc_u32 slice)
{
	nc_u64 *slot = nc_inflight_slot_of(env, key), old;
	nc_u64 word = nc_inflight_word(key, slice);

	if (!slot)
		return;
	old = *(volatile nc_u64 *)slot;
	if (nc_unlikely(nc_inflight_is(old, cfg, key, slice)))
		return; /* another packet of it, or a retransmission */
	nc_slice_add(env, slice);
	if (nc_unlikely(nc_replace(slot, old, word) != old)) {
		/* Another CPU's request took the slot just now; only one is counted. */
		nc_slice_take(env, slice);
		return;
	}
	if (nc_unlikely(old && nc_slice_age(old, slice) < cfg->slices))
		nc_slice_take(env, slice - nc_slice_age(old, slice));
}

NC_INLINE void nc_inflight_finish(struct nc_env *env, const struct nc_server_config *cfg,
				  nc_u64 key, nc_u32 slice)
{
	nc_u64 *slot = nc_inflight_slot_of(env, key), old;

	if (!slot)
		return;
	old = *(volatile nc_u64 *)slot;
	if (!nc_inflight_is(old, cfg, key, slice) || nc_replace(slot, old, 0) != old)
		return;
	nc_slice_take(env, slice - nc_slice_age(old, slice));
}

#endif
