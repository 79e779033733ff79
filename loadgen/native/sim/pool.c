/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "pool.h"

int sim_grow_packets(struct sim *s)
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

inline int sim_pool_reserve(struct sim *s, uint32_t packets)
{
	uint32_t p = s->free_packet;

	if (s->free_request == SIM_NONE && sim_grow_requests(s))
		return -1;
	for (; packets; packets--, p = s->packets[p].next)
		if (p == SIM_NONE)
			return sim_grow_packets(s);
	return 0;
}

inline uint32_t sim_take_packet(struct sim *s)
{
	uint32_t p = s->free_packet;

	s->free_packet = s->packets[p].next;
	return p;
}

inline uint32_t sim_take_request(struct sim *s)
{
	uint32_t r = s->free_request;

	s->free_request = s->requests[r].next;
	return r;
}

inline uint32_t sim_copy(struct sim *s, uint32_t p)
{
	uint32_t q = sim_take_packet(s);

	s->packets[q] = s->packets[p];
	s->requests[s->packets[p].request].copies++;
	return q;
}

inline void sim_release(struct sim *s, uint32_t p)
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

void sim_push_due(struct sim *s, sim_time at, uint32_t p, uint32_t sid, enum sim_due_kind kind)
{
	struct sim_due due = {at, p, (uint16_t)sid, (uint16_t)kind};

	if (sim_heap_push(&s->heap, due))
		s->out_of_memory = 1;
	sim_set_next(s, SIM_DUE, sim_heap_next(&s->heap));
}

inline void sim_drop(struct sim *s, uint32_t p)
{
	if (s->cfg->scheme == SIM_LAEDGE && s->packets[p].server != SIM_NONE)
		sim_push_due(s, s->now + sim_from_ns(s->cfg->coordinator_timeout_ns), 0,
			     s->packets[p].server, SIM_DUE_SLOT);
	sim_release(s, p);
}

inline void sim_lose(struct sim *s, uint32_t p)
{
	if (s->in_window)
		s->res->packets_lost++;
	sim_drop(s, p);
}

inline void sim_send(struct sim *s, enum sim_source source, sim_time at, uint32_t p, uint32_t where)
{
	struct sim_fifo *f = &s->fifo[source];
	sim_time due = at + s->delay[source];

	if (f->head == f->tail)
		sim_set_next(s, source, due);
	if (sim_fifo_push(f, due, p, where))
		s->out_of_memory = 1;
}
