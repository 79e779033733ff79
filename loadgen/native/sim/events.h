/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The event queue. Nearly every delay of the model is a constant, and a constant delay
 * keeps the order of what enters it: such events wait in a ring (struct sim_fifo) and need
 * no sorting. Only service times are random; their events wait in a 4-ary heap that never
 * holds more than the busy workers. The next event is the least of a few heads. */
#ifndef SIM_EVENTS_H
#define SIM_EVENTS_H

#include <stdint.h>
#include <stdlib.h>

/* Simulated time in 1/1024 ns; 64 bits last for 208 days. The low four bits are always 0:
 * they are room for the number of a source, so that the earliest event and where it comes
 * from are found by one minimum. */
typedef uint64_t sim_time;

#define SIM_TICKS_PER_NS 1024.0
#define SIM_SOURCE_MASK 15ULL
#define SIM_NEVER (UINT64_MAX & ~SIM_SOURCE_MASK)

static inline sim_time sim_from_ticks(double ticks)
{
	return (sim_time)(int64_t)ticks & ~SIM_SOURCE_MASK;
}

static inline sim_time sim_from_ns(double ns)
{
	return sim_from_ticks(ns * SIM_TICKS_PER_NS);
}

static inline uint64_t sim_to_ns(sim_time t)
{
	return t >> 10;
}

/* An event of a ring: packet `packet` arrives at `time`. */
struct sim_event {
	sim_time time;
	uint32_t packet; /* index into the packet pool */
	uint32_t where;	 /* server or rack, as the ring's handler reads it */
};

struct sim_fifo {
	struct sim_event *ring;
	uint32_t mask; /* capacity - 1, a power of two */
	uint32_t head; /* next to leave; both run freely and wrap */
	uint32_t tail; /* next free */
};

/* Returns 0, or -1 when there is no memory. */
static inline int sim_fifo_init(struct sim_fifo *f)
{
	f->mask = 255;
	f->head = f->tail = 0;
	f->ring = malloc((f->mask + 1) * sizeof(*f->ring));
	return f->ring ? 0 : -1;
}

int sim_fifo_grow(struct sim_fifo *f);

static inline int sim_fifo_push(struct sim_fifo *f, sim_time time, uint32_t packet, uint32_t where)
{
	if (__builtin_expect(f->tail - f->head > f->mask, 0) && sim_fifo_grow(f))
		return -1;
	f->ring[f->tail++ & f->mask] = (struct sim_event){time, packet, where};
	return 0;
}

static inline sim_time sim_fifo_next(const struct sim_fifo *f)
{
	return f->head == f->tail ? SIM_NEVER : f->ring[f->head & f->mask].time;
}

static inline struct sim_event sim_fifo_pop(struct sim_fifo *f)
{
	return f->ring[f->head++ & f->mask];
}

/* What a heap event means. */
enum sim_due_kind {
	SIM_DUE_DEPARTURE = 0,	/* a worker of `server` has finished `packet` */
	SIM_DUE_DISPATCHED = 1, /* the dispatcher of `server` has read `packet` */
	SIM_DUE_SLOT = 2,	/* the coordinator gives up on a copy sent to `server` */
	SIM_DUE_FAULT = 3,	/* the next fault of the plan happens */
};

struct sim_due {
	sim_time time;
	uint32_t packet;
	uint16_t server;
	uint16_t kind; /* enum sim_due_kind */
};

/* Implicit 4-ary heap, least time first. Entries of the same time leave in an order that
 * depends on nothing but the sequence of pushes, so a run is reproducible.
 * The root is at[3], so that four siblings share a cache line, and entries behind the last
 * are never due, so that the least of four siblings is found without a branch. */
struct sim_heap {
	struct sim_due *at;
	uint32_t end; /* one behind the last entry */
	uint32_t capacity;
};

enum {
	SIM_HEAP_ROOT = 3,
	SIM_CACHE_LINE = 64,
};

static inline uint32_t sim_heap_parent(uint32_t i)
{
	return i / 4 + 2;
}

static inline uint32_t sim_heap_first_child(uint32_t i)
{
	return 4 * (i - 2);
}

/* Room for `entries`; those that are free are never due. */
int sim_heap_resize(struct sim_heap *h, uint32_t entries);

static inline int sim_heap_init(struct sim_heap *h, uint32_t entries)
{
	h->at = NULL;
	h->end = SIM_HEAP_ROOT;
	return sim_heap_resize(h, entries + SIM_HEAP_ROOT);
}

/* SIM_NEVER when empty. */
static inline sim_time sim_heap_next(const struct sim_heap *h)
{
	return h->at[SIM_HEAP_ROOT].time;
}

static inline struct sim_due sim_heap_first(const struct sim_heap *h)
{
	return h->at[SIM_HEAP_ROOT];
}

static inline int sim_heap_push(struct sim_heap *h, struct sim_due due)
{
	uint32_t i = h->end;

	/* Four siblings must lie within the array. */
	if (__builtin_expect(i + 4 >= h->capacity, 0) && sim_heap_resize(h, 2 * h->capacity))
		return -1;
	h->end++;
	while (i > SIM_HEAP_ROOT) {
		uint32_t parent = sim_heap_parent(i);

		if (h->at[parent].time <= due.time)
			break;
		h->at[i] = h->at[parent];
		i = parent;
	}
	h->at[i] = due;
	return 0;
}

/* Pop and push in one go: `due` takes the root's place and sinks to its own. */
static inline void sim_heap_replace(struct sim_heap *h, struct sim_due due)
{
	struct sim_due *at = h->at;
	uint32_t i = SIM_HEAP_ROOT, end = h->end;

	for (;;) {
		uint32_t c = sim_heap_first_child(i), low, high;

		if (c >= end)
			break;
		low = c + (at[c + 1].time < at[c].time);
		high = c + 2 + (at[c + 3].time < at[c + 2].time);
		c = low ^ ((low ^ high) & -(uint32_t)(at[high].time < at[low].time));
		if (due.time <= at[c].time)
			break;
		at[i] = at[c];
		i = c;
	}
	at[i] = due;
}

static inline void sim_heap_pop(struct sim_heap *h)
{
	struct sim_due last = h->at[--h->end];

	h->at[h->end].time = SIM_NEVER;
	if (h->end > SIM_HEAP_ROOT)
		sim_heap_replace(h, last);
}

#endif
