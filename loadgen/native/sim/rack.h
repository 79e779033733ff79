/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The racks' switches. A request meets the program of its client's switch, and if it goes
 * to another rack also that of the server's, which leaves it alone (section 3.7 of the
 * paper, multi-rack deployment); a response the other way round. */
#ifndef SIM_RACK_H
#define SIM_RACK_H

#include "state.h"

/* Towards server `sid` from the switch of `rack`, starting at `at`. */
void sim_forward(struct sim *s, uint32_t p, uint32_t rack, uint32_t sid, int clone, sim_time at);

/* A request at its client's switch. */
void sim_rack_request(struct sim *s, uint32_t p);

/* A response on its way back, at the interface of its server. */
void sim_rack_return(struct sim *s, uint32_t p, uint32_t rack);

/* A response at the switch of its client's rack. */
void sim_rack_response(struct sim *s, uint32_t p, uint32_t rack);

#endif
