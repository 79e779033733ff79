/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One clock for schedules and latencies: CLOCK_MONOTONIC, which no one can step. */
#ifndef LG_CLOCK_H
#define LG_CLOCK_H

#include <stdint.h>
#include <time.h>

#define LG_NS_PER_S 1000000000ULL

static inline uint64_t lg_clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * LG_NS_PER_S + (uint64_t)t.tv_nsec;
}

static inline uint64_t lg_now_ns(void)
{
	return lg_clock_ns(CLOCK_MONOTONIC);
}

/* CLOCK_REALTIME - CLOCK_MONOTONIC: both are slewed alike, so that it changes only when
 * someone steps the clock. Kernel timestamps of packets are in CLOCK_REALTIME. */
static inline int64_t lg_realtime_offset_ns(void)
{
	int64_t best = 0, width = INT64_MAX;

	/* The pair is read thrice: a preemption between the two readings looks like a step. */
	for (int i = 0; i < 3; i++) {
		int64_t before = (int64_t)lg_now_ns();
		int64_t real = (int64_t)lg_clock_ns(CLOCK_REALTIME);
		int64_t after = (int64_t)lg_now_ns();

		if (after - before < width) {
			width = after - before;
			best = real - before - width / 2;
		}
	}
	return best;
}

static inline struct timespec lg_timespec(uint64_t ns)
{
	return (struct timespec){.tv_sec = (time_t)(ns / LG_NS_PER_S),
				 .tv_nsec = (long)(ns % LG_NS_PER_S)};
}

/* Inside a loop that waits for another thread or for the time. */
static inline void lg_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

#endif
