/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One counter per packet: the reason why it went where it went. The counters of a hook
 * add up to the packets that the hook has seen. X(name, what it counts) */
#ifndef NETCLONE_COUNTERS_H
#define NETCLONE_COUNTERS_H

#define NC_COUNTER_LIST(X)                                                                         \
	/* passed untouched: not NetClone */                                                       \
	X(not_netclone, "not IP, not UDP or TCP, or no NetClone port")                             \
	X(runt, "frame ends inside a header that it announces")                                    \
	X(fragment, "IP fragment")                                                                 \
	X(ip_options, "IPv4 header with options")                                                  \
	X(ipv6_extension, "IPv6 extension header")                                                 \
	X(bad_length, "UDP and IP lengths disagree, or exceed the frame")                          \
	X(short_payload, "payload shorter than the 28-byte header")                                \
	X(bad_type, "TYPE is neither REQ to nor RESP from a NetClone port")                        \
	X(bad_clo, "CLO above 2")                                                                  \
	X(bad_group, "GRP out of range")                                                           \
	X(bad_sid, "SID out of range")                                                             \
	X(bad_idx, "IDX out of range")                                                             \
	X(tcp_without_client_id, "TCP, but FLAGS lacks CLIENT_ID_VALID")                           \
	/* switch, requests */                                                                     \
	X(cloned, "request cloned: one to each candidate")                                         \
	X(not_cloned, "request sent to one candidate")                                             \
	X(no_clone, "request with NO_CLONE, destination left alone")                               \
	X(clone_capped, "request that could be cloned, but enough are (clone_share_max)")          \
	X(clone_sent, "clone readdressed to the second server (devmap hook)")                      \
	X(clone_lost, "clone dropped: its second server is gone (devmap hook)")                    \
	X(probed, "request cloned towards a server considered failed")                             \
	X(already_cloned, "request with CLO set arrived from outside, dropped")                    \
	X(foreign_switch, "claimed by another switch, passed untouched")                           \
	X(unknown_port, "no port known for the destination, passed untouched")                     \
	X(too_long, "frame that no candidate's port can send, passed untouched")                   \
	X(checksum_ambiguous, "generic mode: checksum may be partial or full, passed untouched")   \
	/* switch, responses */                                                                    \
	X(response_forwarded, "response to a request that was not cloned")                         \
	X(response_first_original, "faster response of a cloned request: the original's")          \
	X(response_first_clone, "faster response of a cloned request: the clone's")                \
	X(response_failed, "response with FAILED, forwarded: does not count as the first")         \
	X(filtered_slower_response, "slower response, dropped")                                    \
	X(unknown_source, "response not from its SID's address and port, passed untouched")        \
	X(dropped_forged_response, "the same from a client's port, dropped")                       \
	/* server */                                                                               \
	X(request_admitted, "request (CLO 0 or 1) handed to the server")                           \
	X(clone_admitted, "clone handed to the server, its queue was empty")                       \
	X(dropped_server_busy, "clone dropped, the request queue was not empty")                   \
	X(dropped_from_server_port, "response to a NetClone port of a server, dropped")            \
	X(response_fragmented, "response longer than the MTU: not stamped, no longer in flight")   \
	X(response_stamped, "response given SID and STATE")                                        \
	/* client */                                                                               \
	X(request_stamped, "blank request given GRP and IDX")                                      \
	X(request_passed, "request that has its GRP already")                                      \
	X(response_delivered, "response handed to the client")                                     \
	X(dropped_already_answered, "response to a request already answered, dropped")             \
	/* either host */                                                                          \
	X(other_direction, "response at a server's, request at a client's ingress (or egress)")    \
	X(not_for_host, "addressed to another host, to a group or to all, passed untouched")       \
	X(checksum_failed, "rewritten but its checksum could not be updated: dropped")

enum nc_counter {
#define NC_COUNTER_ENUM(name, text) NC_CTR_##name,
	NC_COUNTER_LIST(NC_COUNTER_ENUM)
#undef NC_COUNTER_ENUM
		NC_CTR_COUNT,
};

/* Where a program runs; each hook has its own set of counters. */
enum nc_hook {
	NC_HOOK_INGRESS = 0, /* XDP */
	NC_HOOK_EGRESS = 1,  /* tc, on the hosts */
	NC_HOOK_CLONE = 2,   /* devmap program of the switch */
	NC_HOOK_COUNT,
};

#endif
