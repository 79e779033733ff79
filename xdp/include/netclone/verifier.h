/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the kernel's verifier needs beyond plain C, and why. Everything here costs a compiler
 * that does not compile for the kernel nothing, or next to nothing.
 *
 * The verifier walks every path through a program and follows what each register and stack slot
 * may hold. Two things make that fail on code that is right: it runs out of instructions (a
 * million, all paths together), or it knows less than the compiler, which has then dropped a
 * check, or moved it to another copy of the value. */
#ifndef NETCLONE_VERIFIER_H
#define NETCLONE_VERIFIER_H

#include "wire.h"

/* ---- subprograms: one walk for all callers ----
 *
 * A function that is not inlined is walked once, not on each path that leads to it. The verifier
 * then knows nothing of its arguments but their types: pointers are checked for 0, and a
 * pointer into a packet cannot be passed. BCC has no calls between functions. */
#if defined(__bpf__) && !defined(NC_TARGET_BCC)
#define NC_SUBPROGRAM __attribute__((noinline))
#else
#define NC_SUBPROGRAM NC_INLINE
#endif

/* ---- values that the compiler must not reason about ----
 *
 * All four are the same empty statement, which may have changed the value as far as the compiler
 * knows. The name says what for. */
#define NC_FORGOTTEN(value) asm volatile("" : "+r"(value))

/* An argument that a subprogram does not use would not be passed, and the verifier would meet a
 * call with fewer arguments than the function's type says. */
#define NC_KEEP_ARGUMENT(argument) NC_FORGOTTEN(argument)

/* A pointer at a variable offset, before it is checked. Left to itself the compiler computes it
 * twice, checks one of the two and uses the other, whose bounds the verifier has not seen. */
#define NC_ONE_POINTER(pointer) NC_FORGOTTEN(pointer)

/* A value, before a check that the compiler knows to be needless and the verifier does not. */
#define NC_RECHECK(value) NC_FORGOTTEN(value)

/* Paths meet here. Where they differ in a constant, the compiler likes to make a copy of what
 * follows for each, and all copies are walked. */
#define NC_MERGE(value) NC_FORGOTTEN(value)

/* ---- conditions that never hold ----
 *
 * A null pointer where an index is known to be in range, a bound that parse.h has checked at
 * another offset or before paths met: asked again where the verifier wants to see it. A mark for
 * the reader, nothing else. */
#define nc_never(condition) (condition)

/* ---- loops ----
 *
 * Each step of a loop is walked, on each path that leads to it. So packet bytes are not summed
 * one by one: a bounded loop copies chunks out, and a helper adds each up (nc_chunked_sum). Its
 * counter must survive the compiler, or the verifier sees no end: NC_RECHECK. */

/* ---- opaque values: paths that meet are one ----
 *
 * At a meeting of paths the verifier goes on with only one of them if it finds the others alike.
 * It does not if they hold different constants: with or without tags, IPv4 or IPv6, UDP or TCP
 * would be twelve walks through all that follows. So the full path computes what would be
 * constants from the packet's bytes, about which the verifier knows nothing. Branches are no way
 * to do that: each arm would be a constant again. */
NC_INLINE nc_u8 nc_byte_at(const void *start, nc_u32 offset)
{
	return *((const volatile nc_u8 *)start + offset);
}

/* The version of an IP header: 4 or 6. */
NC_INLINE nc_u32 nc_opaque_version(const void *l3)
{
	return nc_byte_at(l3, 0) >> 4;
}

/* 0, the lowest bit of the version. Laid over a value, it changes nothing, and the verifier
 * no longer knows which value it is. */
NC_INLINE nc_u32 nc_opaque_zero(const void *l3)
{
	return nc_opaque_version(l3) & 1;
}

/* The same where only the header is at hand: TYPE of a request. */
NC_INLINE nc_u32 nc_opaque_zero_of(const struct nc_header *request)
{
	return nc_byte_at(request, __builtin_offsetof(struct nc_header, type)) & 0xf;
}
_Static_assert(NC_TYPE_REQ == 0, "nc_opaque_zero_of");

#endif
