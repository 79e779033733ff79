/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Exponential and normal variates by the ziggurat method (Marsaglia and Tsang, 2000) with
 * 256 layers of equal area: about 99 % of the samples cost one random number, one table
 * look-up and one multiplication. Exact, not an approximation: what falls between a
 * layer's rectangle and the curve is decided by the density itself. */
#include <math.h>

#include "distribution.h"

#define LAYERS 256
/* Where the lowest layer ends, and the area of every layer, for 256 layers. */
#define EXP_TAIL 7.69711747013104972
#define EXP_AREA 0.0039496598225815571993
#define NORMAL_TAIL 3.6541528853610088
#define NORMAL_AREA 0.00492867323399

/* x[i]: right edge of layer i (x[0] is virtual: area / density at the tail); y[i] = f(x[i]). */
struct ziggurat {
	double x[LAYERS + 1], y[LAYERS + 1];
};

static struct ziggurat exponential, normal;

static double exp_density(double x)
{
	return exp(-x);
}

static double exp_inverse(double y)
{
	return -log(y);
}

static double normal_density(double x)
{
	return exp(-x * x / 2);
}

static double normal_inverse(double y)
{
	return sqrt(-2 * log(y));
}

static void build(struct ziggurat *z, double tail, double area, double (*density)(double),
		  double (*inverse)(double))
{
	z->x[0] = area / density(tail);
	z->x[1] = tail;
	z->y[0] = 0; /* never used: layer 0 is the base strip and the tail */
	z->y[1] = density(tail);
	for (int i = 2; i < LAYERS; i++) {
		z->x[i] = inverse(z->y[i - 1] + area / z->x[i - 1]);
		z->y[i] = density(z->x[i]);
	}
	z->x[LAYERS] = 0;
	z->y[LAYERS] = 1;
}

__attribute__((constructor)) static void build_tables(void)
{
	build(&exponential, EXP_TAIL, EXP_AREA, exp_density, exp_inverse);
	build(&normal, NORMAL_TAIL, NORMAL_AREA, normal_density, normal_inverse);
}

/* (0, 1]: its logarithm is finite. */
static double open_uniform(struct lg_rng *r)
{
	return 1 - lg_rng_uniform(r);
}

double lg_exponential(struct lg_rng *r)
{
	double base = 0;

	for (;;) {
		uint64_t bits = lg_rng_next(r);
		unsigned int i = bits & (LAYERS - 1);
		double x = (double)(bits >> 11) * 0x1.0p-53 * exponential.x[i];

		if (x < exponential.x[i + 1])
			return base + x;
		if (i == 0) {
			base += EXP_TAIL; /* the tail is exponential again */
			continue;
		}
		if (exponential.y[i] +
			    lg_rng_uniform(r) * (exponential.y[i + 1] - exponential.y[i]) <
		    exp(-x))
			return base + x;
	}
}

static double normal_tail(struct lg_rng *r)
{
	double x, y;

	do {
		x = -log(open_uniform(r)) / NORMAL_TAIL;
		y = -log(open_uniform(r));
	} while (2 * y < x * x);
	return NORMAL_TAIL + x;
}

double lg_normal(struct lg_rng *r)
{
	for (;;) {
		uint64_t bits = lg_rng_next(r);
		unsigned int i = bits & (LAYERS - 1);
		double sign = bits & LAYERS ? 1 : -1;
		double x = (double)(bits >> 11) * 0x1.0p-53 * normal.x[i];

		if (x < normal.x[i + 1])
			return sign * x;
		if (i == 0)
			return sign * normal_tail(r);
		if (normal.y[i] + lg_rng_uniform(r) * (normal.y[i + 1] - normal.y[i]) <
		    exp(-x * x / 2))
			return sign * x;
	}
}
