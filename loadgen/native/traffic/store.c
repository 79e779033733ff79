/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#define _GNU_SOURCE
#include "store.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/clock.h"
#include "store_object.h"

#define MAX_OBJECTS 1000 /* of one scan */
#define ROOM (MAX_OBJECTS * 128)

/* One worker's connection, the request that it sends, and the reply that must come. */
struct connection {
	const struct lg_store_config *store;
	int fd; /* -1: to be opened */
	size_t request_len, reply_len;
	char request[ROOM], reply[ROOM], got[ROOM];
};

static void put(char *buffer, size_t *len, const void *data, size_t n)
{
	memcpy(buffer + *len, data, n);
	*len += n;
}

static void put_text(char *buffer, size_t *len, const char *text)
{
	put(buffer, len, text, strlen(text));
}

static void redis_words(struct connection *c, unsigned int n, const char *command)
{
	char text[48];

	snprintf(text, sizeof(text), "*%u\r\n$%zu\r\n%s\r\n", n, strlen(command), command);
	put_text(c->request, &c->request_len, text);
}

static void redis_bulk(char *buffer, size_t *len, const char *data, size_t n)
{
	char text[16];

	snprintf(text, sizeof(text), "$%zu\r\n", n);
	put_text(buffer, len, text);
	put(buffer, len, data, n);
	put_text(buffer, len, "\r\n");
}

static void redis_read(struct connection *c, uint64_t first, uint32_t count)
{
	char key[LG_KEY_LEN], value[LG_VALUE_LEN], text[16];

	redis_words(c, count + 1, count > 1 ? "MGET" : "GET");
	if (count > 1) {
		snprintf(text, sizeof(text), "*%u\r\n", count);
		put_text(c->reply, &c->reply_len, text);
	}
	for (uint32_t i = 0; i < count; i++) {
		lg_object_key(first + i, key);
		lg_object_value(first + i, value);
		redis_bulk(c->request, &c->request_len, key, sizeof(key));
		redis_bulk(c->reply, &c->reply_len, value, sizeof(value));
	}
}

static void redis_write(struct connection *c, uint64_t number)
{
	char key[LG_KEY_LEN], value[LG_VALUE_LEN];

	lg_object_key(number, key);
	lg_object_value(number, value);
	redis_words(c, 3, "SET");
	redis_bulk(c->request, &c->request_len, key, sizeof(key));
	redis_bulk(c->request, &c->request_len, value, sizeof(value));
	put_text(c->reply, &c->reply_len, "+OK\r\n");
}

static void memcached_read(struct connection *c, uint64_t first, uint32_t count)
{
	char key[LG_KEY_LEN], value[LG_VALUE_LEN];

	put_text(c->request, &c->request_len, "get");
	for (uint32_t i = 0; i < count; i++) {
		lg_object_key(first + i, key);
		lg_object_value(first + i, value);
		put_text(c->request, &c->request_len, " ");
		put(c->request, &c->request_len, key, sizeof(key));
		put_text(c->reply, &c->reply_len, "VALUE ");
		put(c->reply, &c->reply_len, key, sizeof(key));
		put_text(c->reply, &c->reply_len, " 0 64\r\n");
		put(c->reply, &c->reply_len, value, sizeof(value));
		put_text(c->reply, &c->reply_len, "\r\n");
	}
	put_text(c->request, &c->request_len, "\r\n");
	put_text(c->reply, &c->reply_len, "END\r\n");
}

static void memcached_write(struct connection *c, uint64_t number)
{
	char key[LG_KEY_LEN], value[LG_VALUE_LEN];

	lg_object_key(number, key);
	lg_object_value(number, value);
	put_text(c->request, &c->request_len, "set ");
	put(c->request, &c->request_len, key, sizeof(key));
	put_text(c->request, &c->request_len, " 0 0 64\r\n");
	put(c->request, &c->request_len, value, sizeof(value));
	put_text(c->request, &c->request_len, "\r\n");
	put_text(c->reply, &c->reply_len, "STORED\r\n");
}

