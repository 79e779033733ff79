/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The pools of packets and requests, and how a packet leaves for its next event or its end. */
#ifndef SIM_POOL_H
#define SIM_POOL_H

#include "state.h"

int sim_grow_packets(struct sim *s);

/* Room for one more request and `packets` packets, so that taking them cannot fail. */
int sim_pool_reserve(struct sim *s, uint32_t packets);

uint32_t sim_take_packet(struct sim *s);

uint32_t sim_take_request(struct sim *s);

uint32_t sim_copy(struct sim *s, uint32_t p);

/* A packet has come to its end. With the last one of a request the request is settled:
 * without an answer it is lost. */
void sim_release(struct sim *s, uint32_t p);

void sim_push_due(struct sim *s, sim_time at, uint32_t p, uint32_t sid, enum sim_due_kind kind);

/* A packet is dropped on its way: nobody hears of it. A coordinator gives up on it, and frees its
 * slot, after a timeout. */
void sim_drop(struct sim *s, uint32_t p);

void sim_lose(struct sim *s, uint32_t p);

/* The packet enters the constant delay `source` at `at` (never earlier than the last). */
void sim_send(struct sim *s, enum sim_source source, sim_time at, uint32_t p, uint32_t where);

#endif
