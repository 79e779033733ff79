/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A server that really works: a dispatcher takes requests from a socket into one FCFS queue,
 * and worker threads take them from there (section 4 of the paper). What a worker does with a
 * request is an operation of its own: spin for a service time, or ask a store. */
#ifndef LG_WORKER_H
#define LG_WORKER_H

#include "lib/distribution.h"
#include "lib/histogram.h"
#include "io.h"
#include "server_counts.h"
#include "lib/stall.h"

struct lg_worker;

struct lg_worker_ops {
	/* Prepares one worker (its connection to the store); *context is its own. 0 or -errno. */
	int (*open)(void *shared, struct lg_worker *worker, void **context);
	/* Serves a request: reads the body, writes the response's status into it, may append
	 * to the payload (up to LG_PAYLOAD_MAX). Returns the response's length. */
	uint32_t (*serve)(void *context, struct lg_worker *worker, uint8_t *payload, uint32_t len);
	void (*close)(void *context);
};

struct lg_worker_config {
	int fd; /* UDP socket */
	uint32_t workers;
	uint32_t sid;
	uint32_t stamp; /* 1: drop clones while the queue is not empty, write SID and STATE */
	uint32_t queue_limit;
	uint32_t busy; /* 1: idle workers poll instead of sleeping */
	uint64_t seed;
	volatile uint32_t *app_state; /* gets the queue's length; NULL: nobody wants it */
	struct lg_dist service;	      /* of spinning workers */
	const volatile uint32_t *stop;
	/* results */
	struct lg_server_counts counts;
	struct lg_hist *service_seen; /* as measured around each service; NULL: not wanted */
	struct lg_stalls stalls;      /* of the machine, in a spin; `held` counts services */
	volatile uint32_t ready;      /* becomes 1 when all workers are there */
	uint32_t reserved;
};

/* Runs until *stop. 0, or -errno when it could not begin. */
int lg_worker_run(struct lg_worker_config *config, const struct lg_worker_ops *ops, void *shared);
/* The same with workers that spin until the drawn time has passed by the clock. */
int lg_spin_run(struct lg_worker_config *config);

/* What serve() may use. */
struct lg_rng *lg_worker_rng(struct lg_worker *worker);
struct lg_dist *lg_worker_service(struct lg_worker *worker);

#endif
