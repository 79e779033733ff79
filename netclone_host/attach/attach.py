# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Attach NetClone to interfaces: check, load, fill the tables, then touch the interface.

Nothing outside this process changes until everything is loaded and filled. From then on each
step is journaled before it is taken, so that `detach` can undo what a crash left behind; an
ordinary failure is undone here.
"""

from __future__ import annotations

import contextlib
import datetime
import errno
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from netclone_host import crash_points
from netclone_host.attach import journal, pins, precheck, vlan_tags
from netclone_host.attach.detach import clear_interfaces, release, undo
from netclone_host.attach.journal import Attachment, Port
from netclone_host.attach.loaders import loader_of
from netclone_host.attach.loaders.base import LoadedObject
from netclone_host.attach.request import AttachRequest, Job, Mode, check_request
from netclone_host.attach.roles import PROGRAMS, Role
from netclone_host.errors import ForeignProgramError, UserError
from netclone_host.kernel import netns, objects, tc, tcx, xdp
from netclone_host.kernel.interfaces import Interface
from netclone_host.kernel.objects import LinkType
from netclone_host.kernel.xdp import ModeUnavailable, XdpMode
from netclone_host.signals import signals_wait
from netclone_host.system_errors import refusal

__all__ = ["AttachRequest", "AttachResult", "Mode", "attach"]


@dataclass(frozen=True)
class AttachResult:
    attachment: Attachment
    elapsed_ns: int
    warnings: list[str] = field(default_factory=list)

    @property
    def mode(self) -> XdpMode:
        return XdpMode(self.attachment.mode)

    @property
    def pin_dir(self) -> Path:
        return Path(self.attachment.pin_dir)


def attach(request: AttachRequest) -> AttachResult:
    """Attach in the network namespace of the calling thread. UserError, with nothing
    changed, if that is not possible."""
    started = time.perf_counter_ns()
    job = check_request(request)
    ports = precheck.check_machine(job)
    with _sentences(), journal.locked():
        namespace = netns.current()
        warnings = precheck.check(job, ports, namespace)
        loader = loader_of(request.loader)
        indices = {port.name: port.ifindex for port in ports}
        with loader.load(request.role, job.sizes(indices.values())) as loaded:
            modes = request.mode.to_try()
            job.fill(loaded, indices, modes[0])
            attachment = _new_attachment(job, ports, namespace, loader.name)
            with signals_wait():
                warnings += clear_interfaces(ports, namespace)
            _Installation(job, loaded, attachment, namespace).run(modes)
    return AttachResult(attachment, time.perf_counter_ns() - started, warnings)


@contextlib.contextmanager
def _sentences() -> Iterator[None]:
    """Refusals of the system become errors of ours."""
    try:
        yield
    except OSError as error:
        if error.errno == errno.EBUSY:
            raise ForeignProgramError(
                "somebody else attached an XDP program just now", hint="try again, or --force"
            ) from error
        refused = refusal(error)
        if refused is None:
            raise
        raise refused from error


def _new_attachment(
    job: Job, ports: list[Interface], namespace: netns.NetnsId, loader: str
) -> Attachment:
    # Servers' ports first: a switch must not clone before it can filter.
    behind = job.port_names()
    in_order = sorted(ports, key=lambda port: port.name not in behind)
    return Attachment(
        role=job.request.role.value,
        loader=loader,
        netns_inode=namespace.inode,
        netns_cookie=namespace.cookie,
        boot_id=namespace.boot_id,
        pin_dir=str(pins.directory(namespace.inode, in_order[0].name)),
        ports=[Port(port.name, port.ifindex) for port in in_order],
        settings=job.summary(),
        attached_at=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    )


class _Installation:
    """The steps that outlive the process, each journaled before it is taken."""

    def __init__(
        self, job: Job, loaded: LoadedObject, attachment: Attachment, namespace: netns.NetnsId
    ) -> None:
        self._job, self._loaded = job, loaded
        self._attachment, self._namespace = attachment, namespace
        self._programs = PROGRAMS[job.request.role]
        self._displaced: list[xdp.Displaced] = []

    def run(self, modes: tuple[XdpMode, ...]) -> None:
        try:
            self._pin_maps()
            if self._programs.tc:
                for port in self._attachment.ports:
                    self._attach_egress(port, self._loaded.programs[self._programs.tc])
            self._attach_xdp(modes)
            self._attachment.complete = True
            self._save("complete")
        except BaseException:
            with signals_wait():
                undo(self._attachment, self._namespace)
                for kept in self._displaced:
                    kept.restore()
            raise
        finally:
            for kept in self._displaced:
                kept.close()

    def _save(self, step: str) -> None:
        self._attachment.save()
        crash_points.reached(step)

    def _pin_maps(self) -> None:
        self._save("journal")
        directory = Path(self._attachment.pin_dir)
        pins.remove(directory)  # left by an attachment whose journal was lost
        directory.mkdir(parents=True, exist_ok=True)  # somebody else may have a pin there
        crash_points.reached("pin-dir")
        for name, entry in self._loaded.maps.items():
            objects.pin(entry.fd, directory / name)
            crash_points.reached(f"pin-{name}")

    def _attach_egress(self, port: Port, program: int) -> None:
        if not tcx.is_available(port.ifindex):
            self._add_filter(port, program)
            return
        port.tcx, port.tc_program = True, objects.program_info(program).id
        self._save("before-tcx")
        link = tcx.attach_first(program, port.ifindex)
        self._pin_link(link, self._attachment.egress_link_pin(port))

    def _add_filter(self, port: Port, program: int) -> None:
        if not tc.has_clsact(port.ifindex):
            port.made_clsact = True
            self._save("before-clsact")
            tc.add_clsact(port.ifindex)
            crash_points.reached("clsact")
        port.tc_program = objects.program_info(program).id
        port.tc_priority = tc.free_priority(port.ifindex)
        self._save("before-filter")
        name = str(self._programs.tc)
        tc.add_filter(port.ifindex, program, name, port.tc_priority)
        crash_points.reached("filter")

    def _attach_xdp(self, modes: tuple[XdpMode, ...]) -> None:
        """All ports in the first mode that all of them support."""
        for port in self._attachment.ports:
            self._displace(port)
        for mode in modes:
            try:
                self._attach_ports(mode)
                return
            except ModeUnavailable as unavailable:
                self._remove_links()
                if mode is modes[-1]:
                    raise _mode_error(mode, unavailable) from None
                self._attachment.reason = unavailable.reason

    def _attach_ports(self, mode: XdpMode) -> None:
        self._attachment.mode = mode.value
        if mode is not self._job.request.mode.to_try()[0]:
            indices = {port.name: port.ifindex for port in self._attachment.ports}
            self._job.fill(self._loaded, indices, mode)
        for port in self._attachment.ports:
            if self._job.request.role is Role.SWITCH and mode is XdpMode.NATIVE:
                vlan_tags.keep(port, self._save)
            self._link(port, mode)

    def _link(self, port: Port, mode: XdpMode) -> None:
        program = self._loaded.programs[self._programs.xdp]
        port.xdp_mode = mode.value
        port.xdp_program = objects.program_info(program).id
        self._save(f"before-link-{port.name}")
        try:
            link = xdp.attach(program, port.ifindex, mode)
        except ModeUnavailable as unavailable:
            reason = f"{port.name}: {unavailable.reason}"
            raise ModeUnavailable(reason, unavailable.hint) from None
        self._pin_link(link, self._attachment.link_pin(port))

    @staticmethod
    def _pin_link(link: int, path: Path) -> None:
        try:
            # A link that dies unpinned takes the program with it.
            crash_points.reached(path.name)
            objects.pin(link, path)
            crash_points.reached(f"pin-{path.name}")
        finally:
            os.close(link)

    def _remove_links(self) -> None:
        for port in self._attachment.ports:
            release(self._attachment.link_pin(port), LinkType.XDP, port.xdp_program)
            vlan_tags.put_back(port)
            port.tag_offloads = []

    def _displace(self, port: Port) -> None:
        """--force: take off the programs that are there; a failure puts them back."""
        if self._job.request.force:
            for mode, program in xdp.query(port.ifindex).programs():
                self._displaced.append(xdp.displace(port.ifindex, mode, program))
                crash_points.reached(f"displaced-{port.name}")


def _mode_error(mode: XdpMode, unavailable: ModeUnavailable) -> UserError:
    message = f"{mode} XDP is not available on {unavailable.reason}"
    if mode is XdpMode.GENERIC:
        return UserError(message, unavailable.hint or "see 'netclone-host doctor'")
    others = [unavailable.hint] if unavailable.hint else []
    return UserError(message, ", or ".join([*others, "give --mode generic"]))
