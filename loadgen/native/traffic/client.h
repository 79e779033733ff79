/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The open-loop client: one stream of requests on an absolute schedule, in one thread.
 *
 * Request i is scheduled at a time that does not depend on when anything was sent or
 * answered; its latency is counted from that time, so that neither a slow generator nor a
 * slow server can hide waiting. loadgen/traffic/clients.py fills the structs
 * (native/client_structs.py mirrors them) and calls lg_client_run() in one thread per stream. */
#ifndef LG_CLIENT_H
#define LG_CLIENT_H

#include "lib/distribution.h"
#include "lib/histogram.h"
#include "io.h"
#include "operation_mix.h"
#include "lib/stall.h"

enum lg_target {
	LG_TARGET_ONE = 0, /* NO_CLONE to one server at random (baseline) */
	LG_TARGET_TWO,	   /* NO_CLONE copies to two different servers at random (c-clone) */
	LG_TARGET_GROUP,   /* the switch decides (netclone, racksched) */
};

enum lg_client_flags {
	LG_CLIENT_BUSY = 1 << 0,     /* never sleep */
	LG_CLIENT_SATURATE = 1 << 1, /* as fast as it goes: scheduled when sent */
	LG_CLIENT_KEEN = 1 << 2,     /* sleep, but spin through the last part of each gap */
};

enum lg_client_end {
	LG_END_COMPLETE = 0,
	LG_END_STOPPED, /* *stop was set */
	LG_END_IO,	/* the back end failed; io_error says why */
	LG_END_TRACE,	/* the trace could not be written; io_error says why */
};

struct lg_client_config {
	struct lg_io *io;
	const struct lg_peer *peers; /* servers (or the one coordinator) */
	uint32_t n_peers;
	uint32_t target; /* enum lg_target */
	uint32_t flags;	 /* enum lg_client_flags */
	uint32_t run;	 /* anything that differs between runs */
	uint32_t stream;
	uint32_t n_groups; /* GRP stamped here; 0: left blank for the client's program */
	uint32_t n_filter_tables;
	uint32_t payload_len; /* at least LG_PAYLOAD_LEN */
	uint64_t seed;
	uint64_t start_ns;		 /* CLOCK_MONOTONIC */
	uint64_t warmup_ns, duration_ns; /* the measured window begins after the warm-up */
	uint64_t quiet_ns;		 /* after the end: give up when nothing came for so long */
	uint64_t drain_ns;		 /* after the end: give up at last */
	uint64_t late_ns;		 /* a send this long after its time is late */
	struct lg_dist gap;		 /* between bursts, mean 1/rate x burst */
	uint32_t burst;			 /* requests scheduled at once */
	int32_t trace_fd;		 /* -1: none; else struct lg_trace_entry, one per answer */
	uint32_t draw_service;		 /* 1: `service` is drawn here, the same for every server */
	uint32_t reserved;
	struct lg_dist service;
	struct lg_mix mix;
	const volatile uint32_t *stop;
};

struct lg_trace_entry {
	uint64_t seq, sched_ns, sent_ns, recv_ns; /* ns since the start of the run */
	uint32_t sid, clo;
};

/* Counts are of measured requests (scheduled inside the window) unless noted. */
struct lg_client_result {
	uint64_t scheduled, sent, answered, redundant;
	uint64_t copies_sent;	 /* of all requests, warm-up included */
	uint64_t responses;	 /* of all */
	uint64_t of_cloned;	 /* of all: first answers that say (CLO) that the switch cloned */
	uint64_t window_answers; /* first answers that arrived inside the window, of any request */
	uint64_t late_sends, max_late_ns;
	uint64_t send_errors; /* of all copies; a request of which none left is not sent */
	uint64_t stale;	      /* of all: foreign, of another run, or older than the window of ids */
	uint64_t wrong_values, store_errors;
	uint64_t rx_dropped, rx_invalid;
	uint64_t cpu_ns;      /* processor time of the thread until the end of the window */
	uint64_t measured_ns; /* how much of the window passed: all of it, or less of a partial run
			       */
	uint64_t last_begin_ns; /* of the last send */
	uint64_t all_sent;
	int64_t clock_step_ns; /* CLOCK_REALTIME was stepped by so much during the run */
	uint32_t end;	       /* enum lg_client_end */
	int32_t io_error;      /* errno */
	int32_t send_errno;    /* of the last send error */
	uint32_t reserved;
	struct lg_hist latency;	  /* arrival - scheduled */
	struct lg_hist late;	  /* sent - scheduled */
	struct lg_hist sent_gap;  /* between the beginnings of two sends in a row */
	struct lg_hist sched_gap; /* between two scheduled times in a row */
	struct lg_stalls stalls;  /* of the machine; its `held` counts sends, of all */
	/* sent_gap as it would have been had the sends that a stall held left when due. */
	struct lg_moments unheld_gap;
};

/* 0, or -errno when it could not begin. */
int lg_client_run(const struct lg_client_config *config, struct lg_client_result *result);
/* Only goes through the schedule of so many requests, as lg_client_run() would, into
 * result->sched_gap. 0 or -errno. */
int lg_client_schedule(const struct lg_client_config *config, uint64_t requests,
		       struct lg_client_result *result);

#endif
