// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Sequences of frames through a server. */
#include "setup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = {data, size};
	struct nc_env *node = fuzz_server(fuzz_options(&in));

	fuzz_feed(node, 0, &in);
	return 0;
}
