/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a running simulation holds. Its size depends on servers, clients and requests in
 * flight (which the queues' limits bound), never on the number of requests. */
#ifndef SIM_STATE_H
#define SIM_STATE_H

#include "sim.h"
#include "events.h"
#include "logic.h"

#define SIM_NONE UINT32_MAX

/* One copy of a request, or its response, under way. */
struct sim_packet {
	struct nc_header h;
	uint32_t request;
	uint32_t server; /* that has it, or (laedge) owes it; SIM_NONE: none yet */
	uint32_t epoch;	 /* life of the server that works on it */
	uint32_t next;	 /* free list */
};

struct sim_request {
	sim_time sent;
	double shared_ns; /* service time common to all copies, before jitter */
	uint32_t client;
	uint32_t next;	 /* free list */
	uint16_t copies; /* packets that still refer to it */
	uint8_t klass;
	uint8_t measured; /* bool */
	uint8_t answered; /* bool */
};

struct sim_server {
	struct sim_host host; /* its program's tables */
	uint32_t workers, busy;
	uint32_t *queue; /* FCFS ring of packets; head and tail run freely */
	uint32_t mask, head, tail;
	uint32_t epoch; /* grows when it stops: what it held is gone */
	uint32_t rack;
	uint32_t up;
	uint32_t outstanding, slots; /* as the coordinator counts them */
	sim_time dispatcher_free;
};

struct sim_client {
	struct sim_host *host;
	sim_time receiver_free;
	uint32_t rack;
};

/* Programs of clients. Request ids are the switch's, so clients of one rack can share a
 * program's tables; beyond this many they do, which bounds the memory. */
enum {
	SIM_CLIENT_HOSTS = 64,
};

struct sim_rack {
	struct sim_host host; /* its switch's tables */
	uint32_t up;
};

/* The coordinator of laedge: one processor, a FCFS queue of requests without a server. */
struct sim_coordinator {
	sim_time free;
	uint32_t *queue, mask, head, tail;
	uint32_t idle; /* servers with a free slot */
};

/* Where the next event can come from. A ring per constant delay. */
enum sim_source {
	SIM_ARRIVAL,	     /* a request reaches its client's switch */
	SIM_DUE,	     /* heap */
	SIM_TO_SERVER,	     /* in the same rack */
	SIM_TO_SERVER_CLONE, /* one more pass of the pipeline */
	SIM_TO_SERVER_FAR,   /* in another rack */
	SIM_TO_SERVER_FAR_CLONE,
	SIM_TO_SWITCH, /* a response, to the switch of its client's rack */
	SIM_TO_SWITCH_FAR,
	SIM_SOURCES,
};

/* Streams of random numbers, so that all schemes see the same arrivals. */
enum sim_stream {
	SIM_STREAM_ARRIVAL,
	SIM_STREAM_CLASS,
	SIM_STREAM_SERVICE,
	SIM_STREAM_CHOICE,
	SIM_STREAM_LOSS,
	SIM_STREAMS,
};

/* Variates drawn a block at a time: the draws run in a tight loop of their own. */
#define SIM_BLOCK 512
struct sim_block {
	uint32_t used;
	double value[SIM_BLOCK];
};

/* A number that changes at events, integrated over time: each change of +1 at t adds -t,
 * of -1 adds +t; at the end n * t_end closes it. */
struct sim_area {
	unsigned __int128 sum;
	uint64_t level;
};

struct sim {
	/* Time of each source's next event, its own number in the low bits. */
	sim_time next[SIM_SOURCES];
	sim_time now;
	struct sim_fifo fifo[SIM_SOURCES]; /* from SIM_TO_SERVER on */
	sim_time delay[SIM_SOURCES];	   /* of the ring's constant */
	struct sim_heap heap;
	sim_time link, pass; /* client to switch; one pass of the pipeline */
	struct sim_packet *packets;
	uint32_t n_packets, free_packet;
	struct sim_request *requests;
	uint32_t n_requests, free_request;
	struct sim_server *servers;
	struct sim_client *clients;
	struct sim_host *client_hosts;
	uint32_t n_client_hosts;
	struct sim_rack *racks;
	struct sim_coordinator coordinator;
	const struct sim_config *cfg;
	struct sim_result *res;
	struct lg_hist *latency;
	uint64_t *timeline;
	struct lg_rng rng[SIM_STREAMS];
	struct lg_dist service[SIM_MAX_CLASSES];
	struct sim_block gap, service_block[SIM_MAX_CLASSES];
	uint64_t class_upto[SIM_MAX_CLASSES]; /* cumulative shares, scaled to 2^64 */
	uint64_t loss_bound;		      /* loss scaled to 2^64 */
	uint64_t sent;			      /* requests so far */
	uint64_t unsettled;		      /* measured requests neither answered nor lost */
	struct sim_area in_system, busy, queued;
	sim_time window_start, window_end;
	uint32_t in_window; /* bool */
	uint32_t next_fault;
	uint32_t out_of_memory;
};

static inline void sim_set_next(struct sim *s, enum sim_source source, sim_time at)
{
	s->next[source] = at | source;
}

static inline void sim_area_up(struct sim_area *a, sim_time at)
{
	a->level++;
	a->sum -= at;
}

static inline void sim_area_down(struct sim_area *a, sim_time at)
{
	a->level--;
	a->sum += at;
}

static inline void sim_area_open(struct sim_area *a, sim_time at)
{
	a->sum = -((unsigned __int128)a->level * at);
}

static inline double sim_area_close(const struct sim_area *a, sim_time at)
{
	return (double)(__int128)(a->sum + (unsigned __int128)a->level * at) / SIM_TICKS_PER_NS;
}

#endif
