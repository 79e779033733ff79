/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Clients: open-loop Poisson senders, one receiver each, which takes the first response. */
#ifndef SIM_CLIENT_H
#define SIM_CLIENT_H

#include "state.h"

/* A response leaves the last switch at `at` (now or later: the coordinator's). */
void sim_client_receive(struct sim *s, uint32_t p, sim_time at);

/* The next request, as a packet that reaches the client's switch now. SIM_NONE: no memory. */
uint32_t sim_client_send(struct sim *s);

#endif
