# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What a scheme needs of a rack that is up: the switch's flags, or a coordinator."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from loadgen.coordinator import Coordinator
from loadgen.endpoints import Endpoint
from loadgen.schemes import Scheme
from netclone_host.bpf import abi, state
from netclone_host.bpf.journal import Attachment
from netclone_host.errors import UserError
from netclone_host.rack import netns, programs
from netclone_host.rack.plan import Plan

_OF_SCHEMES = abi.SwitchFlag.RACKSCHED | abi.SwitchFlag.NO_CLONES


def check(plan: Plan, schemes: list[Scheme]) -> None:
    """`UserError` when the rack is too small for one of the schemes."""
    if any(s.coordinator for s in schemes) and len(plan.clients) < 2:
        raise UserError(
            "laedge needs a node for its coordinator and another for a client",
            hint="build the rack with --clients 2 or more",
        )


@contextmanager
def switch_as(plan: Plan, scheme: Scheme) -> Iterator[None]:
    """Within the block the switches do what the scheme asks of them."""
    wanted = abi.SwitchFlag(0)
    if scheme.switch_racksched:
        wanted |= abi.SwitchFlag.RACKSCHED
    if scheme.switch_racksched and not scheme.switch_clones:
        wanted |= abi.SwitchFlag.NO_CLONES
    attachments = programs.require_attached(plan)
    changed: list[tuple[Attachment, bytes]] = []
    try:
        for switch in plan.switches:
            attachment = attachments[switch.name]
            with state.pinned_map(attachment, "nc_switch_cfg") as table:
                before = table.lookup(0) or b""
                config = abi.SwitchConfig.from_buffer_copy(before)
                if config.flags & _OF_SCHEMES != wanted:
                    config.flags = config.flags & ~_OF_SCHEMES | wanted
                    changed.append((attachment, before))
                    table.update(0, config)
        yield
    finally:
        for attachment, before in changed:
            with suppress(OSError), state.pinned_map(attachment, "nc_switch_cfg") as table:
                table.update(0, before)


def coordinator_of(
    plan: Plan, servers: list[Endpoint], port: int, timeout_s: float, seed: int
) -> Coordinator:
    """LAEDGE's coordinator, on the node of the last client, with a slot for each worker."""
    node = plan.clients[-1]
    return Coordinator(
        Endpoint(str(node.ip4 or node.ip6), port, netns.path_of(node.netns)),
        servers,
        slots=[server.workers for server in plan.servers],
        timeout_s=timeout_s,
        seed=seed,
    )
