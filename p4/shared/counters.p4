/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Why a packet went where it went: one counter a packet, numbered as the enumeration of
 * xdp/include/netclone/counters.h, which says what each counts (tests/p4/test_lint.py).
 * Those that only a host can see are left out. */
#ifndef NETCLONE_P4_COUNTERS
#define NETCLONE_P4_COUNTERS

typedef bit<8> reason_t;

const reason_t NC_CTR_not_netclone = 0;
const reason_t NC_CTR_runt = 1;
const reason_t NC_CTR_fragment = 2;
const reason_t NC_CTR_ip_options = 3;
const reason_t NC_CTR_ipv6_extension = 4;
const reason_t NC_CTR_bad_length = 5;
const reason_t NC_CTR_short_payload = 6;
const reason_t NC_CTR_bad_type = 7;
const reason_t NC_CTR_bad_clo = 8;
const reason_t NC_CTR_bad_group = 9;
const reason_t NC_CTR_bad_sid = 10;
const reason_t NC_CTR_bad_idx = 11;
const reason_t NC_CTR_tcp_without_client_id = 12;
const reason_t NC_CTR_cloned = 13;
const reason_t NC_CTR_not_cloned = 14;
const reason_t NC_CTR_no_clone = 15;
const reason_t NC_CTR_clone_sent = 17;
const reason_t NC_CTR_clone_lost = 18;
const reason_t NC_CTR_already_cloned = 20;
const reason_t NC_CTR_foreign_switch = 21;
const reason_t NC_CTR_unknown_port = 22;
const reason_t NC_CTR_response_forwarded = 25;
const reason_t NC_CTR_response_first_original = 26;
const reason_t NC_CTR_response_first_clone = 27;
const reason_t NC_CTR_filtered_slower_response = 29;
const reason_t NC_CTR_unknown_source = 30;

/* Size of the counter array: every reason, rounded up. */
const bit<32> REASON_COUNT = 64;

#endif
