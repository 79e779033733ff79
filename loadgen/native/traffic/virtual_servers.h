/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Servers with virtual workers: any number of servers in one thread, each a FCFS queue and W
 * workers whose service times pass by themselves, without using a processor. A request
 * that arrives while a worker is free starts at once; else it waits; its response is sent
 * when its service time is over. So a rack of 6 x 15 workers fits on two cores when time is
 * stretched. Workers that really work are in worker_threads.h.
 *
 * loadgen/traffic/virtual_servers.py fills the structs and calls lg_server_run() in a thread. */
#ifndef LG_SERVER_H
#define LG_SERVER_H

#include "lib/distribution.h"
#include "lib/histogram.h"
#include "io.h"
#include "server_counts.h"
#include "lib/stall.h"

enum lg_server_flags {
	/* Do what the server's program does: drop clones while the queue is not empty, write
	 * SID and STATE (af_xdp, whose packets pass no tc program, or no program attached). */
	LG_SERVER_STAMP = 1 << 0,
};

struct lg_server_node {
	struct lg_io *io;
	uint32_t workers;
	uint32_t sid;
	uint32_t flags;		      /* enum lg_server_flags */
	uint32_t queue_limit;	      /* requests that may wait; beyond it they are dropped */
	volatile uint32_t *app_state; /* gets the queue's length; NULL: nobody wants it */
	struct lg_dist service;
	/* results */
	struct lg_server_counts counts;
};

struct lg_server_config {
	struct lg_server_node *nodes;
	uint32_t n_nodes;
	uint32_t busy; /* 1: never sleep */
	uint64_t seed;
	const volatile uint32_t *stop;
	struct lg_hist *service;     /* drawn service times, of all nodes; NULL: not wanted */
	struct lg_hist *overrun;     /* response sent - service over; NULL: not wanted */
	struct lg_hist *arrival_gap; /* between two arrivals at a node in a row; NULL: not wanted */
	struct lg_stalls stalls;     /* of the machine; its `held` counts responses */
};

/* Runs until *stop. 0, or -errno when it could not begin. */
int lg_server_run(struct lg_server_config *config);

#endif
