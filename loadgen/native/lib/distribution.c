/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "distribution.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* The constant part of each mean is folded into `a` here, so that a sample is one variate
 * and one multiplication (and an exp() where the distribution is a power of one).
 *   exp        a E             lognormal  a e^(b N)
 *   pareto     a e^(b E)       weibull    a e^(b ln E)     (E, N standard variates) */
static int init_continuous(struct lg_dist *d, const double *p)
{
	switch (d->kind) {
	case LG_DIST_CONST:
	case LG_DIST_EXP:
		d->a = p[0];
		return p[0] > 0 ? 0 : -EINVAL;
	case LG_DIST_LOGNORMAL:
		d->b = p[0];
		d->a = p[1] * exp(-p[0] * p[0] / 2);
		return p[0] >= 0 && p[1] > 0 ? 0 : -EINVAL;
	case LG_DIST_PARETO:
		d->b = 1 / p[0];
		d->a = p[1] * (p[0] - 1) / p[0];
		return p[0] > 1 && p[1] > 0 ? 0 : -EINVAL;
	default: /* LG_DIST_WEIBULL */
		d->b = 1 / p[0];
		d->a = p[1] / tgamma(1 + 1 / p[0]);
		return p[0] > 0 && p[1] > 0 ? 0 : -EINVAL;
	}
}

static int init_discrete(struct lg_dist *d, const double *p)
{
	double fast;

	switch (d->kind) {
	case LG_DIST_BIMODAL:
		d->upto[0] = p[0];
		d->upto[1] = 1;
		d->value[0] = p[1];
		d->value[1] = d->value[2] = p[2];
		break;
	case LG_DIST_TRIMODAL:
		d->upto[0] = p[0];
		d->upto[1] = p[0] + p[1];
		memcpy(d->value, p + 2, sizeof(d->value));
		break;
	default: /* LG_DIST_TWOPOINT */
		fast = p[2] / (1 + p[0] * (p[1] - 1));
		d->upto[0] = 1 - p[0];
		d->upto[1] = 1;
		d->value[0] = fast;
		d->value[1] = d->value[2] = fast * p[1];
	}
	d->kind = LG_DIST_TRIMODAL;
	if (!(d->upto[0] >= 0 && d->upto[1] >= d->upto[0] && d->upto[1] <= 1 + 1e-12))
		return -EINVAL;
	for (int i = 0; i < 3; i++)
		if (!(d->value[i] > 0))
			return -EINVAL;
	return 0;
}

static const size_t n_params_of[LG_DIST_KINDS] = {
	[LG_DIST_CONST] = 1,	[LG_DIST_EXP] = 1,	 [LG_DIST_BIMODAL] = 3,
	[LG_DIST_TRIMODAL] = 5, [LG_DIST_LOGNORMAL] = 2, [LG_DIST_PARETO] = 2,
	[LG_DIST_WEIBULL] = 2,	[LG_DIST_TWOPOINT] = 3,	 [LG_DIST_TRACE] = 0,
};

int lg_dist_init(struct lg_dist *d, enum lg_dist_kind kind, const double *params, size_t n_params,
		 const double *trace, size_t trace_len)
{
	memset(d, 0, sizeof(*d));
	if ((unsigned int)kind >= LG_DIST_KINDS || n_params != n_params_of[kind])
		return -EINVAL;
	for (size_t i = 0; i < n_params; i++)
		if (!isfinite(params[i]))
			return -EINVAL;
	d->kind = kind;
	switch (kind) {
	case LG_DIST_TRACE:
		d->a = 1;
		d->trace = trace;
		d->trace_len = trace_len;
		return trace && trace_len ? 0 : -EINVAL;
	case LG_DIST_BIMODAL:
	case LG_DIST_TRIMODAL:
	case LG_DIST_TWOPOINT:
		return init_discrete(d, params);
	default:
		return init_continuous(d, params);
	}
}

int lg_dist_set_jitter(struct lg_dist *d, double p, double factor)
{
	if (!(p >= 0 && p <= 1 && factor >= 0))
		return -EINVAL;
	d->jitter_factor = factor;
	d->jitter_bound = p >= 1 ? UINT64_MAX : (uint64_t)(p * 0x1.0p64);
	return 0;
}

void lg_dist_scale(struct lg_dist *d, double factor)
{
	d->a *= factor;
	for (int i = 0; i < 3; i++)
		d->value[i] *= factor;
}

void lg_dist_start(struct lg_dist *d, struct lg_rng *r)
{
	if (d->kind == LG_DIST_TRACE)
		d->trace_pos = lg_rng_next(r) % d->trace_len;
}

double lg_dist_base(struct lg_dist *d, struct lg_rng *r)
{
	double u;

	switch (d->kind) {
	case LG_DIST_CONST:
		return d->a;
	case LG_DIST_EXP:
		return d->a * lg_exponential(r);
	case LG_DIST_TRIMODAL:
		u = lg_rng_uniform(r);
		return d->value[(u >= d->upto[0]) + (u >= d->upto[1])];
	case LG_DIST_LOGNORMAL:
		return d->a * exp(d->b * lg_normal(r));
	case LG_DIST_PARETO:
		return d->a * exp(d->b * lg_exponential(r));
	case LG_DIST_WEIBULL:
		return d->a * pow(lg_exponential(r), d->b);
	default: /* LG_DIST_TRACE */
		u = d->a * d->trace[d->trace_pos];
		if (++d->trace_pos == d->trace_len)
			d->trace_pos = 0;
		return u;
	}
}

void lg_dist_fill(struct lg_dist *d, uint64_t seed, uint64_t stream, double *out, size_t n)
{
	struct lg_rng rng;

	lg_rng_seed(&rng, seed, stream);
	for (size_t i = 0; i < n; i++)
		out[i] = lg_dist_sample(d, &rng);
}
