#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A NetClone server: answers each request with its payload in capitals.

usage: server.py [ADDRESS]     where `netclone-host attach --role server` was run
"""

import socket
import struct
import sys

PORT = 1000
# docs/wire-format.md: SWITCH_ID FLAGS TYPE, REQ_ID GRP SID STATE, PKT_INDEX PKT_COUNT - CLO,
# CLIENT_ID - IDX
HEADER = struct.Struct("!HBB IIII BBBB HBB")
TYPE, RESPONSE = 2, 1

server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind((sys.argv[1] if len(sys.argv) > 1 else "", PORT))
while True:
    request, client = server.recvfrom(2048)
    if len(request) < HEADER.size:
        continue
    header = list(HEADER.unpack_from(request))
    header[TYPE] = RESPONSE  # SID and STATE are written on the way out, by the server program
    server.sendto(HEADER.pack(*header) + request[HEADER.size :].upper(), client)
