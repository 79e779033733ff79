/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Stalls of the machine, told apart from a generator that is slow: time in which a thread should
 * have run and did not. A hypervisor that takes the virtual processor away, another program on
 * the core or a late timer make what is due meanwhile late, and no generator can help it.
 *
 * The evidence is not that something was late (a slow generator would excuse itself with it), but
 * a clock that jumped where the thread had nothing to do, or that passed without the thread's own
 * processor time. */
#ifndef LG_STALL_H
#define LG_STALL_H

#include <stdbool.h>

#include "clock.h"

/* Shorter ones are the cost of a wake-up or an interrupt, which a generator has to live with. */
#define LG_STALL_NS 100000ULL
/* To send or receive a packet rightly takes no longer. */
#define LG_STALL_PACKET_NS 20000ULL

struct lg_stalls {
	uint64_t count, total_ns, longest_ns;
	uint64_t held;	  /* what left late because of one, or before it was caught up with */
	uint64_t held_ns; /* how late, together */
	/* What leaves before is late because of the last one: its end and, while the backlog has
	 * not been worked off, as long again, but no longer (a generator that never catches up is
	 * too slow). Not what is due before: a generator far behind its schedule always is. */
	uint64_t until_ns;
	/* Since when the thread was to run without a break, and its processor time then. */
	uint64_t since_ns, cpu_ns;
};

static inline void lg_stall_add(struct lg_stalls *s, uint64_t ns, uint64_t end_ns)
{
	s->count++;
	s->total_ns += ns;
	if (ns > s->longest_ns)
		s->longest_ns = ns;
	s->until_ns = end_ns + ns;
}

static inline void lg_stall_merge(struct lg_stalls *into, const struct lg_stalls *from)
{
	into->count += from->count;
	into->total_ns += from->total_ns;
	into->held += from->held;
	into->held_ns += from->held_ns;
	if (from->longest_ns > into->longest_ns)
		into->longest_ns = from->longest_ns;
}

/* From now on the thread is to run. */
static inline void lg_stall_start(struct lg_stalls *s, uint64_t now_ns)
{
	s->since_ns = now_ns;
	s->cpu_ns = lg_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* It goes to sleep, and is to run again at `until_ns`. */
static inline void lg_stall_sleep(struct lg_stalls *s, uint64_t until_ns)
{
	s->since_ns = until_ns;
}

/* It runs. `work_ns`: the most that what it did since can rightly take. It counts with the
 * processor time that it took, up to that: the kernel books on a thread what it does for others
 * in its interrupts, and where it does not know of the hypervisor also what that took. */
static inline void lg_stall_look(struct lg_stalls *s, uint64_t now_ns, uint64_t work_ns)
{
	uint64_t cpu_ns = lg_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	uint64_t ran_ns = cpu_ns - s->cpu_ns < work_ns ? cpu_ns - s->cpu_ns : work_ns;

	if (now_ns > s->since_ns + ran_ns + LG_STALL_NS)
		lg_stall_add(s, now_ns - s->since_ns - ran_ns, now_ns);
	s->since_ns = now_ns;
	s->cpu_ns = cpu_ns;
}

/* Nothing is due any more. */
static inline void lg_stall_over(struct lg_stalls *s, uint64_t now_ns)
{
	if (s->until_ns > now_ns)
		s->until_ns = now_ns;
}

/* What was due at `due_ns` leaves at `at_ns`: did a stall hold it? */
static inline bool lg_stall_holds(struct lg_stalls *s, uint64_t due_ns, uint64_t at_ns)
{
	if (at_ns >= s->until_ns || at_ns <= due_ns)
		return false;
	s->held++;
	s->held_ns += at_ns - due_ns;
	return true;
}

#endif
