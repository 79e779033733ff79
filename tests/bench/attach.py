# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Milliseconds that attach takes, from the checked request to the pinned link, of each role
by each loader. Reference: what it may take by libbpf. Writes out/bench/attach.json."""

from __future__ import annotations

import statistics
from pathlib import Path

from netclone_host import topology
from netclone_host.attach import loaders, pins
from netclone_host.attach.attach import AttachRequest, attach
from netclone_host.attach.detach import detach
from netclone_host.attach.roles import Role
from netclone_host.kernel import kernel_headers, netns
from tests.bench import results

OUT = Path("out/bench/attach.json")
LIMIT_MS = 200.0
ROUNDS = {"libbpf": 7, "bcc": 1}
N_SERVERS = 6

_TOPOLOGY = "".join(
    f'[[server]]\nid = {sid}\nip4 = "10.0.1.{101 + sid}"\nmac = "02:00:00:00:01:{101 + sid:02x}"\n'
    f'port = "nca{sid}"\n'
    for sid in range(N_SERVERS)
)


def _requests(loader: str) -> dict[str, AttachRequest]:
    rack = topology.loads(_TOPOLOGY)
    ports = tuple(f"nca{sid}" for sid in range(N_SERVERS))
    return {
        "server": AttachRequest(ports[:1], Role.SERVER, server_id=0, topology=rack, loader=loader),
        "client": AttachRequest(ports[:1], Role.CLIENT, topology=rack, loader=loader),
        # The other ends are nobody's here: whether they take frames is not the question.
        f"switch of {N_SERVERS} ports": AttachRequest(
            ports, Role.SWITCH, topology=rack, loader=loader, check_peers=False
        ),
    }


def _milliseconds(request: AttachRequest, rounds: int) -> float:
    """Lower quartile: a busy machine only ever adds."""
    taken = []
    for _ in range(rounds):
        taken.append(attach(request).elapsed_ns / 1e6)
        detach(request.ifnames[0])
    return statistics.quantiles(taken, n=4)[0] if len(taken) > 1 else taken[0]


def _loaders() -> list[str]:
    headers = kernel_headers.running_kernel_has_headers() or kernel_headers.installed()
    has_bcc = loaders.has_bcc() and headers
    return ["libbpf", "bcc"] if has_bcc else ["libbpf"]


def main() -> None:
    from pyroute2 import IPRoute

    pins.require_mounted()
    records = []
    with netns.throw_away():
        with IPRoute() as route:
            for sid in range(N_SERVERS):
                route.link("add", ifname=f"nca{sid}", kind="veth", peer={"ifname": f"ncap{sid}"})
        for loader in _loaders():
            for name, request in _requests(loader).items():
                value = _milliseconds(request, ROUNDS[loader])
                print(f"attach {name:<20}{loader:<8}{value:>8.0f} ms")
                records.append(
                    results.record(
                        f"attach {name}, {loader}", value, "ms", "limit by libbpf", LIMIT_MS
                    )
                )
    results.write(OUT, records)


if __name__ == "__main__":
    results.run(main)
