# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Everything a user can get wrong: a sentence, a hint, exit status 2, and nothing changed."""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import resource
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from pyroute2 import NetlinkError

from netclone_host.attach import journal, pins
from netclone_host.attach import status as state
from netclone_host.attach.loaders import bcc, choice
from netclone_host.cli import main
from netclone_host.errors import UserError
from netclone_host.kernel import interfaces, kernel_headers, privilege, xdp

from .conftest import TOPOLOGY, Namespace, run

SERVER = ("--role", "server", "--server-id", "0")


def netclone_host(*words: str) -> Result:
    return CliRunner().invoke(main, words)


@pytest.fixture
def refused(namespace: Namespace, tc_state: Callable[[str], str]) -> Iterator[Callable[..., None]]:
    """Runs a command that must be refused, with these words in its sentence and hint."""

    def check(*words: str, error: str, hint: str) -> None:
        before = snapshot()
        result = netclone_host(*words)
        lines = result.output.splitlines()
        assert result.exit_code == 2, result.output
        assert len(lines) == 2, result.output
        assert lines[0].startswith("error: ") and error in lines[0], lines[0]
        assert lines[1].startswith("hint: ") and hint in lines[1], lines[1]
        assert snapshot() == before

    def snapshot() -> list[object]:
        """Programs, qdiscs and filters of every interface, pins and journals."""
        found: list[object] = [sorted(pins.root().rglob("*")), journal.attachments()]
        for name, index in interfaces.indices().items():
            found += [name, xdp.query(index).programs(), tc_state(name)]
        return found

    yield check


@pytest.fixture
def topology_file(tmp_path: Path) -> Path:
    path = tmp_path / "rack.toml"
    path.write_text(TOPOLOGY)
    return path


def test_unknown_interface(refused: Callable[..., None], host: str) -> None:
    refused(
        "attach", "eth1", *SERVER,
        error="there is no interface eth1 in this network namespace",
        hint="did you mean eth0?",
    )  # fmt: skip


def test_interface_name_too_long(refused: Callable[..., None], host: str) -> None:
    refused(
        "attach", "a-name-of-sixteen", *SERVER,
        error="the interface name a-name-of-sixteen has 17 characters, and Linux allows 15",
        hint="ip link",
    )  # fmt: skip


@pytest.mark.parametrize("name", ["", "a/b", "..", "a b"])
def test_what_is_no_interface_name(refused: Callable[..., None], name: str) -> None:
    refused("attach", name, *SERVER, error="is no interface name", hint="ip link")


def test_interface_named_twice(
    refused: Callable[..., None], switch_ports: list[str], topology_file: Path
) -> None:
    refused(
        "attach", "p0", "p1", "p0", "--role", "switch", "--topology", str(topology_file),
        error="interface p0 is named twice",
        hint="once",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("words", "option", "role"),
    [
        (("client", "--servers", "2", "--server-id", "4"), "--server-id", "server"),
        (("client", "--servers", "2", "--workers", "15"), "--workers", "server"),
        (("client", "--servers", "2", "--state", "inflight"), "--state", "server"),
        (("client", "--servers", "2", "--request-timeout", "1s"), "--request-timeout", "server"),
        (("client", "--servers", "2", "--server-timeout", "9"), "--server-timeout", "switch"),
        (("server", "--server-id", "0", "--servers", "2"), "--servers", "client or switch"),
        (("server", "--server-id", "0", "--server-timeout", "9"), "--server-timeout", "switch"),
        (("switch", "--server-id", "0"), "--server-id", "server"),
        (("switch", "--workers", "15"), "--workers", "server"),
    ],
)
def test_option_of_another_role(
    refused: Callable[..., None], host: str, words: tuple[str, ...], option: str, role: str
) -> None:
    refused(
        "attach", host, "--role", *words,
        error=f"{option} says nothing about a {words[0]}",
        hint=f"it is for the role {role}",
    )  # fmt: skip


@pytest.mark.parametrize("server_id", ["-1", "256", "70000"])
def test_server_id_out_of_range(refused: Callable[..., None], host: str, server_id: str) -> None:
    refused(
        "attach", host, "--role", "server", "--server-id", server_id,
        error=f"server id {server_id} is out of range",
        hint="from 0 to 255",
    )  # fmt: skip