static int reconnect(struct connection *c)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct timeval timeout = {
		.tv_sec = (time_t)(c->store->timeout_ns / LG_NS_PER_S),
		.tv_usec = (suseconds_t)(c->store->timeout_ns % LG_NS_PER_S / 1000),
	};

	if (strlen(c->store->socket_path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	strcpy(address.sun_path, c->store->socket_path);
	c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c->fd < 0)
		return -errno;
	setsockopt(c->fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	setsockopt(c->fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
	if (connect(c->fd, (struct sockaddr *)&address, sizeof(address))) {
		int error = -errno;

		close(c->fd);
		c->fd = -1;
		return error;
	}
	return 0;
}

static enum lg_body_status give_up(struct connection *c, enum lg_body_status status)
{
	close(c->fd); /* what is left of the reply must not answer the next request */
	c->fd = -1;
	return status;
}

static enum lg_body_status exchange(struct connection *c)
{
	size_t done = 0;

	if (c->fd < 0 && reconnect(c))
		return LG_STATUS_STORE_ERROR;
	while (done < c->request_len) {
		ssize_t n = send(c->fd, c->request + done, c->request_len - done, MSG_NOSIGNAL);

		if (n <= 0)
			return give_up(c, LG_STATUS_STORE_ERROR);
		done += (size_t)n;
	}
	for (done = 0; done < c->reply_len;) {
		ssize_t n = recv(c->fd, c->got + done, c->reply_len - done, 0);

		if (n <= 0)
			return give_up(c, LG_STATUS_STORE_ERROR);
		if (memcmp(c->got + done, c->reply + done, (size_t)n))
			return give_up(c, LG_STATUS_WRONG_VALUE);
		done += (size_t)n;
	}
	return LG_STATUS_OK;
}

/* What the request asks for; 0 objects: nothing that this store can do. */
static uint32_t prepare(struct connection *c, const struct lg_body *b)
{
	bool redis = c->store->kind == LG_STORE_REDIS;
	uint64_t key = le64toh(b->key);
	uint32_t count = b->op == LG_OP_SCAN ? le32toh(b->count) : 1;

	c->request_len = c->reply_len = 0;
	if (!count || count > MAX_OBJECTS || key >= c->store->objects ||
	    count > c->store->objects - key)
		return 0;
	switch (b->op) {
	case LG_OP_GET:
	case LG_OP_SCAN:
		(redis ? redis_read : memcached_read)(c, key, count);
		return count;
	case LG_OP_SET:
		(redis ? redis_write : memcached_write)(c, key);
		return 1;
	default:
		return 0;
	}
}

/* The values behind the body, as many as one packet takes. */
static uint32_t append_values(uint8_t *payload, uint64_t first, uint32_t count)
{
	uint32_t len = LG_PAYLOAD_LEN;

	for (uint32_t i = 0; i < count && i < LG_VALUES_MAX; i++) {
		lg_object_value(first + i, (char *)payload + len);
		len += LG_VALUE_LEN;
	}
	return len;
}

static uint32_t serve(void *context, struct lg_worker *worker, uint8_t *payload, uint32_t len)
{
	struct connection *c = context;
	struct lg_body *b = (struct lg_body *)(payload + LG_BODY_OFFSET);
	uint32_t count;

	(void)worker;
	if (!lg_body_of(payload, len))
		return len;
	count = prepare(c, b);
	b->status = count ? (uint8_t)exchange(c) : LG_STATUS_STORE_ERROR;
	/* The reply was the expected one to the byte, so that these are the store's values. */
	if (b->status == LG_STATUS_OK && b->op != LG_OP_SET)
		return append_values(payload, le64toh(b->key), count);
	return LG_PAYLOAD_LEN;
}

static int open_connection(void *shared, struct lg_worker *worker, void **context)
{
	struct connection *c = calloc(1, sizeof(*c));
	int error;

	(void)worker;
	if (!c)
		return -ENOMEM;
	c->store = shared;
	c->fd = -1;
	error = reconnect(c);
	if (error)
		free(c);
	else
		*context = c;
	return error;
}

static void close_connection(void *context)
{
	struct connection *c = context;

	if (c->fd >= 0)
		close(c->fd);
	free(c);
}

int lg_store_run(struct lg_worker_config *config, struct lg_store_config *store)
{
	static const struct lg_worker_ops ops = {
		.open = open_connection,
		.serve = serve,
		.close = close_connection,
	};

	return lg_worker_run(config, &ops, store);
}
