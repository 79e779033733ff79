/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Zipf by rejection-inversion (Hörmann and Derflinger, 1996): no table, a few tens of ns,
 * exact for any exponent and any number of objects. */
#include "operation_mix.h"

#include "store_object.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* Integral of x^-theta, and its inverse; through expm1/log1p so that theta near 1 works. */
static double integral(double theta, double x)
{
	double l = log(x), t = (1 - theta) * l;

	return fabs(t) > 1e-8 ? expm1(t) / (1 - theta) : l * (1 + t / 2);
}

static double integral_inverse(double theta, double y)
{
	double t = y * (1 - theta);

	if (t < -1)
		t = -1;
	return exp(fabs(t) > 1e-8 ? log1p(t) / (1 - theta) : y * (1 - t / 2));
}

int lg_mix_init(struct lg_mix *mix, uint64_t objects, double theta, double scan, double set,
		uint32_t scan_count)
{
	memset(mix, 0, sizeof(*mix));
	if (!objects || !(theta >= 0 && theta <= LG_THETA_MAX) ||
	    !(scan >= 0 && set >= 0 && scan + set <= 1) || !scan_count || scan_count > objects)
		return -EINVAL;
	mix->enabled = 1;
	mix->objects = objects;
	mix->scan = scan;
	mix->set = set;
	mix->scan_count = scan_count;
	mix->theta = theta;
	mix->h_x1 = integral(theta, 1.5) - 1;
	mix->h_n = integral(theta, (double)objects + 0.5);
	mix->s = 2 - integral_inverse(theta, integral(theta, 2.5) - pow(2, -theta));
	return 0;
}

uint64_t lg_mix_rank(const struct lg_mix *mix, struct lg_rng *rng)
{
	for (;;) {
		double u = mix->h_n + lg_rng_uniform(rng) * (mix->h_x1 - mix->h_n);
		double x = integral_inverse(mix->theta, u);
		double k = floor(x + 0.5);

		if (k < 1)
			k = 1;
		else if (k > (double)mix->objects)
			k = (double)mix->objects;
		if (k - x <= mix->s || u >= integral(mix->theta, k + 0.5) - pow(k, -mix->theta))
			return (uint64_t)k - 1;
	}
}

void lg_mix_fill(const struct lg_mix *mix, struct lg_rng *rng, struct lg_body *body)
{
	double u = lg_rng_uniform(rng);
	uint64_t rank = lg_mix_rank(mix, rng), hash = rank;
	uint64_t key = lg_splitmix64(&hash) % mix->objects;

	body->count = htole32(1);
	body->op = LG_OP_GET;
	if (u < mix->scan) {
		body->op = LG_OP_SCAN;
		body->count = htole32(mix->scan_count);
		if (key > mix->objects - mix->scan_count)
			key = mix->objects - mix->scan_count;
	} else if (u < mix->scan + mix->set) {
		body->op = LG_OP_SET;
	}
	body->key = htole64(key);
}

void lg_mix_ranks(const struct lg_mix *mix, uint64_t seed, uint64_t *out, uint64_t n)
{
	struct lg_rng rng;

	lg_rng_seed(&rng, seed, 0);
	for (uint64_t i = 0; i < n; i++)
		out[i] = lg_mix_rank(mix, &rng);
}

void lg_object_fill(uint64_t number, char *key, char *value)
{
	lg_object_key(number, key);
	lg_object_value(number, value);
}
