/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* To be preloaded: CLOCK_REALTIME is off by CLOCK_STEP_NS as long as the file CLOCK_STEP_FILE
 * is there, as if somebody had stepped the clock. The machine's own clock is left alone. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *t)
{
	const char *file = getenv("CLOCK_STEP_FILE"), *step = getenv("CLOCK_STEP_NS");
	long error = syscall(SYS_clock_gettime, clock, t);
	long long ns;

	if (error || clock != CLOCK_REALTIME || !file || !step || access(file, F_OK))
		return (int)error;
	ns = (long long)t->tv_sec * 1000000000 + t->tv_nsec + atoll(step);
	t->tv_sec = ns / 1000000000;
	t->tv_nsec = ns % 1000000000;
	return 0;
}
