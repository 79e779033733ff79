/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The LAEDGE coordinator (section 2.2 of the paper; Primorac et al., NSDI 2021): requests go
 * through it, and so do all responses, redundant ones too. A server with a free slot is
 * idle. Two idle servers: the request is cloned to two of them at random; one: forwarded to
 * it; none: it waits, first come first served, for the next response.
 *
 * Requests leave with NO_CLONE and an id of the coordinator's (CLIENT_ID_VALID, so that the
 * switch leaves it alone); the client gets its own header fields back. */
#ifndef LG_COORDINATOR_H
#define LG_COORDINATOR_H

#include "io.h"

struct lg_coordinator_server {
	struct lg_peer peer;
	uint32_t slots; /* requests that may be at the server at once */
	/* results */
	uint32_t in_use; /* slots in use at the end */
	uint64_t sent, answered;
};

struct lg_coordinator_config {
	struct lg_io *io;
	struct lg_coordinator_server *servers;
	uint32_t n_servers;
	uint32_t busy; /* 1: never sleep */
	uint64_t seed;
	uint64_t timeout_ns; /* an unanswered packet gives its slot back after this */
	uint32_t queue_limit;
	uint32_t client_id; /* tells coordinators apart at the servers */
	const volatile uint32_t *stop;
	/* results */
	uint64_t requests, cloned, forwarded, queued, rejected;
	uint64_t first_responses, redundant_responses, stale_responses;
	uint64_t timeouts, invalid, send_errors, max_queue;
	uint64_t cpu_ns; /* processor time of the thread while it ran */
};

/* Runs until *stop. 0, or -errno when it could not begin. */
int lg_coordinator_run(struct lg_coordinator_config *config);

#endif
