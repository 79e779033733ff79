/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "coordinator.h"

#include "client.h"
#include "draw.h"
#include "pool.h"
#include "rack.h"

/* The processor works on one more packet, not before `at`; returns when it is done. */
static inline sim_time sim_coordinator_works(struct sim *s, sim_time at)
{
	struct sim_coordinator *c = &s->coordinator;

	c->free = (c->free > at ? c->free : at) + sim_from_ns(s->cfg->coordinator_ns);
	return c->free;
}

/* An idle server at random, not `except`; SIM_NONE if there is none. */
static uint32_t sim_idle_server(struct sim *s, uint32_t except)
{
	uint32_t n = s->cfg->servers, start = lg_rng_below(&s->rng[SIM_STREAM_CHOICE], n);

	for (uint32_t k = 0; k < n; k++) {
		uint32_t sid = start + k < n ? start + k : start + k - n;

		if (sid != except && s->servers[sid].outstanding < s->servers[sid].slots)
			return sid;
	}
	return SIM_NONE;
}

static void sim_coordinator_copy(struct sim *s, uint32_t p, uint32_t sid)
{
	struct sim_server *v = &s->servers[sid];
	sim_time at = sim_coordinator_works(s, 0);

	v->outstanding++;
	s->packets[p].server = sid;
	sim_forward(s, p, 0, sid, 0, at + s->link);
}

static void sim_coordinator_dispatch(struct sim *s, uint32_t p, uint32_t first)
{
	uint8_t klass = s->requests[s->packets[p].request].klass;
	uint32_t second = s->cfg->klass[klass].no_clone ? SIM_NONE : sim_idle_server(s, first);

	if (second != SIM_NONE) {
		uint32_t q;

		/* A queued request finds the pool as it is now. */
		if (s->free_packet == SIM_NONE && sim_grow_packets(s)) {
			s->out_of_memory = 1;
			return;
		}
		q = sim_copy(s, p);
		if (s->in_window)
			s->res->cloned++;
		sim_coordinator_copy(s, q, second);
	}
	sim_coordinator_copy(s, p, first);
}

void sim_coordinator_request(struct sim *s, uint32_t p)
{
	struct sim_coordinator *c = &s->coordinator;
	double limit = s->cfg->coordinator_ns * s->cfg->queue_limit;
	sim_time at = s->now + s->pass + s->link;
	uint32_t sid;

	if (!s->racks[0].up || sim_link_loses(s) || sim_link_loses(s)) {
		sim_lose(s, p);
		return;
	}
	/* Its socket's buffer holds queue_limit packets. */
	if (c->free > at && (double)(c->free - at) / SIM_TICKS_PER_NS > limit) {
		if (s->in_window)
			s->res->coordinator_overflows++;
		sim_release(s, p);
		return;
	}
	sim_coordinator_works(s, at);
	sid = sim_idle_server(s, SIM_NONE);
	if (sid != SIM_NONE) {
		sim_coordinator_dispatch(s, p, sid);
	} else if (c->tail - c->head < s->cfg->queue_limit) {
		c->queue[c->tail++ & c->mask] = p;
	} else {
		if (s->in_window)
			s->res->coordinator_overflows++;
		sim_release(s, p);
	}
}

void sim_coordinator_slot(struct sim *s, uint32_t sid)
{
	struct sim_coordinator *c = &s->coordinator;
	struct sim_server *v = &s->servers[sid];

	if (v->outstanding)
		v->outstanding--;
	if (c->head != c->tail && v->outstanding < v->slots)
		sim_coordinator_dispatch(s, c->queue[c->head++ & c->mask], sid);
}

void sim_coordinator_response(struct sim *s, uint32_t p)
{
	uint32_t sid = s->packets[p].server;

	if (!s->racks[0].up || sim_link_loses(s)) {
		sim_lose(s, p);
		return;
	}
	s->packets[p].server = SIM_NONE;
	sim_coordinator_works(s, s->now + s->pass + s->link);
	if (s->requests[s->packets[p].request].answered) {
		if (s->in_window)
			s->res->filtered++;
		sim_release(s, p);
	} else {
		sim_time out = sim_coordinator_works(s, 0);

		sim_client_receive(s, p, out + s->link + s->pass);
	}
	sim_coordinator_slot(s, sid);
}
