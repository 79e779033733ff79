/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What this program has room for. The control plane refuses a topology that does not
 * fit; netclone_host/control/limits.py mirrors the numbers and is tested against them. */
#ifndef NETCLONE_P4_LIMITS
#define NETCLONE_P4_LIMITS

/* Server ids are 0 .. 255 (NC_MAX_SERVERS); n(n-1) = 65,280 ordered pairs. */
const bit<32> NC_MAX_SERVERS = 256;
const bit<32> NC_MAX_GROUPS = 65280;

const bit<32> NC_MAX_PORTS = 8;

/* Filter tables of 2^17 slots (section 3.5 of the paper). */
#define NC_FILTER_SLOTS_LOG2 17
const bit<32> FILTER_SLOTS = 1 << NC_FILTER_SLOTS_LOG2;

/* How many filter tables are compiled in: -DNETCLONE_FILTER_TABLES=1 .. 4. */
#ifndef NETCLONE_FILTER_TABLES
#define NETCLONE_FILTER_TABLES 2
#endif

/* Hosts that ordinary forwarding knows: MAC addresses, routes, own addresses. */
const bit<32> HOST_TABLE_SIZE = 1024;
const bit<32> ROUTE_TABLE_SIZE = 512;
const bit<32> STATION_TABLE_SIZE = 64;

#endif
