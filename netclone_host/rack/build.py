# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`rack up` and `rack down`: build a plan, and undo what the journal says was built."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, field

from netclone_host import crash_points
from netclone_host import topology as topology_file
from netclone_host.attach.roles import Role
from netclone_host.errors import UserError
from netclone_host.kernel import netns
from netclone_host.kernel.netns import NetnsId
from netclone_host.rack import links, programs
from netclone_host.rack.journal import Journal, Step, locked
from netclone_host.rack.plan import Plan

Progress = Callable[[str], None]


def _silent(_: str) -> None:
    pass


@dataclass
class Leftovers:
    """What `down` found and left alone."""

    namespaces: list[str] = field(default_factory=list)  # with such a name, but of somebody else
    processes: dict[str, list[int]] = field(default_factory=dict)  # still inside, by namespace


def require_root() -> None:
    """Namespaces, links and programs require it."""
    if os.geteuid() != 0:
        raise UserError("the software rack needs root", hint="run the command with sudo")


def up(plan: Plan, options: programs.Options | None, progress: Progress = _silent) -> None:
    """Build the rack, and attach its programs unless `options` is None.

    If a step fails, everything so far is undone before the error is raised.
    """
    require_root()
    if options is not None and options.bmv2:
        from netclone_host.rack import bmv2  # with the P4 control plane

        bmv2.check(plan)
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
    """Remove the rack, whole or in part; None if there was none."""
    require_root()
    with locked(rack):
        journal = Journal(rack)
        return _undo(journal) if journal.exists else None


def clear_crashed(rack: str) -> bool:
    """Remove a rack that a crash left half built, but not one that is up or being built."""
    require_root()
    # Its builder holds the lock until the rack is complete.
    with locked(rack):
        journal = Journal(rack)
        if not journal.exists or journal.complete:
            return False
        _undo(journal)
        return True


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
        crash_points.reached(f"rack-created-{owner.netns}")
        with netns.entered(owner.netns):
            made = netns.current()
        journal.record(Step.NETNS_DONE, name=owner.netns, identity=asdict(made))
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
    """Every action tolerates that its work is done already: a `down` that died is repeated."""
    left = Leftovers()
    records = journal.records()
    known = {
        record["name"]: NetnsId(**record["identity"])
        for record in records
        if record["step"] == Step.NETNS_DONE
    }
    for record in records:
        if record["step"] == Step.BMV2 and netns.is_namespace(record["name"]):
            from netclone_host.rack import bmv2

            bmv2.stop(record["name"], journal.directory)
    for name, identity in known.items():
        programs.forget(identity, netns.identity(name))
    for record in records:
        if record["step"] == Step.NETNS:
            _remove_namespace(record["name"], known.get(record["name"]), left)
    journal.end()
    return left


def _remove_namespace(name: str, known: NetnsId | None, left: Leftovers) -> None:
    """Without an identity in the journal, the crash interrupted its creation: it is ours."""
    now = netns.identity(name)
    if known is not None and now not in (None, known):
        left.namespaces.append(name)
        return
    if now is not None and (inside := netns.processes_inside(name)):
        left.processes[name] = inside
        # They keep the namespace alive, but not its links.
        links.delete_pairs(name)
    netns.remove(name)
