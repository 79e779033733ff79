/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One entry per answered request, buffered, into a file. */
#ifndef LG_TRACE_H
#define LG_TRACE_H

#include <errno.h>
#include <stdbool.h>
#include <unistd.h>

#include "client.h"

#define LG_TRACE_BUFFER 4096

struct lg_trace {
	int fd;
	int error; /* errno of the first failed write; nothing is written after it */
	uint32_t used;
	struct lg_trace_entry entry[LG_TRACE_BUFFER];
};

static inline void lg_trace_init(struct lg_trace *t, int fd)
{
	t->fd = fd;
	t->error = 0;
	t->used = 0;
}

static inline void lg_trace_flush(struct lg_trace *t)
{
	const char *from = (const char *)t->entry;
	size_t left = t->used * sizeof(t->entry[0]);

	while (left && !t->error) {
		ssize_t n = write(t->fd, from, left);

		if (n < 0 && errno != EINTR)
			t->error = errno;
		if (n > 0) {
			from += n;
			left -= (size_t)n;
		}
	}
	t->used = 0;
}

/* True if the buffer had to be written, which may have taken its time. */
static inline bool lg_trace_add(struct lg_trace *t, const struct lg_trace_entry *entry)
{
	t->entry[t->used++] = *entry;
	if (t->used < LG_TRACE_BUFFER)
		return false;
	lg_trace_flush(t);
	return true;
}

#endif
