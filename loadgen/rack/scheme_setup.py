# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Sets up a rack for a scheme: the flags of its programs, and a coordinator."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress

from loadgen.native.stalls import Stalls
from loadgen.rack.answering import Answering
from loadgen.rack.nodes import client_endpoints, endpoint, server_endpoints, service_port
from loadgen.traffic.coordinator import Coordinator
from loadgen.traffic.probe import probe
from loadgen.workload.schemes import Party, Scheme
from netclone_host.attach import tables
from netclone_host.attach.journal import Attachment
from netclone_host.attach.table_access import pinned_table
from netclone_host.errors import UserError
from netclone_host.rack import programs
from netclone_host.rack.counters import Counting
from netclone_host.rack.journal import Journal
from netclone_host.rack.plan import Plan

_OF_SWITCH = tables.SwitchFlag.RACKSCHED | tables.SwitchFlag.NO_CLONES | tables.SwitchFlag.RESERVE
_OF_SERVER = tables.HostFlag.RESERVE

_Config = tables.SwitchConfig | tables.ServerConfig


def check(plan: Plan, schemes: Sequence[Scheme]) -> None:
    """`UserError` when the rack is too small for one of the schemes."""
    coordinated = [s.name for s in schemes if s.has_coordinator]
    if coordinated and len(plan.clients) < 2:
        raise UserError(
            f"{coordinated[0]} needs a node for its coordinator and another for a client",
            hint="build the rack with --clients 2 or more",
        )


@contextmanager
def switch_as(plan: Plan, scheme: Scheme) -> Iterator[None]:
    """Within the block switches and servers do what the scheme asks of them."""
    with ExitStack() as undo:
        if Journal(plan.name).has_bmv2:
            from netclone_host.rack import bmv2_live  # with the P4 control plane

            undo.enter_context(
                bmv2_live.switch_as(
                    plan,
                    racksched=scheme.racksched,
                    cloning=not _forbids_clones(scheme),
                    reserve=scheme.reserve,
                )
            )
        undo.enter_context(_flags_as(plan, scheme))
        yield


def _forbids_clones(scheme: Scheme) -> bool:
    return scheme.chooser is Party.SWITCH and scheme.cloner is not Party.SWITCH


@contextmanager
def _flags_as(plan: Plan, scheme: Scheme) -> Iterator[None]:
    """The flags of the XDP programs."""
    racksched, cloning, reserve = scheme.racksched, not _forbids_clones(scheme), scheme.reserve
    of_switch = tables.SwitchFlag.of(
        racksched=racksched, cloning=cloning, reserve=reserve, generic=False
    )
    of_server = tables.HostFlag.RESERVE if reserve else tables.HostFlag(0)
    attachments = programs.require_attached(plan)
    switches = [attachments[node.name] for node in plan.switches if node.name in attachments]
    servers = [attachments[node.name] for node in plan.servers]
    wanted: list[tuple[Attachment, type[_Config], int, int]] = [
        *((switch, tables.SwitchConfig, of_switch, _OF_SWITCH) for switch in switches),
        *((server, tables.ServerConfig, of_server, _OF_SERVER) for server in servers),
    ]
    changed: list[tuple[Attachment, _Config]] = []
    try:
        for attachment, kind, flags, mask in wanted:
            with pinned_table(attachment, kind) as configs:
                before, config = configs[0], configs[0]
                if isinstance(config, tables.ServerConfig) and flags:
                    _check_counts(config)
                if config.flags & mask != flags:
                    config.flags = config.flags & ~mask | flags
                    changed.append((attachment, before))
                    configs[0] = config
        yield
    finally:
        for attachment, before in changed:
            with suppress(OSError), pinned_table(attachment, type(before)) as configs:
                configs[0] = before


def _check_counts(config: tables.ServerConfig) -> None:
    """The rack's application reports how many requests wait, not how many are in flight."""
    if config.state_source == tables.StateSource.APP:
        raise UserError(
            "netclone+reserve needs servers whose programs count requests in flight",
            hint="run it with --state inflight",
        )


@contextmanager
def answering_by(
    plan: Plan,
    scheme: Scheme,
    seed: int,
    timeout_s: float,
    *,
    pending: Callable[[], int] = lambda: 0,
    stalls: Callable[[], Stalls] = Stalls,
) -> Iterator[Answering]:
    """Within the block the rack, whose servers answer already, follows the scheme. `timeout_s`: a
    coordinator gives up a request after it."""
    clients, targets = client_endpoints(plan), server_endpoints(plan)
    coordinator = None
    with ExitStack() as undo:
        counting = undo.enter_context(Counting(plan))
        undo.enter_context(switch_as(plan, scheme))
        if scheme.has_coordinator:
            coordinator = undo.enter_context(_coordinator(plan, timeout_s, seed))
            # It has the last client's node to itself.
            clients, targets = clients[:-1], [coordinator.endpoint]
        for client in clients:
            probe(client, targets)
        yield Answering(clients, targets, counting, coordinator, pending, stalls)


def _coordinator(plan: Plan, timeout_s: float, seed: int) -> Coordinator:
    """LAEDGE's coordinator, on the node of the last client, with a slot for each worker."""
    return Coordinator(
        endpoint(plan.clients[-1], service_port(plan)),
        server_endpoints(plan),
        slots=[server.workers for server in plan.servers],
        timeout_s=timeout_s,
        seed=seed,
    )
