/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Workers that ask a key-value store over a unix socket, each with a connection of its own.
 * Every reply is compared with what must be there, byte for byte. */
#ifndef LG_STORE_H
#define LG_STORE_H

#include "worker_threads.h"

enum lg_store_kind {
	LG_STORE_REDIS = 0,
	LG_STORE_MEMCACHED,
};

struct lg_store_config {
	uint32_t kind; /* enum lg_store_kind */
	uint32_t reserved;
	const char *socket_path;
	uint64_t objects;
	uint64_t timeout_ns; /* of one operation */
};

/* As lg_worker_run. */
int lg_store_run(struct lg_worker_config *config, struct lg_store_config *store);

#endif
