/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Multi-packet requests (section 3.7): [line 6] is asked for the packet that comes first, and the
 * cloned-request table holds its answer for the others of the message. Only an id that is the
 * client's ties packets together; without one they are not cloned. */
#ifndef NETCLONE_MULTI_PACKET_H
#define NETCLONE_MULTI_PACKET_H

#include "../algorithm1.h"

/* An entry of the cloned-request table: a request key and the choice that was made. */
#define NC_REQUEST_CHOICE_SHIFT NC_FP_FREE_SHIFT
#define NC_REQUEST_CHOICE_BITS (NC_CHOICE_BOTH | NC_CHOICE_SECOND)
#define NC_REQUEST_CHOICE ((nc_u64)NC_REQUEST_CHOICE_BITS << NC_REQUEST_CHOICE_SHIFT)
_Static_assert(NC_REQUEST_CHOICE == 3ULL << 59, "bit 59: cloned, bit 60: second chosen");

struct nc_message {
	nc_u64 *slot; /* 0: not such a packet */
	nc_u64 key;
	nc_u64 entry; /* what the slot holds */
};

NC_INLINE int nc_is_tied(const struct nc_header *h)
{
	return nc_is_multi_packet(h) && nc_has_client_id(h);
}

/* Slot of a request key in the tables of requests. */
NC_INLINE nc_u32 nc_request_index(nc_u64 key)
{
	return nc_slot(key, (1U << NC_REQUEST_SLOTS_LOG2) - 1);
}

/* The message that a tied packet belongs to. */
NC_INLINE void nc_find_message(struct nc_env *env, const struct nc_header *h, nc_u32 who,
			       struct nc_message *m)
{
	m->key = nc_request_key(h, who);
	m->slot = nc_request_slot(env, nc_request_index(m->key));
	if (m->slot)
		m->entry = *(volatile nc_u64 *)m->slot;
}

/* The choice that stands in the table for this message, as far as it can still be followed: the
 * one server of an uncloned request must be there; of a cloned one's two, either will do. */
NC_INLINE nc_u32 nc_chosen_before(const struct nc_message *m, nc_u32 usable)
{
	nc_u32 choice = (nc_u32)((m->entry & NC_REQUEST_CHOICE) >> NC_REQUEST_CHOICE_SHIFT);

	if (nc_likely(!m->slot) || (m->entry & ~NC_REQUEST_CHOICE) != m->key)
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
	nc_u64 expected = m->entry, bits = choice & NC_REQUEST_CHOICE_BITS;
	nc_u32 before;

	m->entry = nc_replace(m->slot, expected, m->key | bits << NC_REQUEST_CHOICE_SHIFT);
	if (nc_likely(m->entry == expected))
		return choice;
	before = nc_chosen_before(m, usable);
	return before == NC_CHOICE_NONE ? choice : before;
}

#endif
