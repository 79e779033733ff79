/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A worker server (section 4 of the paper): one dispatcher puts what its program admits
 * into a FCFS queue, W workers take from it. */
#ifndef SIM_SERVER_H
#define SIM_SERVER_H

#include "state.h"

/* The dispatcher has read the packet: a free worker takes it, else the queue. */
void sim_server_enqueue(struct sim *s, uint32_t p, uint32_t sid);

/* A request reaches the server's interface. */
void sim_server_receive(struct sim *s, uint32_t p, uint32_t sid);

/* A worker is done with the heap's first event; the queue's head takes its place. */
void sim_server_depart(struct sim *s);

void sim_server_stop(struct sim *s, uint32_t sid);

#endif
