/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One stream at work: what its parts share. client_send.c turns the schedule into packets,
 * client_receive.c takes the answers, client.c is the loop around them. */
#ifndef LG_CLIENT_STATE_H
#define LG_CLIENT_STATE_H

#include <stdbool.h>

#include "answered_set.h"
#include "client.h"
#include "client_trace.h"

/* A packet that is prepared in io->tx and not yet sent; the back end may take its memory away
 * when it is. */
struct pending {
	uint64_t sched_ns;
	bool clone; /* the second packet of c-clone */
};

struct client {
	const struct lg_client_config *cfg;
	struct lg_client_result *res;
	struct lg_rng rng;
	struct lg_dist gap, service;
	struct answered answered;
	struct lg_trace trace;
	double next_ns;		  /* schedule, relative to start_ns */
	double previous_sched_ns; /* of the last scheduled request; -1: none */
	uint32_t burst_left;
	uint64_t seq;		    /* next request */
	uint64_t window_ns, end_ns; /* absolute: the measured window is [window, end) */
	uint64_t send_until_ns;
	uint64_t cpu_start_ns;
	uint64_t all_answered;	/* warm-up included */
	uint32_t tx_from, tx_n; /* packets prepared and not yet sent */
	struct pending pending[LG_IO_BATCH];
	_Alignas(8) uint8_t template[LG_PAYLOAD_LEN];
	uint64_t last_rx_ns;
	uint64_t last_unheld_ns; /* the last send, at its due time if a stall held it */
	uint32_t received;	 /* packets, since the last look for stalls */
	uint64_t forgiven;	 /* considered lost, by LG_CLIENT_SATURATE */
};

static inline bool is_measured(const struct client *c, uint64_t sched_ns)
{
	return sched_ns >= c->window_ns && sched_ns < c->end_ns;
}

static inline bool saturates(const struct client *c)
{
	return c->cfg->flags & LG_CLIENT_SATURATE;
}

/* When the next request is due. */
static inline uint64_t due_ns(const struct client *c)
{
	return c->cfg->start_ns + (uint64_t)c->next_ns;
}

/* The schedule goes on to the next request. */
static inline void advance(struct client *c)
{
	if (saturates(c))
		return; /* there is no schedule */
	if (c->previous_sched_ns >= 0)
		lg_hist_add(&c->res->sched_gap, (uint64_t)(c->next_ns - c->previous_sched_ns));
	c->previous_sched_ns = c->next_ns;
	if (--c->burst_left == 0) {
		c->next_ns += lg_dist_base(&c->gap, &c->rng);
		c->burst_left = c->cfg->burst;
	}
}

/* What all requests of the stream have in common. */
void client_make_template(struct client *c);
/* Prepares every request that is due, up to a batch; returns how many. */
uint32_t client_prepare(struct client *c, uint64_t now_ns);
/* Sends what is prepared, as far as the back end takes it. */
void client_push(struct client *c);
/* Takes the answers that are there; returns how many packets came. */
uint32_t client_receive(struct client *c);

#endif
