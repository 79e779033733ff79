/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What breaks, and comes back (section 3.6 of the paper). */
#ifndef SIM_FAULT_H
#define SIM_FAULT_H

#include "state.h"

void sim_faults(struct sim *s);

#endif
