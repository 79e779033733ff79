/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Random draws, and the pools of packets and requests. */
#ifndef SIM_DRAW_H
#define SIM_DRAW_H

#include "sim_state.h"

static void sim_refill_gaps(struct sim *s)
{
	double mean = 1e9 / s->cfg->rate_rps * SIM_TICKS_PER_NS;

	for (int i = 0; i < SIM_BLOCK; i++)
		s->gap.value[i] = mean * lg_exponential(&s->rng[SIM_STREAM_ARRIVAL]);
	s->gap.used = 0;
}

/* Gap to the next request, in ticks: Poisson arrivals. */
static inline sim_time sim_draw_gap(struct sim *s)
{
	if (s->gap.used == SIM_BLOCK)
		sim_refill_gaps(s);
	return sim_from_ticks(s->gap.value[s->gap.used++]);
}

static void sim_refill_service(struct sim *s, uint32_t klass)
{
	struct sim_block *b = &s->service_block[klass];
	struct lg_rng *rng = &s->rng[SIM_STREAM_SERVICE];

	if (s->cfg->shared_service)
		for (int i = 0; i < SIM_BLOCK; i++)
			b->value[i] = lg_dist_base(&s->service[klass], rng);
	else
		for (int i = 0; i < SIM_BLOCK; i++)
			b->value[i] = lg_dist_sample(&s->service[klass], rng);
	b->used = 0;
}

/* A service time in ns: with jitter, or without it when copies share theirs. */
static inline double sim_draw_service(struct sim *s, uint32_t klass)
{
	struct sim_block *b = &s->service_block[klass];

	if (b->used == SIM_BLOCK)
		sim_refill_service(s, klass);
	return b->value[b->used++];
}

/* How long a worker needs for packet `p`. */
static inline double sim_service_of(struct sim *s, const struct sim_request *r)
{
	const struct lg_dist *d;

	if (!s->cfg->shared_service)
		return sim_draw_service(s, r->klass);
	/* What the request asks for is the same on every server; jitter is the server's. */
	d = &s->service[r->klass];
	if (d->jitter_bound && lg_rng_next(&s->rng[SIM_STREAM_SERVICE]) < d->jitter_bound)
		return r->shared_ns * d->jitter_factor;
	return r->shared_ns;
}

static inline uint8_t sim_draw_class(struct sim *s)
{
	uint64_t u;
	uint8_t k = 0;

	if (s->cfg->classes == 1)
		return 0;
	u = lg_rng_next(&s->rng[SIM_STREAM_CLASS]);
	while (k + 1u < s->cfg->classes && u >= s->class_upto[k])
		k++;
	return k;
}

/* One link traversed: true when it loses the packet. */
static inline int sim_link_loses(struct sim *s)
{
	return s->loss_bound && lg_rng_next(&s->rng[SIM_STREAM_LOSS]) < s->loss_bound;
}

static int sim_grow_packets(struct sim *s)
{
	uint32_t n = s->n_packets ? 2 * s->n_packets : 256;
	struct sim_packet *packets = realloc(s->packets, n * sizeof(*packets));

	if (!packets)
		return -1;
	s->packets = packets;
	for (uint32_t i = n; i-- > s->n_packets;) {
		packets[i].next = s->free_packet;
		s->free_packet = i;
	}
	s->n_packets = n;
	return 0;
}

static int sim_grow_requests(struct sim *s)
{
	uint32_t n = s->n_requests ? 2 * s->n_requests : 256;
	struct sim_request *requests = realloc(s->requests, n * sizeof(*requests));

	if (!requests)
		return -1;
	s->requests = requests;
	for (uint32_t i = n; i-- > s->n_requests;) {
		requests[i].next = s->free_request;
		s->free_request = i;
	}
	s->n_requests = n;
	return 0;
}

/* Room for one more request and `packets` packets, so that taking them cannot fail. */
static inline int sim_pool_reserve(struct sim *s, uint32_t packets)
{
	uint32_t p = s->free_packet;

	if (s->free_request == SIM_NONE && sim_grow_requests(s))
		return -1;
	for (; packets; packets--, p = s->packets[p].next)
		if (p == SIM_NONE)
			return sim_grow_packets(s);
	return 0;
}

static inline uint32_t sim_take_packet(struct sim *s)
{
	uint32_t p = s->free_packet;

	s->free_packet = s->packets[p].next;
	return p;
}

static inline uint32_t sim_take_request(struct sim *s)
{
	uint32_t r = s->free_request;

	s->free_request = s->requests[r].next;
	return r;
}

/* A packet has come to its end. With the last one of a request the request is settled:
 * without an answer it is lost. */
static inline void sim_release(struct sim *s, uint32_t p)
{
	struct sim_packet *packet = &s->packets[p];
	uint32_t index = packet->request;
	struct sim_request *r = &s->requests[index];

	packet->next = s->free_packet;
	s->free_packet = p;
	if (--r->copies)
		return;
	if (!r->answered) {
		sim_area_down(&s->in_system, s->now);
		if (r->measured) {
			s->res->lost++;
			s->unsettled--;
		}
	}
	r->next = s->free_request;
	s->free_request = index;
}

static void sim_coordinator_waits(struct sim *s, uint32_t sid);

/* A packet is dropped on its way: nobody hears of it, least of all a coordinator. */
static inline void sim_drop(struct sim *s, uint32_t p)
{
	if (s->cfg->scheme == SIM_LAEDGE && s->packets[p].server != SIM_NONE)
		sim_coordinator_waits(s, s->packets[p].server);
	sim_release(s, p);
}

static inline void sim_lose(struct sim *s, uint32_t p)
{
	if (s->in_window)
		s->res->packets_lost++;
	sim_drop(s, p);
}

/* The packet enters the constant delay `source` at `at` (never earlier than the last). */
static inline void sim_send(struct sim *s, enum sim_source source, sim_time at, uint32_t p,
			    uint32_t where)
{
	struct sim_fifo *f = &s->fifo[source];
	sim_time due = at + s->delay[source];

	if (f->head == f->tail)
		sim_set_next(s, source, due);
	if (sim_fifo_push(f, due, p, where))
		s->out_of_memory = 1;
}

#endif
