/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Every size of the data plane, and why it is what it is. */
#ifndef NETCLONE_LIMITS_H
#define NETCLONE_LIMITS_H

/* Server ids are 0 .. 255, so that an ordered pair fits the 65,280 groups below. */
#define NC_MAX_SERVERS 256
/* n(n-1) ordered pairs for n = 256; GRP 0 means blank. */
#define NC_MAX_GROUPS (NC_MAX_SERVERS * (NC_MAX_SERVERS - 1))
/* Servers a switch has room for unless the topology asks for more (group table, devmaps). */
#define NC_DEFAULT_SERVERS 32

/* UDP (or TCP) ports that one attach serves. */
#define NC_MAX_PORTS 8

/* Filter tables (section 3.5 of the paper): 2^17 slots each; IDX picks the table. */
#define NC_FILTER_SLOTS_LOG2 17
#define NC_DEFAULT_FILTER_TABLES 2
#define NC_MAX_FILTER_TABLES 16

/* Cloned-request table: decisions for multi-packet requests still under way. */
#define NC_REQUEST_SLOTS_LOG2 16

/* Source MAC address -> port of a client, learned from its requests; direct mapped. */
#define NC_FDB_SLOTS_LOG2 12

/* Server: requests in flight, direct mapped by a hash of the request's identity. */
#define NC_INFLIGHT_SLOTS_LOG2 16
/* Server: slices of the request timeout; a request is forgotten with its slice. */
#define NC_INFLIGHT_SLICES 8

/* Addresses of either version that a host knows of itself. */
#define NC_MAX_ADDRESSES 4

/* Client: responses already delivered, direct mapped by request id. */
#define NC_ANSWERED_SLOTS_LOG2 16

/* Ports by ifindex; the loader makes room for the highest one, which fits 16 bits. */
#define NC_DEFAULT_PORT_ENTRIES 1024

/* AF_XDP: receive queues that may hand packets to a socket. */
#define NC_MAX_XSK_QUEUES 64

/* Longest L4 part of a NetClone packet: a checksum may have to be computed over it, and
 * a frame in native XDP is at most a page. */
#define NC_MAX_L4_LEN 4096

#define NC_VLAN_MAX_TAGS 2

#endif
