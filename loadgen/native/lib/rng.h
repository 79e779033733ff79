/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Random numbers for the hot loops: xoshiro256++ (Blackman and Vigna), seeded by splitmix64.
 * Every stream (thread, server) gets the run's seed and its own number, so that a run can
 * be repeated and no two streams share a sequence. */
#ifndef LG_RNG_H
#define LG_RNG_H

#include <stdint.h>

struct lg_rng {
	uint64_t s[4];
};

static inline uint64_t lg_splitmix64(uint64_t *x)
{
	uint64_t z = (*x += 0x9e3779b97f4a7c15ULL);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static inline void lg_rng_seed(struct lg_rng *r, uint64_t seed, uint64_t stream)
{
	uint64_t x = seed;

	/* Mixed, not added: (seed 1, stream 2) and (seed 2, stream 1) differ. */
	x = lg_splitmix64(&x) ^ (stream * 0xd1342543de82ef95ULL);
	for (int i = 0; i < 4; i++)
		r->s[i] = lg_splitmix64(&x);
}

static inline uint64_t lg_rotl(uint64_t x, int k)
{
	return (x << k) | (x >> (64 - k));
}

static inline uint64_t lg_rng_next(struct lg_rng *r)
{
	uint64_t *s = r->s;
	uint64_t result = lg_rotl(s[0] + s[3], 23) + s[0];
	uint64_t t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = lg_rotl(s[3], 45);
	return result;
}

/* Uniform in [0, 1), 53 bits. */
static inline double lg_rng_uniform(struct lg_rng *r)
{
	return (double)(lg_rng_next(r) >> 11) * 0x1.0p-53;
}

/* Uniform in 0 .. n-1, n > 0; the bias is below n / 2^32. */
static inline uint32_t lg_rng_below(struct lg_rng *r, uint32_t n)
{
	return (uint32_t)(((lg_rng_next(r) >> 32) * (uint64_t)n) >> 32);
}

#endif
