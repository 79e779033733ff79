/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Gathers what a server or coordinator sends into batches of the back end. */
#ifndef LG_OUTBOX_H
#define LG_OUTBOX_H

#include <sched.h>

#include "io.h"

/* A back end that takes nothing for so many tries loses what waits: a link that is down
 * must not stop the loop. */
#define OUTBOX_TRIES 1000

struct outbox {
	struct lg_io *io;
	uint64_t *errors; /* counts what could not be sent */
	uint32_t n;	  /* prepared in io->tx */
	uint32_t room;	  /* of io->tx, from the last reserve() */
};

static inline void outbox_init(struct outbox *o, struct lg_io *io, uint64_t *errors)
{
	*o = (struct outbox){.io = io, .errors = errors};
}

static inline void outbox_flush(struct outbox *o)
{
	uint32_t from = 0;
	int tries = 0;

	while (from < o->n) {
		int sent = o->io->ops->commit(o->io, from, o->n);

		if (sent > 0) {
			from += (uint32_t)sent;
		} else if (sent < 0 || ++tries > OUTBOX_TRIES) {
			++*o->errors;
			from++;
		} else {
			sched_yield();
		}
	}
	o->n = 0;
	o->room = 0;
}

/* The next packet to fill in; NULL: the back end is full, and the packet is lost. */
static inline struct lg_tx *outbox_next(struct outbox *o)
{
	if (o->n == o->room) {
		outbox_flush(o);
		for (int tries = 0; !o->room && tries < OUTBOX_TRIES; tries++) {
			o->room = o->io->ops->reserve(o->io, LG_IO_BATCH);
			if (!o->room)
				sched_yield();
		}
		if (!o->room) {
			++*o->errors;
			return NULL;
		}
	}
	return &o->io->tx[o->n++];
}

#endif
