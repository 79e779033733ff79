/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The simulator's main loop, and what is set up before it. */
#include "sim.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "coordinator.h"
#include "draw.h"
#include "fault.h"
#include "pool.h"
#include "rack.h"
#include "server.h"

static uint32_t ring_mask(uint32_t at_least)
{
	uint32_t mask = 1;

	while (mask < at_least)
		mask = 2 * mask + 1;
	return mask;
}

static int set_up_servers(struct sim *s)
{
	const struct sim_config *cfg = s->cfg;
	uint32_t mask = ring_mask(cfg->queue_limit), total = 0;

	s->servers = calloc(cfg->servers, sizeof(*s->servers));
	if (!s->servers)
		return -ENOMEM;
	for (uint32_t i = 0; i < cfg->servers; i++) {
		struct sim_server *v = &s->servers[i];

		v->workers = cfg->workers[i];
		v->slots = cfg->coordinator_slots ? cfg->coordinator_slots : v->workers;
		v->rack = i % cfg->racks;
		v->up = 1;
		v->mask = mask;
		v->queue = malloc(((size_t)mask + 1) * sizeof(*v->queue));
		if (!v->queue || sim_server_init(&v->host, cfg, i))
			return -ENOMEM;
		total += v->workers;
	}
	s->coordinator.mask = mask;
	s->coordinator.queue = malloc(((size_t)mask + 1) * sizeof(*s->coordinator.queue));
	return s->coordinator.queue && !sim_heap_init(&s->heap, total + 64) ? 0 : -ENOMEM;
}

static int set_up_hosts(struct sim *s)
{
	const struct sim_config *cfg = s->cfg;

	s->n_client_hosts = SIM_CLIENT_HOSTS / cfg->racks * cfg->racks;
	if (s->n_client_hosts > cfg->clients)
		s->n_client_hosts = cfg->clients;
	s->clients = calloc(cfg->clients, sizeof(*s->clients));
	s->client_hosts = calloc(s->n_client_hosts, sizeof(*s->client_hosts));
	s->racks = calloc(cfg->racks, sizeof(*s->racks));
	if (!s->clients || !s->client_hosts || !s->racks)
		return -ENOMEM;
	for (uint32_t i = 0; i < cfg->clients; i++) {
		s->clients[i].rack = i % cfg->racks;
		s->clients[i].host = &s->client_hosts[i % s->n_client_hosts];
	}
	for (uint32_t i = 0; i < s->n_client_hosts; i++)
		if (sim_client_init(&s->client_hosts[i], cfg, i))
			return -ENOMEM;
	for (uint32_t i = 0; i < cfg->racks; i++) {
		s->racks[i].up = 1;
		if (sim_switch_init(&s->racks[i].host, cfg, i))
			return -ENOMEM;
	}
	return 0;
}

static void set_up_delays(struct sim *s)
{
	const struct sim_config *cfg = s->cfg;
	sim_time between = sim_from_ns(cfg->aggregation_ns);

	s->link = sim_from_ns(cfg->link_ns);
	s->pass = sim_from_ns(cfg->switch_ns);
	s->delay[SIM_TO_SERVER] = s->pass + s->link;
	s->delay[SIM_TO_SERVER_CLONE] = s->delay[SIM_TO_SERVER] + s->pass;
	s->delay[SIM_TO_SERVER_FAR] = s->delay[SIM_TO_SERVER] + between + s->pass;
	s->delay[SIM_TO_SERVER_FAR_CLONE] = s->delay[SIM_TO_SERVER_FAR] + s->pass;
	s->delay[SIM_TO_SWITCH] = s->link;
	s->delay[SIM_TO_SWITCH_FAR] = s->link + s->pass + between;
}