def test_server_id_missing(refused: Callable[..., None], host: str) -> None:
    refused("attach", host, "--role", "server", error="a server needs an id", hint="--server-id")


def test_server_id_used_twice(refused: Callable[..., None], namespace: Namespace) -> None:
    namespace.veth("eth0", "wire0")
    namespace.veth("eth1", "wire1")
    assert netclone_host("attach", "eth0", *SERVER).exit_code == 0
    refused(
        "attach", "eth1", *SERVER,
        error="server id 0 is used already, on eth0",
        hint="an id of its own",
    )  # fmt: skip
    assert netclone_host("detach", "eth0").exit_code == 0


def test_server_id_not_in_the_topology(
    refused: Callable[..., None], host: str, topology_file: Path
) -> None:
    refused(
        "attach", host, "--role", "server", "--server-id", "7", "--topology", str(topology_file),
        error="the topology has no server with id 7",
        hint="0, 1",
    )  # fmt: skip


def test_server_id_twice_in_the_topology(
    refused: Callable[..., None], switch_ports: list[str], topology_file: Path
) -> None:
    topology_file.write_text(TOPOLOGY.replace("id = 1", "id = 0"))
    refused(
        "attach", *switch_ports, "--role", "switch", "--topology", str(topology_file),
        error="id 0 is used twice",
        hint="of its own",
    )  # fmt: skip


def test_one_server_only(refused: Callable[..., None], host: str) -> None:
    refused(
        "attach", host, "--role", "client", "--servers", "1",
        error="one server is too few",
        hint="--servers 2",
    )  # fmt: skip


def test_one_server_only_in_the_topology(
    refused: Callable[..., None], switch_ports: list[str], topology_file: Path
) -> None:
    topology_file.write_text(TOPOLOGY.split("[[server]]\nid = 1")[0])
    refused(
        "attach", *switch_ports, "--role", "switch", "--topology", str(topology_file),
        error="a rack needs at least two servers",
        hint="[[server]]",
    )  # fmt: skip


def test_client_without_the_number_of_servers(refused: Callable[..., None], host: str) -> None:
    refused(
        "attach", host, "--role", "client",
        error="a client needs the number of servers",
        hint="--topology",
    )  # fmt: skip


def test_topology_with_an_unknown_key(
    refused: Callable[..., None], switch_ports: list[str], topology_file: Path
) -> None:
    topology_file.write_text("[switch]\nfilter_table = 2\n" + TOPOLOGY)
    refused(
        "attach", *switch_ports, "--role", "switch", "--topology", str(topology_file),
        error="filter_table",
        hint="filter_tables",
    )  # fmt: skip


def test_topology_that_is_not_there(
    refused: Callable[..., None], switch_ports: list[str], tmp_path: Path
) -> None:
    refused(
        "attach", *switch_ports, "--role", "switch", "--topology", str(tmp_path / "none.toml"),
        error="cannot read the topology file",
        hint="TOML",
    )  # fmt: skip


def test_switch_without_topology(refused: Callable[..., None], switch_ports: list[str]) -> None:
    refused(
        "attach", *switch_ports, "--role", "switch",
        error="a switch needs the rack's topology",
        hint="--topology",
    )  # fmt: skip


def test_server_behind_a_port_that_is_not_attached(
    refused: Callable[..., None], switch_ports: list[str], topology_file: Path
) -> None:
    refused(
        "attach", "p0", "p2", "--role", "switch", "--topology", str(topology_file),
        error="server 1 sits behind port p1",
        hint="by one command",
    )  # fmt: skip


@pytest.mark.parametrize("port", ["0", "65536"])
def test_port_out_of_range(refused: Callable[..., None], host: str, port: str) -> None:
    refused("attach", host, *SERVER, "--port", port, error=f"port {port}", hint="65535")


def test_too_many_ports(refused: Callable[..., None], host: str) -> None:
    ports = [word for port in range(1000, 1009) for word in ("--port", str(port))]
    refused("attach", host, *SERVER, *ports, error="9 ports given", hint="at most 8 times")


def test_a_host_has_one_interface(refused: Callable[..., None], switch_ports: list[str]) -> None:
    refused("attach", "p0", "p1", *SERVER, error="one interface, 2 given", hint="of its own")


