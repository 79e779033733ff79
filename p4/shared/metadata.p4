/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the tables tell one another about a packet. */
#ifndef NETCLONE_P4_METADATA
#define NETCLONE_P4_METADATA

#include "counters.p4"
#include "headers.p4"

typedef bit<8> server_t;
typedef bit<9> port_t;

/* What a packet is to this switch. Responses have the upper bit. */
typedef bit<4> role_t;
const role_t ROLE_ORDINARY = 0;        /* passed untouched, for nc.reason */
const role_t ROLE_REQUEST = 1;         /* may be cloned */
const role_t ROLE_PINNED = 2;          /* several packets that nothing ties: first candidate */
const role_t ROLE_MULTI = 3;           /* several packets, tied by the client's id */
const role_t ROLE_WRITE = 4;           /* NO_CLONE: the destination is the client's choice */
const role_t ROLE_CLONE = 5;            /* the clone, on its second pass */
const role_t ROLE_ALREADY_CLONED = 6;  /* CLO set by someone else */
const role_t ROLE_BAD_REQUEST = 7;     /* CLO above 2 */
const role_t ROLE_RESPONSE = 8;        /* to a request that was not cloned */
const role_t ROLE_CLONED_RESPONSE = 9; /* one of two */
const role_t ROLE_BAD_RESPONSE = 10;   /* CLO above 2 */
const role_t ROLE_ANONYMOUS_TCP = 11;  /* TCP without CLIENT_ID_VALID */
const role_t ROLE_BAD_TYPE = 12;       /* neither REQ nor RESP */

/* Which candidates can be used: in the address table, with a port and an address of the
 * packet's IP version. The control plane works it out for every group. */
typedef bit<2> usable_t;
const usable_t USABLE_NONE = 0;
const usable_t USABLE_SECOND = 1;
const usable_t USABLE_FIRST = 2;
const usable_t USABLE_BOTH = 3;

/* Multicast group of a first server: this bit and its id. Members: the server's port and
 * the port that recirculates. */
const bit<16> MULTICAST_NONE = 0;
const bit<16> MULTICAST_FLOOD = 1;
#define MULTICAST_OF(server) (8w1 ++ server)

struct netclone_meta_t {
    bit<1>   recirculated;
    bit<1>   to_port;      /* destination port is a NetClone port */
    bit<1>   from_port;    /* source port is one */
    bit<1>   group_known;
    bit<1>   idx_known;    /* a filter table that exists */
    bit<1>   ours;         /* SWITCH_ID is 0 or our own */
    bit<1>   source_known; /* a response comes from the address that its SID names */
    bit<1>   host_known;   /* ordinary forwarding has a port */
    bit<1>   racksched;    /* the shorter queue, where a request is not cloned */
    bit<1>   cloning;
    bit<1>   clonable;     /* two candidates that could both get the request */
    bit<1>   is_ipv6;
    bit<1>   elsewhere;    /* Tofino: the destination's port is of another pipeline */
    bit<1>   lost;         /* a clone whose server is gone, or no way to route */
    role_t   role;
    usable_t usable_v4;
    usable_t usable_v6;
    bit<1>   first_idle;   /* what the two states say [line 6] */
    bit<8>   second_wins;  /* 1: the second is idle too, or has the shorter queue */
    bit<16>  length_gap;   /* UDP: what IP says beyond the UDP length; else what is right */
    reason_t reason;
    server_t first;
    server_t second;
    server_t chosen;
    bit<16>  switch_id;    /* our own */
    bit<16>  source_port;  /* UDP or TCP */
    bit<16>  destination_port;
    port_t   out_port;
    bit<16>  multicast;
    bit<32>  mark;         /* BMv2: upper half of the fingerprint */
    bit<8>   mix_kind;     /* Tofino: what CLIENT_ID and PKT_INDEX do to a fingerprint's slot */
    bit<8>   mix_high;
    bit<8>   mix_low;
    bit<17>  slot;         /* Tofino: of the fingerprint in its filter table */
    bit<8>   slower;       /* Tofino: 1: the response that came second */
    bit<1>   ipv4_changed; /* Tofino: checksums that the deparser updates */
    bit<1>   udp_changed;
    bit<1>   tcp_changed;
    bit<16>  l4_residual;  /* L4 checksum without what NetClone changes */
}

#endif