static void set_up_draws(struct sim *s)
{
	const struct sim_config *cfg = s->cfg;
	double upto = 0;

	for (uint64_t i = 0; i < SIM_STREAMS; i++)
		lg_rng_seed(&s->rng[i], cfg->seed, i);
	s->gap.used = SIM_BLOCK;
	for (uint32_t k = 0; k < cfg->classes; k++) {
		s->service[k] = cfg->klass[k].service;
		lg_dist_start(&s->service[k], &s->rng[SIM_STREAM_SERVICE]);
		s->service_block[k].used = SIM_BLOCK;
		upto += cfg->klass[k].share;
		s->class_upto[k] = upto >= 1 ? UINT64_MAX : (uint64_t)(upto * 0x1.0p64);
	}
	s->loss_bound = cfg->loss >= 1 ? UINT64_MAX : (uint64_t)(cfg->loss * 0x1.0p64);
}

static int set_up(struct sim *s)
{
	s->free_packet = s->free_request = SIM_NONE;
	for (int i = 0; i < SIM_SOURCES; i++) {
		sim_set_next(s, i, SIM_NEVER);
		if (i >= SIM_TO_SERVER && sim_fifo_init(&s->fifo[i]))
			return -ENOMEM;
	}
	set_up_delays(s);
	set_up_draws(s);
	if (set_up_servers(s) || set_up_hosts(s))
		return -ENOMEM;
	sim_set_next(s, SIM_ARRIVAL, s->link + sim_draw_gap(s));
	return 0;
}

static void tear_down(struct sim *s)
{
	for (int i = SIM_TO_SERVER; i < SIM_SOURCES; i++)
		free(s->fifo[i].ring);
	for (uint32_t i = 0; s->servers && i < s->cfg->servers; i++) {
		free(s->servers[i].queue);
		sim_host_free(&s->servers[i].host);
	}
	for (uint32_t i = 0; s->client_hosts && i < s->n_client_hosts; i++)
		sim_host_free(&s->client_hosts[i]);
	for (uint32_t i = 0; s->racks && i < s->cfg->racks; i++)
		sim_host_free(&s->racks[i].host);
	free(s->coordinator.queue);
	free(s->heap.at);
	free(s->servers);
	free(s->clients);
	free(s->client_hosts);
	free(s->racks);
	free(s->packets);
	free(s->requests);
	free(s);
}

static inline struct sim_event take_event(struct sim *s, enum sim_source source)
{
	struct sim_event e = sim_fifo_pop(&s->fifo[source]);

	sim_set_next(s, source, sim_fifo_next(&s->fifo[source]));
	return e;
}

/* Which is less cannot be predicted, so no branch: a mask picks. */
static inline sim_time min_of(sim_time a, sim_time b)
{
	return b ^ ((a ^ b) & -(sim_time)(a < b));
}

/* Time of the servers' earliest event, and in the low bits its source. */
static inline sim_time earliest_at_servers(const struct sim *s)
{
	const sim_time *n = s->next;
	sim_time at = min_of(n[SIM_DUE], min_of(n[SIM_TO_SERVER], n[SIM_TO_SERVER_CLONE]));

	if (s->cfg->racks == 1)
		return at;
	return min_of(at, min_of(n[SIM_TO_SERVER_FAR], n[SIM_TO_SERVER_FAR_CLONE]));
}

static inline sim_time earliest_response(const struct sim *s)
{
	return min_of(s->next[SIM_TO_SWITCH], s->next[SIM_TO_SWITCH_FAR]);
}

static inline void handle_response(struct sim *s, sim_time first)
{
	struct sim_event e = take_event(s, first & SIM_SOURCE_MASK);

	s->now = first & ~SIM_SOURCE_MASK;
	s->res->total_events++;
	if (s->cfg->scheme == SIM_LAEDGE)
		sim_coordinator_response(s, e.packet);
	else
		sim_rack_response(s, e.packet, e.where);
}

/* Responses that reach their switch before `until`. They concern nothing but the switches
 * and the clients, so they may wait until the next request asks for the switches' tables. */
static inline void run_responses(struct sim *s, sim_time until)
{
	sim_time first;

	while ((first = earliest_response(s)) < until)
		handle_response(s, first);
}

