#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A NetClone client: sends requests one at a time and says who answered.

usage: client.py SERVER [COUNT]     where `netclone-host attach --role client` was run
"""

import collections
import socket
import struct
import sys

PORT = 1000
HEADER = struct.Struct("!HBB IIII BBBB HBB")  # docs/wire-format.md
SID, CLO = 5, 10
server, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 100

# No connect(): the answer comes from whichever server was faster.
client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
client.settimeout(1)
answers: collections.Counter[int] = collections.Counter()
cloned = 0
for number in range(count):
    # A blank header: the client program and the switch fill it in. The payload says which
    # request this is, since the switch chooses REQ_ID.
    client.sendto(bytes(HEADER.size) + b"request %d" % number, (server, PORT))
    try:
        response = client.recv(2048)
        while response[HEADER.size :] != b"REQUEST %d" % number:
            response = client.recv(2048)  # a late answer to an earlier request
    except TimeoutError:
        continue
    header = HEADER.unpack_from(response)
    answers[header[SID]] += 1
    cloned += header[CLO] != 0
print(f"{count} requests, {count - answers.total()} lost, {cloned} cloned")
for sid, number in sorted(answers.items()):
    print(f"server {sid} answered {number}")
