/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Does one thing inside another network namespace; only the calling thread moves, so other
 * threads, mounts and /sys stay where they are. */
#ifndef LG_NETNS_H
#define LG_NETNS_H

/* Enters the namespace at `path`; returns a descriptor of the former one for
 * lg_netns_leave, -1 where path is NULL, or -errno - 1 on failure. */
int lg_netns_enter(const char *path);
void lg_netns_leave(int former);

#endif
