/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which of the last 2^22 requests of a stream were answered: one bit each, 512 KiB. */
#ifndef LG_ANSWERED_H
#define LG_ANSWERED_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#define ANSWERED_LOG2 22
#define ANSWERED_SPAN (1ULL << ANSWERED_LOG2)

enum answer {
	ANSWER_FIRST,
	ANSWER_REDUNDANT,
	ANSWER_STALE, /* never sent, or so long ago that nobody knows */
};

struct answered {
	uint64_t *bits;
};

static inline int answered_init(struct answered *a)
{
	a->bits = calloc(ANSWERED_SPAN / 64, sizeof(uint64_t));
	return a->bits ? 0 : -ENOMEM;
}

static inline void answered_free(struct answered *a)
{
	free(a->bits);
}

static inline void answered_open(struct answered *a, uint64_t seq)
{
	a->bits[(seq & (ANSWERED_SPAN - 1)) / 64] &= ~(1ULL << (seq % 64));
}

/* `next` is the sequence number that comes next. */
static inline enum answer answered_take(struct answered *a, uint64_t next, uint64_t seq)
{
	uint64_t *word = &a->bits[(seq & (ANSWERED_SPAN - 1)) / 64], bit = 1ULL << (seq % 64);

	if (seq >= next || next - seq > ANSWERED_SPAN)
		return ANSWER_STALE;
	if (*word & bit)
		return ANSWER_REDUNDANT;
	*word |= bit;
	return ANSWER_FIRST;
}

#endif
