/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "server.h"

#include "draw.h"
#include "pool.h"
#include "rack.h"

static inline uint32_t sim_queue_length(const struct sim_server *v)
{
	return v->tail - v->head;
}

static inline struct sim_due sim_departure_of(struct sim *s, uint32_t p, uint32_t sid)
{
	struct sim_packet *packet = &s->packets[p];
	double ns = sim_service_of(s, &s->requests[packet->request]);

	packet->epoch = s->servers[sid].epoch;
	return (struct sim_due){s->now + sim_from_ns(ns), p, (uint16_t)sid, SIM_DUE_DEPARTURE};
}

inline void sim_server_enqueue(struct sim *s, uint32_t p, uint32_t sid)
{
	struct sim_server *v = &s->servers[sid];

	if (v->busy < v->workers) {
		v->busy++;
		sim_area_up(&s->busy, s->now);
		if (sim_heap_push(&s->heap, sim_departure_of(s, p, sid)))
			s->out_of_memory = 1;
		sim_set_next(s, SIM_DUE, sim_heap_next(&s->heap));
	} else if (sim_queue_length(v) < s->cfg->queue_limit) {
		v->queue[v->tail++ & v->mask] = p;
		sim_area_up(&s->queued, s->now);
	} else {
		if (s->in_window)
			s->res->queue_overflows++;
		sim_drop(s, p);
	}
}

inline void sim_server_receive(struct sim *s, uint32_t p, uint32_t sid)
{
	struct sim_server *v = &s->servers[sid];
	struct sim_packet *packet = &s->packets[p];

	if (!v->up || sim_link_loses(s)) {
		sim_lose(s, p);
		return;
	}
	packet->server = sid;
	if (s->cfg->scheme >= SIM_RACKSCHED &&
	    !sim_server_admits(&v->host, &packet->h, sim_to_ns(s->now),
			       s->requests[packet->request].client, v->busy, sim_queue_length(v))) {
		if (s->in_window)
			s->res->clones_refused++;
		sim_release(s, p);
		return;
	}
	if (s->cfg->dispatch_ns > 0) {
		sim_time from = v->dispatcher_free > s->now ? v->dispatcher_free : s->now;

		packet->epoch = v->epoch;
		v->dispatcher_free = from + sim_from_ns(s->cfg->dispatch_ns);
		sim_push_due(s, v->dispatcher_free, p, sid, SIM_DUE_DISPATCHED);
	} else {
		sim_server_enqueue(s, p, sid);
	}
}

inline void sim_server_depart(struct sim *s)
{
	struct sim_due due = sim_heap_first(&s->heap);
	struct sim_server *v = &s->servers[due.server];
	struct sim_packet *packet = &s->packets[due.packet];

	if (packet->epoch != v->epoch) { /* the server stopped meanwhile */
		sim_heap_pop(&s->heap);
		sim_set_next(s, SIM_DUE, sim_heap_next(&s->heap));
		sim_lose(s, due.packet);
		return;
	}
	if (v->tail != v->head) {
		uint32_t p = v->queue[v->head++ & v->mask];

		sim_area_down(&s->queued, s->now);
		sim_heap_replace(&s->heap, sim_departure_of(s, p, due.server));
	} else {
		v->busy--;
		sim_area_down(&s->busy, s->now);
		sim_heap_pop(&s->heap);
	}
	sim_set_next(s, SIM_DUE, sim_heap_next(&s->heap));
	if (s->cfg->scheme >= SIM_RACKSCHED)
		sim_server_stamps(&v->host, &packet->h, sim_to_ns(s->now),
				  s->requests[packet->request].client, v->busy,
				  sim_queue_length(v));
	sim_rack_return(s, due.packet, v->rack);
}

void sim_server_stop(struct sim *s, uint32_t sid)
{
	struct sim_server *v = &s->servers[sid];

	v->up = 0;
	v->epoch++; /* departures under way find out by this */
	for (; v->busy; v->busy--)
		sim_area_down(&s->busy, s->now);
	for (; v->head != v->tail; v->head++) {
		sim_area_down(&s->queued, s->now);
		sim_lose(s, v->queue[v->head & v->mask]);
	}
	v->dispatcher_free = 0;
}
