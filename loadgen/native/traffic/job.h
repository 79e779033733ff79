/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A request at its server, the FCFS queue that it waits in, and the order in which the
 * services of all virtual workers end. */
#ifndef LG_JOB_H
#define LG_JOB_H

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "io.h"

/* What a response can carry back; a longer request is answered with its beginning. */
#define LG_JOB_DATA 256

struct job {
	uint64_t end_ns; /* in service: when it is over */
	uint64_t arrived_ns;
	uint32_t node;
	uint32_t len;
	struct lg_peer peer;
	uint8_t data[LG_JOB_DATA];
};

static inline void job_set(struct job *j, uint32_t node, const struct lg_rx *rx)
{
	j->node = node;
	j->arrived_ns = rx->ns;
	j->peer = rx->peer;
	j->len = rx->len < LG_JOB_DATA ? rx->len : LG_JOB_DATA;
	memcpy(j->data, rx->data, j->len);
}

/* Ring that grows by doubling. */
struct job_queue {
	struct job **ring;
	size_t size, head, count;
};

static inline int job_queue_push(struct job_queue *q, struct job *j)
{
	if (q->count == q->size) {
		size_t size = q->size ? 2 * q->size : 64;
		struct job **ring = malloc(size * sizeof(*ring));

		if (!ring)
			return -ENOMEM;
		for (size_t i = 0; i < q->count; i++)
			ring[i] = q->ring[(q->head + i) & (q->size - 1)];
		free(q->ring);
		q->ring = ring;
		q->size = size;
		q->head = 0;
	}
	q->ring[(q->head + q->count++) & (q->size - 1)] = j;
	return 0;
}

static inline struct job *job_queue_pop(struct job_queue *q)
{
	struct job *j = q->ring[q->head];

	q->head = (q->head + 1) & (q->size - 1);
	q->count--;
	return j;
}

/* Binary heap by end_ns. */
struct job_heap {
	struct job **at;
	size_t size, count;
};

static inline int job_heap_init(struct job_heap *h, size_t size)
{
	h->at = calloc(size, sizeof(*h->at));
	h->size = size;
	h->count = 0;
	return h->at ? 0 : -ENOMEM;
}

static inline void job_heap_push(struct job_heap *h, struct job *j)
{
	size_t i = h->count++;

	while (i && h->at[(i - 1) / 2]->end_ns > j->end_ns) {
		h->at[i] = h->at[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	h->at[i] = j;
}

static inline struct job *job_heap_pop(struct job_heap *h)
{
	struct job *top = h->at[0], *last = h->at[--h->count];
	size_t i = 0;

	for (;;) {
		size_t child = 2 * i + 1;

		if (child >= h->count)
			break;
		if (child + 1 < h->count && h->at[child + 1]->end_ns < h->at[child]->end_ns)
			child++;
		if (h->at[child]->end_ns >= last->end_ns)
			break;
		h->at[i] = h->at[child];
		i = child;
	}
	h->at[i] = last;
	return top;
}

#endif
