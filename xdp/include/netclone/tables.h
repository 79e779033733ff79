/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the data planes and their control plane share: keys and values of every table.
 * Host byte order unless the type says be. netclone_host/attach/tables.py mirrors this file
 * and is tested against it. */
#ifndef NETCLONE_TABLES_H
#define NETCLONE_TABLES_H

#include "limits.h"
#include "wire.h"

struct nc_ports {
	nc_u32 count;
	nc_be16 port[NC_MAX_PORTS]; /* unused entries are 0 */
};

/* ---- switch ---- */

enum nc_switch_flags {
	NC_SWITCH_RACKSCHED = 1 << 0, /* shorter queue instead of the first candidate */
	NC_SWITCH_GENERIC = 1 << 1,   /* generic mode: a partial checksum stays partial */
	NC_SWITCH_NO_CLONES = 1 << 2, /* RackSched alone */
	NC_SWITCH_RESERVE = 1 << 3,   /* the reserve rule; servers need NC_HOST_RESERVE */
	NC_SWITCH_HOLD = 1 << 4,      /* the control plane renumbers groups: no clones meanwhile */
};

/* Table "nc_switch_cfg": ARRAY of 1. */
struct nc_switch_config {
	struct nc_ports ports;
	nc_u32 flags;	 /* enum nc_switch_flags */
	nc_u32 n_groups; /* n(n-1); GRP above it is out of range */
	nc_u32 n_filter_tables;
	nc_u32 filter_mask; /* slots per table - 1 */
	nc_u16 switch_id;   /* 0: single rack */
	nc_u16 reserved;
	nc_u32 clone_share;	  /* of the requests, in 1/65536, may be cloned; 0: any */
	nc_u32 longest_frame;	  /* that all servers' ports can send; 0: not known */
	nc_u64 server_timeout_ns; /* 0: no failure detection */
	nc_u64 state_timeout_ns;  /* 0: states do not age */
	nc_u64 secret;		  /* random: makes the hash of who asked unpredictable */
};

/* Table "nc_groups" (GrpT): ARRAY indexed by GRP, entry 0 unused. */
struct nc_group {
	nc_u16 first;
	nc_u16 second;
};

enum nc_server_flags {
	NC_SERVER_VALID = 1 << 0,
};

/* Table "nc_servers" (AddrT): ARRAY of NC_MAX_SERVERS indexed by SID. */
struct nc_server {
	nc_u32 flags;	/* enum nc_server_flags */
	nc_u32 ifindex; /* port it sits behind; 0: not resolved */
	nc_be32 ip4;	/* 0: none */
	nc_u8 mac[6];
	nc_u16 max_frame; /* bytes that its port can send, with the Ethernet header; 0: not known */
	nc_be32 ip6[4];	  /* all 0: none */
};

/* Table "nc_state" (StateT; the shadow table of the paper is not needed where memory
 * can be read twice): ARRAY of NC_MAX_SERVERS, nc_u32 queue length indexed by SID. */

/* Table "nc_health": ARRAY of NC_MAX_SERVERS indexed by SID: what only extensions ask of a
 * server. */
struct nc_health {
	nc_u64 owing_since_ns;	     /* first request since the last response; 0: owes nothing */
	nc_u64 probed_ns;	     /* last probe; 0: never */
	nc_u32 owed;		     /* requests sent since the last response */
	nc_u32 passed_over_for;	     /* the state that keeps it from being asked, .. */
	nc_u64 passed_over_since_ns; /* .. since when; 0: not noted */
};

/* Table "nc_sequence": ARRAY of 1, nc_u64; its low 32 bits are the last REQ_ID. */
/* Table "nc_filter" (FilterT): ARRAY of tables * slots, nc_u64 fingerprint; 0: empty. */
/* Table "nc_requests": ARRAY of 2^16, nc_u64; cloned-request table (multi-packet): a request key,
 * and BOTH and SECOND of what was chosen, from bit 59 up. */
/* Table "nc_attempts": ARRAY of 2^16, nc_u64; how often packets of a request with the client's id
 * were cloned, by slot of the request key. */
/* Table "nc_fdb": ARRAY of 2^12, nc_u64 = MAC << 16 | ifindex, and NC_FDB_FIXED. */
#define NC_FDB_FIXED (1ULL << 56) /* the group bit, which no source has: not to be learned over */
/* Table "nc_port_roles": ARRAY by ifindex, nc_u32 of enum nc_port_role. */
enum nc_port_role {
	NC_PORT_CLIENT = 1 << 0, /* a client of the topology is behind it, and no server */
};
/* Table "nc_clone_tokens": ARRAY of 1, nc_u64: what may be cloned now, in 1/65536. */
/* Table "nc_ports": DEVMAP indexed by ifindex, every attached port and every
 * server's port. Table "nc_clone_ports": ARRAY_OF_MAPS by GRP -> DEVMAP of 2 entries:
 * 0 = port of the first server, 1 = port of the second. In both, an entry that leads to a
 * server's port names the clone program (see nc_switch_egress). */
