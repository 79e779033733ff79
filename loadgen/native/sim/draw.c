/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "draw.h"

static void sim_refill_gaps(struct sim *s)
{
	double mean = 1e9 / s->cfg->rate_rps * SIM_TICKS_PER_NS;

	for (int i = 0; i < SIM_BLOCK; i++)
		s->gap.value[i] = mean * lg_exponential(&s->rng[SIM_STREAM_ARRIVAL]);
	s->gap.used = 0;
}

inline sim_time sim_draw_gap(struct sim *s)
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

inline double sim_draw_service(struct sim *s, uint32_t klass)
{
	struct sim_block *b = &s->service_block[klass];

	if (b->used == SIM_BLOCK)
		sim_refill_service(s, klass);
	return b->value[b->used++];
}

inline double sim_service_of(struct sim *s, const struct sim_request *r)
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

inline uint8_t sim_draw_class(struct sim *s)
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

inline int sim_link_loses(struct sim *s)
{
	return s->loss_bound && lg_rng_next(&s->rng[SIM_STREAM_LOSS]) < s->loss_bound;
}
