// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Two CPUs at a server's requests in flight: arrivals and answers, millions of them, on a few
 * slots that all of them share. Afterwards, and whenever it is asked meanwhile, the count must be
 * in order: never below zero, and in the end the number of entries that live. Prints both; status
 * 1 if they differ. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "netclone/inflight.h"

#include "netclone.h"

enum {
	ROUNDS = 2000000, /* of each thread */
	THREADS = 2,
	SLOTS = 2,
	KEYS = 8, /* four to a slot */
	SLICE = 5,
};

struct worker {
	struct nc_env *node;
	nc_u32 random;
	nc_u32 highest; /* count that was ever seen */
};

static void *work(void *argument)
{
	struct worker *worker = argument;
	struct nc_env *node = worker->node;
	const struct nc_server_config *cfg = nc_server_cfg_of(node);

	for (int i = 0; i < ROUNDS; i++) {
		nc_u32 which = (worker->random = worker->random * 1664525 + 1013904223) >> 24;
		nc_u64 key = (nc_u64)(1 + which % KEYS) << 20 | which % SLOTS;
		nc_u32 total;

		if (which & 0x80)
			nc_inflight_admit(node, cfg, key, SLICE);
		else
			nc_inflight_finish(node, cfg, key, SLICE);
		total = nc_inflight_total(node, cfg, SLICE);
		if (total > worker->highest)
			worker->highest = total;
	}
	return NULL;
}

int main(void)
{
	const struct nc_server_config cfg = {.workers = 1, .slices = NC_INFLIGHT_SLICES - 1};
	struct nc_env *node = nc_native_server(&cfg);
	struct worker workers[THREADS];
	pthread_t threads[THREADS];
	nc_u32 live = 0, counted, highest = 0;

	if (!node)
		return 2;
	for (int i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){node, (nc_u32)i + 1, 0};
		if (pthread_create(&threads[i], NULL, work, &workers[i]) != 0)
			return 2;
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		highest = workers[i].highest > highest ? workers[i].highest : highest;
	}
	for (nc_u64 slot = 0; slot < SLOTS; slot++)
		live += *nc_inflight_slot_of(node, slot) != 0;
	counted = nc_inflight_total(node, &cfg, SLICE);
	printf("%u live, %u counted, at most %u seen\n", live, counted, highest);
	nc_native_free(node);
	/* One more for each thread that is just between its count and its slot. */
	return live == counted && highest <= SLOTS + THREADS ? 0 : 1;
}
