/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#define _GNU_SOURCE
#include "awake.h"

#include <errno.h>
#include <sched.h>

/* Tells a core that runs two threads to give the other one its turn. */
static inline void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

int lg_awake_run(uint32_t cpu, const volatile uint32_t *stop)
{
	struct sched_param lowest = {0};
	cpu_set_t here;

	CPU_ZERO(&here);
	CPU_SET(cpu, &here);
	if (sched_setscheduler(0, SCHED_IDLE, &lowest) || sched_setaffinity(0, sizeof(here), &here))
		return -errno;
	while (!*stop)
		relax();
	return 0;
}
