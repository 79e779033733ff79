/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#define _GNU_SOURCE
#include "netns.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int lg_netns_enter(const char *path)
{
	int former, target, error;

	if (!path)
		return -1;
	former = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	if (former < 0)
		return -errno - 1;
	target = open(path, O_RDONLY | O_CLOEXEC);
	if (target >= 0 && !setns(target, CLONE_NEWNET)) {
		close(target);
		return former;
	}
	error = errno;
	if (target >= 0)
		close(target);
	close(former);
	return -error - 1;
}

void lg_netns_leave(int former)
{
	if (former < 0)
		return;
	if (setns(former, CLONE_NEWNET)) {
		/* Going on in the wrong namespace would do things to strangers. */
		perror("cannot return to the network namespace");
		abort();
	}
	close(former);
}
