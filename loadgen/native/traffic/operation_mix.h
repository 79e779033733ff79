/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which operation a request asks for, and on which object: for the key-value stores. */
#ifndef LG_MIX_H
#define LG_MIX_H

#include <stdint.h>

#include "request_body.h"
#include "lib/rng.h"

/* The first object has 0.999 of all requests by then. */
#define LG_THETA_MAX 10.0

struct lg_mix {
	uint32_t enabled; /* 0: every request is LG_OP_WORK */
	uint32_t scan_count;
	double scan, set; /* shares; the rest is LG_OP_GET */
	uint64_t objects;
	/* Zipf: P(rank k) ~ k^-theta, by inversion of the continuous bound and rejection. */
	double theta, h_x1, h_n, s;
};

/* 0 or -EINVAL. theta: 0 (uniform) to LG_THETA_MAX, not necessarily below 1. */
int lg_mix_init(struct lg_mix *mix, uint64_t objects, double theta, double scan, double set,
		uint32_t scan_count);
/* 0 .. objects - 1, 0 the most popular. */
uint64_t lg_mix_rank(const struct lg_mix *mix, struct lg_rng *rng);
/* Fills op, count and key. Popular ranks are scattered over the keys. */
void lg_mix_fill(const struct lg_mix *mix, struct lg_rng *rng, struct lg_body *body);
/* Key and value of an object (store_object.h), for callers outside C. */
void lg_object_fill(uint64_t number, char *key, char *value);
void lg_mix_ranks(const struct lg_mix *mix, uint64_t seed, uint64_t *out, uint64_t n);

#endif
