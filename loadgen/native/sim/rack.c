/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "rack.h"

#include "client.h"
#include "draw.h"
#include "pool.h"

inline void sim_forward(struct sim *s, uint32_t p, uint32_t rack, uint32_t sid, int clone,
			sim_time at)
{
	uint32_t far_rack = s->servers[sid].rack;

	if (far_rack == rack) {
		sim_send(s, clone ? SIM_TO_SERVER_CLONE : SIM_TO_SERVER, at, p, sid);
		return;
	}
	if (!s->racks[far_rack].up || sim_link_loses(s)) {
		sim_lose(s, p);
		return;
	}
	/* A request that no switch has claimed yet would be decided again. */
	if (s->cfg->scheme >= SIM_RACKSCHED &&
	    !sim_switch_is_foreign(&s->racks[far_rack].host, &s->packets[p].h)) {
		sim_lose(s, p);
		return;
	}
	sim_send(s, clone ? SIM_TO_SERVER_FAR_CLONE : SIM_TO_SERVER_FAR, at, p, sid);
}

/* c-clone: `copies` different servers at random (Floyd's sampling would also do; copies
 * are few, so a draw that was there already is drawn again). */
static inline void sim_static_copies(struct sim *s, uint32_t p, uint32_t rack)
{
	uint32_t chosen[SIM_MAX_SERVERS], n = 0, i;

	while (n < s->cfg->copies) {
		chosen[n] = lg_rng_below(&s->rng[SIM_STREAM_CHOICE], s->cfg->servers);
		for (i = 0; i < n && chosen[i] != chosen[n]; i++)
			;
		n += i == n;
	}
	if (n > 1 && s->in_window)
		s->res->cloned++;
	for (i = 1; i < n; i++)
		sim_forward(s, sim_copy(s, p), rack, chosen[i], 0, s->now);
	sim_forward(s, p, rack, chosen[0], 0, s->now);
}

/* The switch's program picks the servers. */
static inline void sim_decided_request(struct sim *s, uint32_t p, uint32_t rack)
{
	struct sim_verdict v =
		sim_switch_decides(&s->racks[rack].host, &s->packets[p].h, sim_to_ns(s->now));

	if (!v.copies) {
		sim_lose(s, p);
		return;
	}
	if (v.copies == 2) {
		uint32_t q = sim_copy(s, p);

		s->packets[q].h.clo = NC_CLO_CLONE;
		if (s->in_window)
			s->res->cloned++;
		sim_forward(s, q, rack, v.second, 1, s->now);
	}
	sim_forward(s, p, rack, v.first, 0, s->now);
}

inline void sim_rack_request(struct sim *s, uint32_t p)
{
	struct sim_request *r = &s->requests[s->packets[p].request];
	struct sim_client *c = &s->clients[r->client];
	int write = (int)s->cfg->klass[r->klass].no_clone;

	if (!s->racks[c->rack].up || sim_link_loses(s)) {
		sim_lose(s, p);
		return;
	}
	if (s->cfg->scheme == SIM_CCLONE && !write) {
		sim_static_copies(s, p, c->rack);
		return;
	}
	if (s->cfg->scheme >= SIM_RACKSCHED) {
		sim_client_stamps(c->host, &s->packets[p].h, sim_to_ns(r->sent), write);
		if (!write) {
			sim_decided_request(s, p, c->rack);
			return;
		}
		sim_switch_sends_on(&s->racks[c->rack].host, &s->packets[p].h);
	}
	/* baseline: any server; a write: the primary, server 0. */
	sim_forward(s, p, c->rack,
		    write ? 0 : lg_rng_below(&s->rng[SIM_STREAM_CHOICE], s->cfg->servers), 0,
		    s->now);
}

inline void sim_rack_return(struct sim *s, uint32_t p, uint32_t rack)
{
	struct sim_packet *packet = &s->packets[p];
	uint32_t home = s->clients[s->requests[packet->request].client].rack;

	if (s->cfg->scheme == SIM_LAEDGE)
		home = 0; /* the coordinator's */
	if (sim_link_loses(s)) {
		sim_lose(s, p);
		return;
	}
	if (rack == home) {
		sim_send(s, SIM_TO_SWITCH, s->now, p, home);
		return;
	}
	if (!s->racks[rack].up || sim_link_loses(s)) {
		sim_lose(s, p);
		return;
	}
	if (s->cfg->scheme >= SIM_RACKSCHED &&
	    !sim_switch_is_foreign(&s->racks[rack].host, &packet->h)) {
		sim_lose(s, p);
		return;
	}
	sim_send(s, SIM_TO_SWITCH_FAR, s->now, p, home);
}

inline void sim_rack_response(struct sim *s, uint32_t p, uint32_t rack)
{
	if (!s->racks[rack].up) {
		sim_lose(s, p);
		return;
	}
	if (s->cfg->scheme >= SIM_RACKSCHED &&
	    !sim_switch_forwards(&s->racks[rack].host, &s->packets[p].h, sim_to_ns(s->now))) {
		if (s->in_window)
			s->res->filtered++;
		sim_release(s, p);
		return;
	}
	sim_client_receive(s, p, s->now + s->pass);
}
