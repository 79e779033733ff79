/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The measured part of a run: when it opens and closes, and the faults planned for it. */
#ifndef SIM_WINDOW_H
#define SIM_WINDOW_H

#include "state.h"

/* The next fault of the plan becomes due. */
void sim_plan_fault(struct sim *s);

void sim_open_window(struct sim *s);

void sim_close_window(struct sim *s);

#endif
