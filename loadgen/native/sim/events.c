/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "events.h"

#include <stdlib.h>

int sim_fifo_grow(struct sim_fifo *f)
{
	uint32_t size = f->mask + 1, i;
	struct sim_event *ring = malloc(2 * (size_t)size * sizeof(*ring));

	if (!ring)
		return -1;
	for (i = 0; i < size; i++)
		ring[i] = f->ring[(f->head + i) & f->mask];
	free(f->ring);
	f->ring = ring;
	f->mask = 2 * size - 1;
	f->head = 0;
	f->tail = size;
	return 0;
}

int sim_heap_resize(struct sim_heap *h, uint32_t entries)
{
	uint32_t capacity = (entries + 15) & ~7u;
	struct sim_due *at = aligned_alloc(SIM_CACHE_LINE, capacity * sizeof(*at));

	if (!at)
		return -1;
	for (uint32_t i = 0; i < capacity; i++)
		at[i] = i < h->end && h->at ? h->at[i] : (struct sim_due){.time = SIM_NEVER};
	free(h->at);
	h->at = at;
	h->capacity = capacity;
	return 0;
}
