/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Distributions of service times and gaps, in nanoseconds, prepared once and then sampled
 * in a few nanoseconds. The text syntax (`pareto:2.1:25us`) is read in
 * loadgen/workload/distributions.py. */
#ifndef LG_DIST_H
#define LG_DIST_H

#include <stddef.h>
#include <stdint.h>

#include "rng.h"

enum lg_dist_kind {
	LG_DIST_CONST = 0, /* value */
	LG_DIST_EXP,	   /* mean */
	LG_DIST_BIMODAL,   /* P(first), first, second */
	LG_DIST_TRIMODAL,  /* P(first), P(second), first, second, third */
	LG_DIST_LOGNORMAL, /* sigma of the logarithm, mean */
	LG_DIST_PARETO,	   /* shape alpha > 1, mean */
	LG_DIST_WEIBULL,   /* shape k > 0, mean */
	LG_DIST_TWOPOINT,  /* P(slow), slow/fast, mean */
	LG_DIST_TRACE,	   /* values in order, round and round */
	LG_DIST_KINDS,
};

#define LG_DIST_MAX_PARAMS 5

struct lg_dist {
	uint32_t kind; /* as sampled: the discrete kinds become LG_DIST_TRIMODAL */
	uint32_t reserved;
	double a, b;		  /* what the sampler multiplies with; see distribution.c */
	double value[3], upto[2]; /* discrete: values, cumulative probabilities */
	const double *trace;	  /* not owned */
	uint64_t trace_len, trace_pos;
	double jitter_factor;  /* jitter p x m: with probability p, m times as long */
	uint64_t jitter_bound; /* p scaled to 2^64 - 1; 0: none */
};

/* 0, or -EINVAL for parameters out of range. Times in ns. `trace` (for LG_DIST_TRACE)
 * stays the caller's and must outlive the struct. */
int lg_dist_init(struct lg_dist *d, enum lg_dist_kind kind, const double *params, size_t n_params,
		 const double *trace, size_t trace_len);
/* 0 <= p <= 1, factor >= 0. */
int lg_dist_set_jitter(struct lg_dist *d, double p, double factor);
/* All times multiplied (time scale, or a new mean). */
void lg_dist_scale(struct lg_dist *d, double factor);
/* Streams of one trace start at different places. */
void lg_dist_start(struct lg_dist *d, struct lg_rng *r);

/* Without jitter. */
double lg_dist_base(struct lg_dist *d, struct lg_rng *r);

/* One time in ns, with jitter. */
static inline double lg_dist_sample(struct lg_dist *d, struct lg_rng *r)
{
	double x = lg_dist_base(d, r);

	if (d->jitter_bound && lg_rng_next(r) < d->jitter_bound)
		x *= d->jitter_factor;
	return x;
}

/* Standard exponential and normal variates (ziggurat, 256 layers). */
double lg_exponential(struct lg_rng *r);
double lg_normal(struct lg_rng *r);

/* n samples of stream `stream` into out: for tests, checks and plots. */
void lg_dist_fill(struct lg_dist *d, uint64_t seed, uint64_t stream, double *out, size_t n);

#endif
