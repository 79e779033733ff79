/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The NetClone header: 28 bytes at the start of the L4 payload, network byte order.
 * This is the only declaration of the layout; docs/wire-format.md is its prose, and
 * the Python codec and the P4 header are tested against it. */
#ifndef NETCLONE_WIRE_H
#define NETCLONE_WIRE_H

typedef __UINT8_TYPE__ nc_u8;
typedef __UINT16_TYPE__ nc_u16;
typedef __UINT32_TYPE__ nc_u32;
typedef __UINT64_TYPE__ nc_u64;
typedef __INT64_TYPE__ nc_s64;

/* Multi-byte fields hold network byte order in memory. */
typedef nc_u16 nc_be16;
typedef nc_u32 nc_be32;

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define nc_htons(x) ((nc_be16)__builtin_bswap16((nc_u16)(x)))
#define nc_htonl(x) ((nc_be32)__builtin_bswap32((nc_u32)(x)))
#else
#define nc_htons(x) ((nc_be16)(x))
#define nc_htonl(x) ((nc_be32)(x))
#endif
#define nc_ntohs(x) nc_htons(x)
#define nc_ntohl(x) nc_htonl(x)

#define NC_INLINE static inline __attribute__((always_inline, unused))
#ifdef __clang__
#define NC_UNROLL _Pragma("unroll")
#else
#define NC_UNROLL
#endif
#define nc_likely(x) __builtin_expect(!!(x), 1)
#define nc_unlikely(x) __builtin_expect(!!(x), 0)

#define NC_DEFAULT_PORT 1000
#define NC_HEADER_LEN 28

enum nc_type {
	NC_TYPE_REQ = 0,
	NC_TYPE_RESP = 1,
};

enum nc_clo {
	NC_CLO_NONE = 0,     /* not cloned */
	NC_CLO_ORIGINAL = 1, /* cloned, this is the original */
	NC_CLO_CLONE = 2,    /* cloned, this is the clone */
};

enum nc_flags {
	NC_FLAG_NO_CLONE = 1 << 0,	  /* a write: never cloned */
	NC_FLAG_CLIENT_ID_VALID = 1 << 1, /* the id is (CLIENT_ID, REQ_ID), chosen by the client */
	NC_FLAG_FAILED = 1 << 2,	  /* RESP: not served; the other one may be better */
};

/* A packet puts structures at any even address. BPF programs (on the kernels we load on)
 * and the verifier take that as it is; ordinary C must be told. */
#ifdef __bpf__
#define NC_UNALIGNED
#else
#define NC_UNALIGNED __attribute__((packed))
#endif

struct nc_header {
	nc_be16 switch_id; /* 0: not yet claimed by a ToR */
	nc_u8 flags;	   /* enum nc_flags */
	nc_u8 type;	   /* enum nc_type */
	nc_be32 req_id;	   /* 0: not assigned */
	nc_be32 grp;	   /* 1 .. n(n-1); 0: blank, the client's program fills it in */
	nc_be32 sid;	   /* RESP: who answers; REQ with CLO != 0: the second server */
	nc_be32 state;	   /* RESP: length of the server's request queue */
	nc_u8 pkt_index;   /* 0 .. pkt_count - 1 */
	nc_u8 pkt_count;   /* 0 and 1: a single packet */
	nc_u8 reserved0;
	nc_u8 clo; /* enum nc_clo */
	nc_be16 client_id;
	nc_u8 reserved1;
	nc_u8 idx; /* filter table */
} NC_UNALIGNED;

#define NC_OFFSET_IS(field, offset)                                                                \
	_Static_assert(__builtin_offsetof(struct nc_header, field) == (offset),                    \
		       #field " is at offset " #offset)

_Static_assert(sizeof(struct nc_header) == NC_HEADER_LEN, "the header is 28 bytes");
NC_OFFSET_IS(switch_id, 0);
NC_OFFSET_IS(flags, 2);
NC_OFFSET_IS(type, 3);
NC_OFFSET_IS(req_id, 4);
NC_OFFSET_IS(grp, 8);
NC_OFFSET_IS(sid, 12);
NC_OFFSET_IS(state, 16);
NC_OFFSET_IS(pkt_index, 20);
NC_OFFSET_IS(pkt_count, 21);
NC_OFFSET_IS(reserved0, 22);
NC_OFFSET_IS(clo, 23);
NC_OFFSET_IS(client_id, 24);
NC_OFFSET_IS(reserved1, 26);
NC_OFFSET_IS(idx, 27);

#endif