static inline void handle_due(struct sim *s)
{
	struct sim_due due = sim_heap_first(&s->heap);

	if (due.kind == SIM_DUE_DEPARTURE) {
		sim_server_depart(s);
		return;
	}
	sim_heap_pop(&s->heap);
	sim_set_next(s, SIM_DUE, sim_heap_next(&s->heap));
	if (due.kind == SIM_DUE_FAULT) {
		run_responses(s, due.time); /* they came before it */
		s->now = due.time;
		sim_faults(s);
	} else if (due.kind == SIM_DUE_SLOT) {
		sim_coordinator_slot(s, due.server);
	} else if (s->packets[due.packet].epoch != s->servers[due.server].epoch) {
		sim_lose(s, due.packet);
	} else {
		sim_server_enqueue(s, due.packet, due.server);
	}
}

static inline void handle_at_servers(struct sim *s, sim_time first)
{
	enum sim_source source = first & SIM_SOURCE_MASK;

	s->now = first & ~SIM_SOURCE_MASK;
	s->res->total_events++;
	if (source == SIM_DUE) {
		handle_due(s);
	} else {
		struct sim_event e = take_event(s, source);

		sim_server_receive(s, e.packet, e.where);
	}
}

/* Everything that happens at the servers before `until`. */
static inline void run_servers(struct sim *s, sim_time until)
{
	sim_time first;

	while ((first = earliest_at_servers(s)) < until)
		handle_at_servers(s, first);
}

/* With a coordinator a response makes it send the next request: all in one order. */
static void run_coordinator(struct sim *s, sim_time until)
{
	for (;;) {
		sim_time at_servers = earliest_at_servers(s), response = earliest_response(s);

		if (at_servers >= until && response >= until)
			return;
		if (at_servers < response)
			handle_at_servers(s, at_servers);
		else
			handle_response(s, response);
	}
}

static inline void handle_arrival(struct sim *s)
{
	uint32_t p;

	s->res->total_events++;
	p = sim_client_send(s);
	sim_set_next(s, SIM_ARRIVAL, s->now + sim_draw_gap(s));
	if (p == SIM_NONE)
		return;
	if (s->cfg->scheme == SIM_LAEDGE)
		sim_coordinator_request(s, p);
	else
		sim_rack_request(s, p);
}

static void run(struct sim *s)
{
	uint64_t last = s->cfg->warmup + s->cfg->requests;

	/* Requests keep coming until the last measured one is settled: the load stays. */
	while ((s->sent <= last || s->unsettled) && !s->out_of_memory) {
		sim_time arrival = s->next[SIM_ARRIVAL] & ~SIM_SOURCE_MASK;

		if (s->cfg->scheme == SIM_LAEDGE) {
			run_coordinator(s, arrival);
		} else {
			run_servers(s, arrival);
			run_responses(s, arrival);
		}
		s->now = arrival;
		handle_arrival(s);
	}
}

int sim_run(const struct sim_config *cfg, struct sim_result *res, struct lg_hist *latency,
	    uint64_t *timeline)
{
	struct sim *s = calloc(1, sizeof(*s));
	int failed;

	if (!s)
		return -ENOMEM;
	memset(res, 0, sizeof(*res));
	s->cfg = cfg;
	s->res = res;
	s->latency = latency;
	s->timeline = cfg->timeline_buckets ? timeline : NULL;
	failed = set_up(s);
	if (!failed)
		run(s);
	res->window_ns = (double)(s->window_end - s->window_start) / SIM_TICKS_PER_NS;
	res->total_requests = s->sent;
	failed |= s->out_of_memory ? -ENOMEM : 0;
	tear_down(s);
	return failed;
}

void sim_abi(size_t size[4])
{
	size[0] = sizeof(struct sim_config);
	size[1] = sizeof(struct sim_result);
	size[2] = sizeof(struct sim_class);
	size[3] = sizeof(struct lg_hist);
}
