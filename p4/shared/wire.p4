/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The NetClone header (docs/wire-format.md). xdp/include/netclone/wire.h declares it;
 * tests/p4/test_lint.py holds this text against that one. */
#ifndef NETCLONE_P4_WIRE
#define NETCLONE_P4_WIRE

const bit<16> NC_DEFAULT_PORT = 1000;
const bit<16> NC_HEADER_LEN = 28;

const bit<8> NC_TYPE_REQ = 0;
const bit<8> NC_TYPE_RESP = 1;

const bit<8> NC_CLO_NONE = 0;
const bit<8> NC_CLO_ORIGINAL = 1;
const bit<8> NC_CLO_CLONE = 2;

const bit<8> NC_FLAG_NO_CLONE = 1;
const bit<8> NC_FLAG_CLIENT_ID_VALID = 2;

header netclone_h {
    bit<16> switch_id;
    bit<8>  flags;
    bit<8>  type;
    bit<32> req_id;
    bit<32> grp;
    bit<32> sid;
    bit<32> state;
    bit<8>  pkt_index;
    bit<8>  pkt_count;
    bit<8>  reserved0;
    bit<8>  clo;
    bit<16> client_id;
    bit<8>  reserved1;
    bit<8>  idx;
}

#endif
