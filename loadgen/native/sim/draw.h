/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Random draws: gaps, classes, service times, losses. */
#ifndef SIM_DRAW_H
#define SIM_DRAW_H

#include "state.h"

/* Gap to the next request, in ticks: Poisson arrivals. */
sim_time sim_draw_gap(struct sim *s);

/* A service time in ns: with jitter, or without it when copies share theirs. */
double sim_draw_service(struct sim *s, uint32_t klass);

/* How long a worker needs for packet `p`. */
double sim_service_of(struct sim *s, const struct sim_request *r);

uint8_t sim_draw_class(struct sim *s);

/* One link traversed: true when it loses the packet. */
int sim_link_loses(struct sim *s);

#endif
