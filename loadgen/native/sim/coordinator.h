/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The coordinator of LAEDGE (section 2 of the paper): one processor, at a port of the
 * first rack's switch. It clones a request when two servers are idle, forwards it when
 * one is, queues it in FCFS order when none is, and has to read every redundant response. */
#ifndef SIM_COORDINATOR_H
#define SIM_COORDINATOR_H

#include "state.h"

/* A request at the coordinator's switch; it is at the coordinator a pass and a link later. */
void sim_coordinator_request(struct sim *s, uint32_t p);

/* Server `sid` has a free slot again: the oldest waiting request takes it. */
void sim_coordinator_slot(struct sim *s, uint32_t sid);

/* A response, first or redundant, at the coordinator's switch. */
void sim_coordinator_response(struct sim *s, uint32_t p);

#endif