def test_attached_already(refused: Callable[..., None], host: str) -> None:
    assert netclone_host("attach", host, *SERVER).exit_code == 0
    refused("attach", host, *SERVER, error="attached to eth0 already, as a server", hint="--force")
    assert netclone_host("detach", host).exit_code == 0


def test_detach_what_is_not_attached(refused: Callable[..., None], host: str) -> None:
    refused("detach", host, error="NetClone is not attached to eth0", hint="status")
    refused("stats", host, error="NetClone is not attached to eth0", hint="status")
    refused("detach", "eth7", error="there is no interface eth7", hint="eth0")


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


def test_foreign_program(refused: Callable[..., None], host: str, not_ours: Path) -> None:
    run("ip", "link", "set", "dev", host, "xdpdrv", "obj", str(not_ours), "sec", "xdp")
    program = xdp.query(socket.if_nametoindex(host)).native_id
    refused(
        "attach", host, *SERVER,
        error=f'eth0 has an XDP program already: id {program} "foreign_xdp", native mode',
        hint="--force",
    )  # fmt: skip


def test_ingress_qdisc_in_the_way(refused: Callable[..., None], host: str) -> None:
    run("tc", "qdisc", "add", "dev", host, "ingress")
    refused("attach", host, *SERVER, error="an ingress qdisc", hint="clsact")


def test_native_mode_unavailable(refused: Callable[..., None]) -> None:
    refused(
        "attach", "lo", *SERVER, "--mode", "native",
        error="native XDP is not available on lo: ",
        hint="--mode generic",
    )  # fmt: skip


def test_auto_falls_back_to_generic_and_says_so(namespace: Namespace) -> None:
    result = netclone_host("attach", "lo", *SERVER)
    assert result.exit_code == 0, result.output
    assert "generic XDP" in result.output
    assert "note: native XDP is not available on lo: " in result.output
    assert netclone_host("detach", "lo").exit_code == 0


def test_peer_mtu_too_large(refused: Callable[..., None], host: str) -> None:
    run("ip", "link", "set", "wire", "mtu", "9000")
    refused(
        "attach", host, *SERVER, "--mode", "native",
        error="Peer MTU is too large to set XDP",
        hint="lower the MTU of the veth's other end",
    )  # fmt: skip


def test_peer_that_cannot_receive_redirected_frames(
    refused: Callable[..., None],
    namespace: Namespace,
    switch_ports: list[str],
    topology_file: Path,
) -> None:
    run("ethtool", "-K", "p1-wire", "gro", "off")
    refused(
        "attach", *switch_ports, "--role", "switch", "--topology", str(topology_file),
        error="p1-wire, the other end of p1, cannot receive redirected frames",
        hint="ethtool -K p1-wire gro on",
    )  # fmt: skip


def test_peer_in_another_namespace(
    refused: Callable[..., None], switch_ports: list[str], topology_file: Path
) -> None:
    other = f"{os.getpid()}-other"
    run("ip", "netns", "add", other)
    try:
        run("ip", "link", "set", "p2-wire", "netns", other)
        # Moving it took its link down and keeps its features.
        run("ip", "-n", other, "link", "set", "p2-wire", "up")
        run("ip", "netns", "exec", other, "ethtool", "-K", "p2-wire", "gro", "off")
        refused(
            "attach", *switch_ports, "--role", "switch", "--topology", str(topology_file),
            error="p2-wire, the other end of p2, cannot receive",
            hint="gro on",
        )  # fmt: skip
        run("ip", "netns", "exec", other, "ethtool", "-K", "p2-wire", "gro", "on")
        words = (*switch_ports, "--role", "switch", "--topology", str(topology_file))
        assert netclone_host("attach", *words).exit_code == 0
        assert netclone_host("detach", "p0").exit_code == 0
    finally:
        run("ip", "netns", "del", other)


