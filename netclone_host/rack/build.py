# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`rack up` and `rack down`: make a plan so, and unmake what the journal says was made."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field

from netclone_host import topology as topology_file
from netclone_host.errors import UserError
from netclone_host.rack import links, netns, programs
from netclone_host.rack.journal import Journal, Record, Step, locked
from netclone_host.rack.plan import Plan, Role

Progress = Callable[[str], None]


def _silent(_: str) -> None:
    pass


@dataclass
class Leftovers:
    """What `down` found and left alone."""

    namespaces: list[str] = field(default_factory=list)  # of that name, but not this rack's
    processes: dict[str, list[int]] = field(default_factory=dict)  # still inside, by namespace
    errors: list[str] = field(default_factory=list)


def require_root() -> None:
    """Namespaces, links and programs need it."""
    if os.geteuid() != 0:
        raise UserError("the software rack needs root", hint="run the command with sudo")


def up(plan: Plan, options: programs.Options | None, progress: Progress = _silent) -> None:
    """Build the rack, and attach its programs unless `options` is None.

    If any step fails, what was made until then is unmade before the error is raised.
    """
    require_root()
    with locked(plan.name):
        journal = Journal(plan.name)
        _refuse_what_is_there(plan, journal)
        try:
            journal.begin()
            _write(plan, journal)
            _build(plan, journal, progress)
            if options is not None:
                programs.attach_all(plan, journal, options, progress)
            journal.record(Step.UP)
        except BaseException:
            progress("undoing")
            _undo(journal)
            raise


def down(rack: str) -> Leftovers | None:
    """Remove the rack, whole or in part; None if there was nothing of it."""
    require_root()
    with locked(rack):
        journal = Journal(rack)
        return _undo(journal) if journal.exists else None


def _refuse_what_is_there(plan: Plan, journal: Journal) -> None:
    if journal.exists:
        state = "is up already" if journal.complete else "was left half built by a crash"
        raise UserError(
            f"the rack '{plan.name}' {state}",
            hint=f"'netclone-host rack down --name {plan.name}' removes it; --name builds another",
        )
    for owner in plan.members:
        if netns.path_of(owner.netns).exists():
            raise UserError(
                f"there is a network namespace '{owner.netns}' already, not of this rack",
                hint="give the rack another name with --name",
            )


def _write(plan: Plan, journal: Journal) -> None:
    journal.topology_path.write_text(topology_file.dumps(plan.topology), encoding="utf-8")
    if len(plan.switches) > 1:
        journal.record(Step.RACKS, count=len(plan.switches))


def _build(plan: Plan, journal: Journal, progress: Progress) -> None:
    progress("namespaces")
    for owner in plan.members:
        journal.record(Step.NETNS, name=owner.netns)
        netns.create(owner.netns)
        journal.record(Step.NETNS_DONE, name=owner.netns, identity=netns.identity(owner.netns))
    progress("links")
    by_name = {switch.name: switch for switch in plan.switches}
    for switch in plan.switches:
        links.prepare_switch(switch)
    for node in plan.nodes:
        links.connect_node(plan, node, by_name[node.switch])
    if len(plan.switches) > 1:
        links.connect_switches(*plan.switches)
    for node in plan.nodes:
        links.introduce(node, plan.servers if node.role is Role.CLIENT else plan.clients)


def _undo(journal: Journal) -> Leftovers:
    left = Leftovers()
    records = journal.records()
    known = {r["name"]: tuple(r["identity"]) for r in records if r["step"] == Step.NETNS_DONE}
    for record in reversed(records):
        if record["step"] == Step.ATTACH and _is_ours(record["name"], known):
            try:
                programs.detach(record["name"], record["links"])
            except (UserError, OSError) as error:
                left.errors.append(f"{record['name']}: {error}")
    namespaces = [record for record in records if record["step"] == Step.NETNS]
    for record in namespaces:
        _remove_namespace(record, known, left)
    journal.end()
    return left


def _is_ours(name: str, known: dict[str, tuple[int, ...]]) -> bool:
    """Whether the namespace of that name is the one that the journal tells of.

    Without an identity in the journal the crash came within its creation, and it is.
    """
    now = netns.identity(name)
    return now is not None and known.get(name, now) == now


def _remove_namespace(record: Record, known: dict[str, tuple[int, ...]], left: Leftovers) -> None:
    name = record["name"]
    if not netns.path_of(name).exists():
        return
    if not _is_ours(name, known):
        left.namespaces.append(name)
        return
    if netns.is_namespace(name) and (inside := netns.processes_inside(name)):
        left.processes[name] = inside
        # They keep the namespace alive; its links go all the same.
        links.delete_pairs(name)
    netns.remove(name)
