/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* For a server application that tells NetClone its queue length itself
 * (netclone-host attach IFACE --role server --state app):
 *
 *	struct netclone_app app;
 *
 *	if (netclone_app_open(&app, "eth0") < 0)
 *		err(1, "netclone");
 *	netclone_app_set(&app, queue_length);
 *
 * Setting is a store into a page that the kernel's programs read; any thread may do it.
 * Needs the kernel's own headers only. */
#ifndef NETCLONE_APP_H
#define NETCLONE_APP_H

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

struct netclone_app {
	uint32_t *queue_length;
	size_t mapped_bytes;
};

/* Path of the pin of an interface of the caller's network namespace. Returns 0, or -1 with
 * errno. NETCLONE_BPFFS names another BPF file system than /sys/fs/bpf. */
static inline int netclone_app_path(const char *interface, char *path, size_t size)
{
	const char *bpffs = getenv("NETCLONE_BPFFS");
	struct stat ns;
	int len;

	if (stat("/proc/thread-self/ns/net", &ns) < 0)
		return -1;
	len = snprintf(path, size, "%s/netclone/net-%ju/%s/nc_app_state",
		       bpffs ? bpffs : "/sys/fs/bpf", (uintmax_t)ns.st_ino, interface);
	if (len < 0 || (size_t)len >= size) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return 0;
}

/* Returns 0, or -1 with errno: ENOENT where no server is attached with --state app. */
static inline int netclone_app_open(struct netclone_app *app, const char *interface)
{
	union bpf_attr attr;
	char path[512];
	void *page;
	int fd, saved;

	if (netclone_app_path(interface, path, sizeof(path)) < 0)
		return -1;
	memset(&attr, 0, sizeof(attr));
	attr.pathname = (uintptr_t)path;
	fd = (int)syscall(SYS_bpf, BPF_OBJ_GET, &attr, sizeof(attr));
	if (fd < 0)
		return -1;
	app->mapped_bytes = (size_t)sysconf(_SC_PAGESIZE);
	page = mmap(NULL, app->mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	saved = errno;
	close(fd);
	if (page == MAP_FAILED) {
		errno = saved;
		return -1;
	}
	app->queue_length = page;
	return 0;
}

/* Requests that wait; 0: idle. */
static inline void netclone_app_set(struct netclone_app *app, uint32_t queue_length)
{
	__atomic_store_n(app->queue_length, queue_length, __ATOMIC_RELAXED);
}

static inline void netclone_app_close(struct netclone_app *app)
{
	munmap(app->queue_length, app->mapped_bytes);
}

#endif
