# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The hosts. A host has two ports: 1 is the wire, 0 its own stack. What comes in by 1 is ingress,
what comes in by 0 is egress."""

from tests.conformance.scenarios.hosts import client, server
from tests.conformance.writing import Book


def write(book: Book) -> None:
    server.write(book)
    client.write(book)
