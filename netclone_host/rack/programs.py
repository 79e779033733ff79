# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Attaches the rack's programs, node by node."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from netclone_host.attach import detach, pins, recovery
from netclone_host.attach.attach import AttachRequest, AttachResult, Mode, attach
from netclone_host.attach.encoding import timeout_slices
from netclone_host.attach.journal import Attachment, attachments, locked
from netclone_host.attach.request import DEFAULT_REQUEST_TIMEOUT_NS
from netclone_host.attach.roles import Role
from netclone_host.attach.table_access import pinned_table
from netclone_host.attach.tables import ServerConfig, StateSource
from netclone_host.errors import UserError
from netclone_host.kernel import netns
from netclone_host.kernel.netns import NetnsId
from netclone_host.rack.journal import Journal, Step
from netclone_host.rack.plan import NODE_LINK, Node, Plan, SwitchNode


@dataclass(frozen=True)
class Options:
    """Options of `attach` for every node of the rack."""

    mode: Mode = Mode.AUTO
    loader: str = "auto"
    state: StateSource = StateSource.INFLIGHT
    request_timeout_ns: int = DEFAULT_REQUEST_TIMEOUT_NS
    bmv2: bool = False
    """The switch is simple_switch, not an XDP program."""


def attach_all(
    plan: Plan, journal: Journal, options: Options, progress: Callable[[str], None]
) -> None:
    """Attach server, client and switch programs; each is in the journal before it is attached.

    Hosts come first: a veth end with a program receives what the switch redirects.
    """
    _mount_bpffs()
    for node in plan.nodes:
        progress(f"programs: {node.name}")
        _attach(journal, node.netns, _node_request(plan, node, options))
    if options.bmv2:
        from netclone_host.rack import bmv2  # with the P4 control plane

        progress("simple_switch")
        bmv2.start(plan, journal)
        return
    for switch in plan.switches:
        progress(f"programs: {switch.name}")
        _attach(journal, switch.netns, _switch_request(plan, switch, options))


def forget(namespace: NetnsId, present: NetnsId | None) -> None:
    """Remove pins and journals of a namespace that is being, or was, removed; filters go with
    its interfaces. A later namespace with the same inode keeps its own: `present` is the one that
    has the name now, or None."""
    with locked():
        for attachment in attachments(namespace.inode):
            if attachment.is_of(namespace):
                detach.forget(attachment)
        if present == namespace:
            for left in recovery.remains(namespace.inode):
                detach.forget(left.attachment)


def attachment_of(namespace: str) -> Attachment | None:
    """What is attached to the links of a namespace; None if nothing is."""
    identity = netns.identity(namespace)
    if identity is None:
        return None
    entries = attachments(identity.inode)
    return next((entry for entry in entries if entry.complete and entry.is_of(identity)), None)


def require_attached(plan: Plan) -> dict[str, Attachment]:
    """Name -> attachment of every node and switch; `UserError` if one has none. A switch that
    is simple_switch has no attachment, but must run."""
    found = {}
    in_p4 = Journal(plan.name).has_bmv2
    if in_p4:
        from netclone_host.rack import bmv2_live  # with the P4 control plane

        bmv2_live.require_running(plan)
    for member in plan.nodes if in_p4 else plan.members:
        attachment = attachment_of(member.netns)
        if attachment is None:
            raise UserError(
                f"{member.name} of the rack '{plan.name}' has no program attached",
                hint="build the rack without --no-attach, or use another --name",
            )
        found[member.name] = attachment
    return found


def mode_of(plan: Plan) -> str:
    """`native` or `generic`; both, joined by +, if nodes differ; `bmv2` for a switch in P4."""
    modes = {attachment.mode for attachment in require_attached(plan).values()}
    if Journal(plan.name).has_bmv2:
        modes.add("bmv2")
    return "+".join(sorted(modes, reverse=True))


@contextmanager
def request_timeout(plan: Plan, at_least_ns: int) -> Iterator[None]:
    """Within the block no server forgets a request sooner than this."""
    attached = require_attached(plan)
    shift, slices = timeout_slices(at_least_ns)
    changed: list[tuple[Attachment, ServerConfig]] = []
    try:
        for node in plan.servers:
            attachment = attached[node.name]
            with pinned_table(attachment, ServerConfig) as configs:
                before, config = configs[0], configs[0]
                if slices << shift > config.slices << config.slice_shift:
                    config.slice_shift, config.slices = shift, slices
                    changed.append((attachment, before))
                    configs[0] = config
        yield
    finally:
        for attachment, before in changed:
            with suppress(OSError), pinned_table(attachment, ServerConfig) as configs:
                configs[0] = before


def _attach(journal: Journal, namespace: str, request: AttachRequest) -> AttachResult:
    journal.record(Step.ATTACH, name=namespace)
    with netns.entered(namespace):
        return attach(request)


def _node_request(plan: Plan, node: Node, options: Options) -> AttachRequest:
    return AttachRequest(
        ifnames=(NODE_LINK,),
        role=node.role,
        server_id=node.server_id if node.role is Role.SERVER else None,
        state=options.state,
        mode=options.mode,
        topology=plan.topology,
        loader=options.loader,
        request_timeout_ns=options.request_timeout_ns,
    )


def _switch_request(plan: Plan, switch: SwitchNode, options: Options) -> AttachRequest:
    return AttachRequest(
        ifnames=tuple(switch.ports(plan)),
        role=Role.SWITCH,
        mode=options.mode,
        topology=switch.topology,
        loader=options.loader,
        check_peers=False,  # the rack has just made and attached them
    )


def _mount_bpffs() -> None:
    """Mount the BPF file system if it is missing, as systemd would have done; it stays."""
    if pins.is_mounted():
        return
    path = pins.bpffs()
    libc = ctypes.CDLL(None, use_errno=True)
    if not path.is_dir() or libc.mount(b"bpf", os.fsencode(path), b"bpf", 0, None):
        pins.require_mounted()
