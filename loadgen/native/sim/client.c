/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "client.h"

#include "draw.h"
#include "pool.h"
#include "window.h"

/* The first response of request `r` is in the client's hands at `at`. */
static inline void sim_client_answered(struct sim *s, struct sim_request *r, sim_time at)
{
	r->answered = 1;
	if (s->in_window)
		s->res->answers++;
	if (s->timeline && s->window_start && at >= s->window_start) {
		double bucket =
			(double)(at - s->window_start) / SIM_TICKS_PER_NS / s->cfg->timeline_ns;

		if (bucket < s->cfg->timeline_buckets)
			s->timeline[(uint32_t)bucket]++;
	}
	if (!r->measured)
		return;
	s->res->answered++;
	s->unsettled--;
	lg_hist_add(s->latency, sim_to_ns(at - r->sent));
}

inline void sim_client_receive(struct sim *s, uint32_t p, sim_time at)
{
	struct sim_packet *packet = &s->packets[p];
	struct sim_request *r = &s->requests[packet->request];
	struct sim_client *c = &s->clients[r->client];
	int first = !r->answered, delivered;

	if (sim_link_loses(s)) {
		sim_lose(s, p);
		return;
	}
	if (first)
		sim_area_down(&s->in_system, at);
	at += s->link;
	if (s->cfg->client_ns > 0) {
		sim_time from = c->receiver_free > at ? c->receiver_free : at;

		at = c->receiver_free = from + sim_from_ns(s->cfg->client_ns);
	}
	delivered = s->cfg->scheme >= SIM_RACKSCHED
			    ? sim_client_delivers(c->host, &packet->h, sim_to_ns(at))
			    : first; /* the application keeps count itself */
	if (first) {
		/* Were a first response ever dropped here, the request would count as lost. */
		if (delivered)
			sim_client_answered(s, r, at);
		else
			sim_area_up(&s->in_system, at - s->link);
	} else if (s->in_window) {
		s->res->slipped++;
		s->res->delivered_twice += (uint64_t)delivered;
	}
	sim_release(s, p);
}

inline uint32_t sim_client_send(struct sim *s)
{
	uint64_t number = s->sent++;
	struct sim_packet *packet;
	struct sim_request *r;
	uint32_t p, i;

	if (number == s->cfg->warmup)
		sim_open_window(s);
	else if (number == s->cfg->warmup + s->cfg->requests)
		sim_close_window(s);
	if (sim_pool_reserve(s, s->cfg->copies > 2 ? s->cfg->copies : 2)) {
		s->out_of_memory = 1;
		return SIM_NONE;
	}
	i = sim_take_request(s);
	p = sim_take_packet(s);
	r = &s->requests[i];
	packet = &s->packets[p];
	r->sent = s->now - s->link;
	r->copies = 1;
	r->answered = 0;
	r->klass = sim_draw_class(s);
	r->measured = (uint8_t)s->in_window;
	r->client = s->cfg->clients > 1 ? lg_rng_below(&s->rng[SIM_STREAM_ARRIVAL], s->cfg->clients)
					: 0;
	if (s->cfg->shared_service)
		r->shared_ns = sim_draw_service(s, r->klass);
	if (r->measured) {
		s->res->sent++;
		s->unsettled++;
	}
	sim_area_up(&s->in_system, s->now);
	packet->request = i;
	packet->server = SIM_NONE;
	return p;
}
