/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What every kind of server counts. received = answered + clones_dropped + rejected + pings +
 * abandoned. */
#ifndef LG_SERVER_COUNTS_H
#define LG_SERVER_COUNTS_H

#include <stdint.h>

struct lg_server_counts {
	uint64_t received; /* requests */
	uint64_t answered, clones_dropped;
	uint64_t rejected; /* found the queue full */
	uint64_t invalid;  /* packets that are no requests */
	uint64_t pings, send_errors;
	uint64_t max_queue;
	uint64_t busy_ns;   /* service time of all started requests */
	uint64_t abandoned; /* waited or were in service at the end */
};

#endif
