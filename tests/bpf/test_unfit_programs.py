# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Programs that are missing, do not compile or do not pass the verifier: a sentence, a hint, exit
status 2, and nothing changed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from netclone_host.attach import loaders
from netclone_host.attach.loaders import bcc, libbpf
from netclone_host.kernel import kernel_headers

from .commands import SERVER
from .conftest import run


def test_a_refusal_by_the_verifier(
    refused: Callable[..., None], host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The line that matters, not the log."""
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
    monkeypatch.setattr(libbpf, "OBJECT_DIR", tmp_path)
    refused("attach", host, *SERVER, error="there is no compiled object", hint="make setup")


def test_bcc_not_installed(
    refused: Callable[..., None], host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loaders, "has_bcc", lambda: False)
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
    if not loaders.has_bcc():
        pytest.skip("needs BCC (python3-bpfcc)")
    monkeypatch.setattr(bcc, "flat_text", lambda _path: "int f(void) { return x; }\n")
    refused(
        "attach", host, *SERVER, "--loader", "bcc",
        error="BCC could not compile server.bpf.c",
        hint="use of undeclared identifier 'x'",
    )  # fmt: skip
