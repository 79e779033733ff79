/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Servers with a free slot: one at random, in constant time. */
#ifndef LG_IDLE_SET_H
#define LG_IDLE_SET_H

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "lib/rng.h"

struct idle_set {
	uint32_t count;	      /* servers with a free slot */
	uint32_t *server;     /* they, in no order */
	uint32_t *place;      /* of each server in server[], where it has a free slot */
	uint32_t *free_slots; /* by server */
};

static inline int idle_set_init(struct idle_set *s, uint32_t n)
{
	s->count = 0;
	s->server = calloc(n, sizeof(*s->server));
	s->place = calloc(n, sizeof(*s->place));
	s->free_slots = calloc(n, sizeof(*s->free_slots));
	return s->server && s->place && s->free_slots ? 0 : -ENOMEM;
}

static inline void idle_set_free(struct idle_set *s)
{
	free(s->server);
	free(s->place);
	free(s->free_slots);
}

static inline void idle_set_add(struct idle_set *s, uint32_t server, uint32_t slots)
{
	if (slots && !s->free_slots[server]) {
		s->place[server] = s->count;
		s->server[s->count++] = server;
	}
	s->free_slots[server] += slots;
}

static inline void idle_set_release(struct idle_set *s, uint32_t server)
{
	idle_set_add(s, server, 1);
}

/* Takes a slot of a random server other than `except` (UINT32_MAX: any). There must be one. */
static inline uint32_t idle_set_pick(struct idle_set *s, struct lg_rng *rng, uint32_t except)
{
	uint32_t at, server;
	int excluded = except != UINT32_MAX && s->free_slots[except];

	at = lg_rng_below(rng, s->count - (uint32_t)excluded);
	if (excluded && at >= s->place[except])
		at++;
	server = s->server[at];
	if (--s->free_slots[server] == 0) {
		s->server[at] = s->server[--s->count];
		s->place[s->server[at]] = at;
	}
	return server;
}

#endif
