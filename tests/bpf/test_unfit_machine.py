# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the machine lacks or refuses: a sentence, a hint, exit status 2, and nothing changed."""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pyroute2 import NetlinkError

from netclone_host.attach import journal
from netclone_host.kernel import libbpf, privilege

from .commands import SERVER, netclone_host


def test_no_privilege(
    refused: Callable[..., None], host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(privilege, "effective_capabilities", lambda: 0)
    refused("attach", host, *SERVER, error="need root", hint="sudo")
    refused("detach", host, error="need root", hint="sudo")


def test_a_process_without_privilege(host: str) -> None:
    """The capability mask is read right: in a process that has given its privilege up."""
    child = os.fork()
    if child == 0:
        os.setresgid(65534, 65534, 65534)
        os.setresuid(65534, 65534, 65534)
        os._exit(0 if not privilege.may_attach() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert privilege.may_attach()


def test_without_privilege_status_still_answers(host: str, tmp_path: Path) -> None:
    """A real process of nobody's."""
    assert netclone_host("attach", host, *SERVER).exit_code == 0
    child = os.fork()
    if child == 0:
        for path in (tmp_path, *tmp_path.parents[:-2]):  # below /tmp
            path.chmod(0o755)
        os.setresgid(65534, 65534, 65534)
        os.setresuid(65534, 65534, 65534)
        status, stats = netclone_host("status", "--json"), netclone_host("stats", host)
        os._exit(
            not (
                status.exit_code == 0
                and json.loads(status.output)[0]["health"] == "unknown"
                and stats.exit_code == 2
                and "this needs more privilege" in stats.output
            )
        )
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert netclone_host("detach", host).exit_code == 0


def test_bpffs_not_mounted(
    refused: Callable[..., None], host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("NETCLONE_BPFFS", str(tmp_path))
        refused(
            "attach", host, *SERVER,
            error=f"no BPF file system is mounted at {tmp_path}",
            hint=f"mount -t bpf bpf {tmp_path}",
        )  # fmt: skip


def test_detach_where_the_pins_are_hidden(
    refused: Callable[..., None], host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in `ip netns exec`, which mounts /sys anew: the program would stay."""
    assert netclone_host("attach", host, *SERVER).exit_code == 0
    with monkeypatch.context() as hidden:
        hidden.setenv("NETCLONE_BPFFS", str(tmp_path))
        refused("detach", host, error="no BPF file system is mounted", hint="nsenter")
        (record,) = json.loads(netclone_host("status", "--json").output)
        assert record["health"] == "unknown"
    assert netclone_host("detach", host).exit_code == 0


def test_detach_where_the_pins_are_in_another_file_system(
    refused: Callable[..., None], host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each mount of a BPF file system is one of its own, such as one made in `ip netns exec`."""
    assert netclone_host("attach", host, *SERVER).exit_code == 0
    [attachment] = journal.attachments()
    elsewhere = dataclasses.replace(attachment, pin_dir=str(tmp_path / "netclone/net/eth0"))
    elsewhere.save()
    refused("detach", host, error="is not in the BPF file system", hint="same mount namespace")
    attachment.save()
    assert netclone_host("detach", host).exit_code == 0


@pytest.mark.parametrize(
    ("error", "sentence", "hint"),
    [
        (OSError(errno.ENOSPC, "No space left", "/run/x"), "No space left (/run/x)", "make room"),
        (OSError(errno.EROFS, "Read-only", "/run/x"), "Read-only (/run/x)", "writable"),
        (PermissionError(errno.EPERM, "no", "/run/x"), "more privilege (/run/x)", "sudo"),
        (NetlinkError(errno.EPERM), "more privilege", "sudo"),
        (NetlinkError(errno.EOPNOTSUPP), "Operation not supported", "doctor"),
    ],
)
def test_what_the_system_refuses_gets_a_sentence(
    refused: Callable[..., None],
    host: str,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    sentence: str,
    hint: str,
) -> None:
    def refuse() -> None:
        raise error

    with monkeypatch.context() as full:
        full.setattr(journal, "locked", refuse)
        refused("detach", host, error=sentence, hint=hint)


def test_verbose_shows_where_a_refusal_came_from(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise OSError(errno.ENOSPC, "No space left", "/run/x")

    with monkeypatch.context() as full:
        full.setattr(journal, "locked", refuse)
        full.setattr(libbpf.log, "verbose", False)  # `-v` sets it for the process
        result = netclone_host("-v", "detach", host)
    assert isinstance(result.exception, OSError)


def test_a_place_for_journals_that_cannot_be(
    refused: Callable[..., None], host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    for place, error, hint in (
        ("no/such", f"there is no directory {tmp_path}/no for the journals", "NETCLONE_RUN_DIR"),
        ("file", "Not a directory", "take it away"),
    ):
        with monkeypatch.context() as elsewhere:
            elsewhere.setenv("NETCLONE_RUN_DIR", str(tmp_path / place))
            refused("attach", host, *SERVER, error=error, hint=hint)


@pytest.mark.parametrize("words", [("--help",), ("attach", "--help"), ("doctor",)])
def test_an_output_that_is_full(words: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            (sys.executable, "-m", "netclone_host.cli", *words),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert ended.returncode == 2
    assert ended.stderr.splitlines() == [
        "error: the system refused: No space left on device",
        "hint: make room there",
    ]


def test_too_few_open_files_for_a_switch(
    refused: Callable[..., None], switch_ports: list[str], topology_file: Path
) -> None:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    in_use = len(list(Path("/proc/self/fd").iterdir()))
    resource.setrlimit(resource.RLIMIT_NOFILE, (in_use + 12, limits[1]))
    try:
        attach = ("attach", *switch_ports, "--role", "switch", "--topology", str(topology_file))
        result = netclone_host(*attach)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert result.exit_code == 2 and "hint: raise the limit of open files" in result.output
