/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The simulator's interface: one call simulates one replication of one point (scheme,
 * load) and returns its sums. loadgen/sim/native.py mirrors these structures, and checks
 * their sizes against sim_abi(). */
#ifndef SIM_H
#define SIM_H

#include <stddef.h>
#include <stdint.h>

#include "lib/distribution.h"
#include "lib/histogram.h"

#define SIM_MAX_SERVERS 256
#define SIM_MAX_RACKS 16
#define SIM_MAX_CLASSES 4
#define SIM_MAX_FAULTS 64

enum sim_scheme {
	SIM_BASELINE = 0,  /* one server at random */
	SIM_CCLONE = 1,	   /* the client sends `copies` copies to different servers */
	SIM_LAEDGE = 2,	   /* a coordinator clones when two servers are idle */
	SIM_RACKSCHED = 3, /* the switch picks the shorter queue of two, no clones */
	SIM_NETCLONE = 4,
	SIM_NETCLONE_RACKSCHED = 5,
	SIM_NETCLONE_RESERVE = 6, /* docs/simulator.md, "Beyond the paper" */
	SIM_SCHEMES,
};

enum sim_fault_kind {
	SIM_SERVER_DOWN = 0, /* loses what it holds, answers nothing */
	SIM_SERVER_UP = 1,
	SIM_SWITCH_DOWN = 2, /* packets that reach it are lost */
	SIM_SWITCH_UP = 3,   /* comes back with its tables empty, the control plane's filled in */
	SIM_SERVER_REMOVED = 4, /* the control plane takes it out of the address tables */
	SIM_SERVER_ADDED = 5,
};

struct sim_fault {
	double at_ns;  /* counted from the first measured request */
	uint32_t kind; /* enum sim_fault_kind */
	uint32_t id;   /* server, or rack of the switch */
};

/* A class of requests: its share, its service times, whether it may be cloned. */
struct sim_class {
	double share;
	uint32_t no_clone; /* 1: a write, FLAGS.NO_CLONE, to its primary */
	uint32_t reserved;
	struct lg_dist service;
};

struct sim_config {
	uint32_t scheme; /* enum sim_scheme */
	uint32_t servers;
	uint32_t clients;
	uint32_t racks;	  /* servers and clients are dealt round to the racks */
	uint32_t copies;  /* SIM_CCLONE: 1 .. servers */
	uint32_t classes; /* 1 .. SIM_MAX_CLASSES */
	uint32_t faults;
	uint32_t queue_limit; /* requests that a server's queue holds */
	uint32_t filter_tables;
	uint32_t filter_slots_log2;
	uint32_t coordinator_slots; /* a server is idle below this many; 0: its workers */
	uint32_t count_in_flight;   /* 1: servers' programs count requests in flight; 0: the
				     * application tells them its queue */
	uint32_t reserved0;
	uint32_t shared_service; /* 1: all copies of a request take the same time (but for
				  * jitter); 0: each draws its own */
	uint64_t seed;
	uint64_t warmup;   /* requests before the measurement */
	uint64_t requests; /* measured requests */
	double rate_rps;
	double link_ns;		       /* host to switch, one way */
	double aggregation_ns;	       /* rack to rack, one way */
	double switch_ns;	       /* one pass of a switch's pipeline */
	double dispatch_ns;	       /* server: per request, one dispatcher */
	double client_ns;	       /* client: per response, one receiver */
	double coordinator_ns;	       /* coordinator: per packet received or sent */
	double coordinator_timeout_ns; /* a copy not answered by then frees its slot */
	double loss;		       /* probability that a link loses a packet */
	double server_timeout_ns;      /* failure detection in the switch; 0: none */
	double timeline_ns;	       /* width of a bucket of the timeline */
	uint32_t timeline_buckets;     /* 0: no timeline */
	uint32_t reserved;
	uint32_t workers[SIM_MAX_SERVERS];
	struct sim_class klass[SIM_MAX_CLASSES];
	struct sim_fault fault[SIM_MAX_FAULTS]; /* in order of time */
};

struct sim_result {
	/* Measured requests: sent = answered + lost. */
	uint64_t sent, answered, lost;
	/* From the first measured request to the one after the last. */
	double window_ns;
	double in_system_area;	  /* requests between the switch's two passes, integrated over ns */
	double busy_area;	  /* busy workers, integrated over ns */
	double queued_area;	  /* copies in the servers' queues, integrated over ns */
	uint64_t answers;	  /* first responses that reached their client */
	uint64_t cloned;	  /* requests sent as more than one copy */
	uint64_t clones_refused;  /* clones that a server dropped: not idle */
	uint64_t filtered;	  /* slower responses that the switch dropped */
	uint64_t slipped;	  /* slower responses that reached a client */
	uint64_t delivered_twice; /* of these, the ones its program did not recognise */
	uint64_t packets_lost;	  /* by links, stopped servers and switches */
	uint64_t queue_overflows; /* copies that found a full queue */
	uint64_t coordinator_overflows;
	/* The whole run. */
	uint64_t total_requests, total_events;
};

/* Runs one replication. `latency` (initialised) takes the measured requests' latencies;
 * `timeline` (or NULL) takes answers by bucket, counted from the first measured request.
 * Returns 0, or -ENOMEM. */
int sim_run(const struct sim_config *cfg, struct sim_result *res, struct lg_hist *latency,
	    uint64_t *timeline);

/* Sizes of struct sim_config, sim_result, sim_class, lg_hist. */
void sim_abi(size_t size[4]);

#endif
