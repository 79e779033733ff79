/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Keeps a processor from going to sleep, and yields it to anybody who wants it. */
#ifndef LG_AWAKE_H
#define LG_AWAKE_H

#include <stdint.h>

/* Spins on processor `cpu` at the lowest priority there is (SCHED_IDLE) until *stop. 0, or
 * -errno where it may not run there. */
int lg_awake_run(uint32_t cpu, const volatile uint32_t *stop);

#endif