/* Table "nc_turn": PERCPU_ARRAY of 1, nc_u64 fingerprint of a request whose original has just
 * left by a port that its clone is to leave by next; 0: none. */

/* What is chosen for a request: a set of these bits. None of them: the first candidate alone. */
enum nc_choice {
	NC_CHOICE_BOTH = 1 << 0,   /* cloned: the original to one, the clone to the other */
	NC_CHOICE_SECOND = 1 << 1, /* the request, or the original, goes to the second */
	NC_CHOICE_PROBE = 1 << 2,  /* with BOTH: the clone probes a failed server */
	NC_CHOICE_NONE = 1 << 3,   /* nothing to choose by */
	NC_CHOICE_CAPPED = 1 << 4, /* not cloned, since enough are */
};

/* ---- hosts ---- */

/* What a host knows of itself: a packet for another is not looked at. */
struct nc_host {
	nc_u8 mac[6]; /* all 0: not known */
	nc_u16 reserved;
	nc_be32 ip4[NC_MAX_ADDRESSES]; /* the first 0: none known, any will do */
	nc_be32 ip6[NC_MAX_ADDRESSES][4];
};

/* ---- server ---- */

enum nc_state_source {
	NC_STATE_INFLIGHT = 0,
	NC_STATE_APP = 1,
};

enum nc_host_flags {
	NC_HOST_XSK = 1 << 0,	    /* hand packets to the AF_XDP socket of their queue */
	NC_HOST_RESERVE = 1 << 1,   /* server: the reserve rule */
	NC_HOST_SWITCH_ID = 1 << 2, /* client: switch_id is known */
};

/* Table "nc_server_cfg": ARRAY of 1. */
struct nc_server_config {
	struct nc_ports ports;
	nc_u32 sid;
	nc_u32 workers;
	nc_u32 state_source; /* enum nc_state_source */
	nc_u32 slice_shift;  /* a slice of the request timeout is 2^shift ns */
	nc_u32 slices;	     /* a request is forgotten after this many slices */
	nc_u32 n_filter_tables;
	nc_u32 flags; /* enum nc_host_flags */
	struct nc_host host;
};

/* Table "nc_inflight": ARRAY of 2^16, nc_u64 = key << 32 | slice. */
/* Table "nc_slices": ARRAY of 1 */
struct nc_slices {
	nc_u64 slice[NC_INFLIGHT_SLICES]; /* slice number << 32 | requests in flight */
};
/* Table "nc_app_state": mmap-able ARRAY of 1, nc_u32 queue length (with NC_HOST_RESERVE:
 * requests held, waiting or in work). */

/* Table "nc_reserve": ARRAY of 1; moving averages, all in 1/65536. */
struct nc_reserve {
	nc_u32 busy;	  /* workers that a request finds busy */
	nc_u32 originals; /* share of the requests that are not clones */
};

/* ---- client ---- */

/* Table "nc_client_cfg": ARRAY of 1. */
struct nc_client_config {
	struct nc_ports ports;
	nc_u32 n_groups;
	nc_u32 n_filter_tables;
	nc_u32 flags;		    /* enum nc_host_flags */
	nc_u64 duplicate_window_ns; /* a duplicate is recognised for this long */
	nc_u64 secret;		    /* as the switch's */
	struct nc_host host;
	nc_u16 switch_id; /* of the client's ToR */
	nc_u16 reserved;
	nc_u32 reserved2;
};

/* Table "nc_answered": ARRAY of 2^16, nc_u64 = key << NC_ANSWERED_TIME_BITS | time (client.h). */

/* Both hosts: "nc_xsks": XSKMAP by receive queue.
 * Every program: "nc_counters": PERCPU_ARRAY of NC_HOOK_COUNT, nc_u64[NC_CTR_COUNT]. */

_Static_assert(sizeof(struct nc_ports) == 20, "no padding");
_Static_assert(sizeof(struct nc_switch_config) == 72, "no padding");
_Static_assert(sizeof(struct nc_group) == 4, "no padding");
_Static_assert(sizeof(struct nc_server) == 36, "no padding");
_Static_assert(sizeof(struct nc_health) == 32, "no padding");
_Static_assert(sizeof(struct nc_host) == 88, "no padding");
_Static_assert(sizeof(struct nc_server_config) == 136, "no padding");
_Static_assert(sizeof(struct nc_reserve) == 8, "no padding");
_Static_assert(sizeof(struct nc_client_config) == 144, "no padding");

#endif