def test_a_refusal_by_the_verifier(
    refused: Callable[..., None], host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The line that matters, not the log."""
    from netclone_host.attach.loaders import libbpf

    source = tmp_path / "server.c"
    source.write_text(
        "struct xdp_md { unsigned data, data_end; };\n"
        "#define SECTION(name) __attribute__((section(name), used))\n"
        'SECTION("xdp") int nc_server_in(struct xdp_md *ctx)\n'
        "{ return *(unsigned char *)(long)ctx->data; }\n"
        'SECTION("license") char the_license[] = "GPL";\n'
    )
    target = tmp_path / "server.bpf.o"
    run("clang", "-target", "bpf", "-O2", "-g", "-c", str(source), "-o", str(target))
    monkeypatch.setattr(libbpf, "OBJECT_DIR", tmp_path)
    refused(
        "attach", host, *SERVER,
        error="the kernel's verifier refused a program of server.bpf.o",
        hint="outside of the packet",
    )  # fmt: skip


def test_objects_not_built(
    refused: Callable[..., None], host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from netclone_host.attach.loaders import libbpf

    monkeypatch.setattr(libbpf, "OBJECT_DIR", tmp_path)
    refused("attach", host, *SERVER, error="there is no compiled object", hint="make setup")


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


def test_bcc_not_installed(
    refused: Callable[..., None], host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choice, "has_bcc", lambda: False)
    refused(
        "attach", host, *SERVER, "--loader", "bcc",
        error="the BCC loader needs Debian's python3-bpfcc",
        hint="apt install python3-bpfcc",
    )  # fmt: skip


def test_bcc_without_kernel_headers(
    refused: Callable[..., None], host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BCC_KERNEL_SOURCE", raising=False)
    monkeypatch.setattr(kernel_headers, "running_kernel_has_headers", lambda: False)
    monkeypatch.setattr(kernel_headers, "installed", lambda: None)
    refused(
        "attach", host, *SERVER, "--loader", "bcc",
        error="BCC needs kernel headers, and none are installed",
        hint="linux-headers",
    )  # fmt: skip


def test_bcc_that_cannot_compile(
    refused: Callable[..., None], host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The compiler's own words, cut to the first error."""
    if not choice.has_bcc():
        pytest.skip("needs BCC (python3-bpfcc)")
    monkeypatch.setattr(bcc, "flat_text", lambda _path: "int f(void) { return x; }\n")
    refused(
        "attach", host, *SERVER, "--loader", "bcc",
        error="BCC could not compile server.bpf.c",
        hint="use of undeclared identifier 'x'",
    )  # fmt: skip


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


def test_what_was_detached_meanwhile(host: str) -> None:
    assert netclone_host("attach", host, *SERVER).exit_code == 0
    attachment = state.attached_to(host)
    assert netclone_host("detach", host).exit_code == 0
    with pytest.raises(UserError, match="was detached from eth0 meanwhile"):
        state.read_counters(attachment)


def test_verbose_shows_where_a_refusal_came_from(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise OSError(errno.ENOSPC, "No space left", "/run/x")

    with monkeypatch.context() as full:
        full.setattr(journal, "locked", refuse)
        result = netclone_host("-v", "detach", host)
    assert isinstance(result.exception, OSError)


@pytest.mark.parametrize(
    ("ports", "sentence"), [("11", "port 1000 given twice"), ("111", "port 1000 given 3 times")]
)
def test_a_port_given_more_than_once(
    refused: Callable[..., None], host: str, ports: str, sentence: str
) -> None:
    words = [word for _ in ports for word in ("--port", "1000")]
    refused("attach", host, *SERVER, *words, error=sentence, hint="once for each port")


@pytest.mark.parametrize(
    ("timeout", "sentence"),
    [
        ("1ns", "a request timeout of 1ns is out of range"),
        ("2000min", "out of range"),
        ("0s", "'0s' is not above 0"),
        ("1", "has no unit"),
        ("soon", "is not a duration"),
    ],
)
def test_a_request_timeout_out_of_range(
    refused: Callable[..., None], host: str, timeout: str, sentence: str
) -> None:
    """Each hint states the range, and suggests nothing that lies outside of it."""
    refused("attach", host, *SERVER, "--request-timeout", timeout, error=sentence, hint="from 10")


def test_a_topology_file_without_end(refused: Callable[..., None], switch_ports: list[str]) -> None:
    refused(
        "attach", *switch_ports, "--role", "switch", "--topology", "/dev/zero",
        error="more than 1 MiB",
        hint="topology file",
    )  # fmt: skip
