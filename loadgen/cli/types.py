# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Types of options: addresses, durations, namespaces. Errors are `UserError`, not click's."""

from __future__ import annotations

import re
from ipaddress import ip_address
from pathlib import Path

from loadgen.traffic.endpoints import DEFAULT_PORT, Endpoint
from netclone_host.durations import parse_duration_ns, whole_number
from netclone_host.errors import UserError

NETNS_DIR = Path("/run/netns")


def parse_netns(name: str | None) -> Path | None:
    """Path of a namespace given by name (`ip netns`) or by path."""
    if name is None:
        return None
    path = Path(name) if "/" in name else NETNS_DIR / name
    if not path.exists():
        raise UserError(f"there is no network namespace '{name}'", "see 'ip netns list'")
    return path


def parse_endpoint(text: str, netns: Path | None = None, port: int = DEFAULT_PORT) -> Endpoint:
    """`10.0.1.101`, `10.0.1.101:1000`, `fd00::1` or `[fd00::1]:1000`."""
    host, given = text, None
    if bracketed := re.fullmatch(r"\[([^\]]*)\](?::(.*))?", text, re.DOTALL):
        host, given = bracketed.groups()
    elif text.count(":") == 1:
        host, _, given = text.partition(":")
    try:
        ip_address(host)
    except ValueError:
        raise UserError(
            f"'{text}': '{host}' is not an IP address", "write it as 10.0.1.101:1000"
        ) from None
    if given is not None:
        port = whole_number(given, -1)
        if not 0 <= port <= 65535:
            raise UserError(f"'{text}': '{given}' is not a port", "ports are 0 to 65535")
    return Endpoint(host, port, netns)


def seconds(text: str, what: str) -> float:
    """Seconds of a duration with a unit; `what` names the option in the error."""
    return parse_duration_ns(text, what) * 1e-9


def positive(value: float, what: str) -> float:
    """`value` if it is above 0 and finite, else `UserError`."""
    if not 0 < value < float("inf"):
        problem = "is not above 0" if value <= 0 else "is not a finite number"
        raise UserError(f"{what}: {value:g} {problem}", "give a number such as 1000")
    return value
