/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where the compiler's own choice needs one stage more than the program has to take. */
#ifndef NETCLONE_STAGE
#define NETCLONE_STAGE(number) @stage(number)
#endif
