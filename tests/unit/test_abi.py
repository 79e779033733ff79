# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""attach/tables.py against tables.h, limits.h and counters.h, as the C compiler lays them out."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import pytest

from netclone_host import counters
from netclone_host.attach import tables
from netclone_host.attach.loaders import libbpf as libbpf_loader
from netclone_host.attach.roles import Role
from netclone_host.attach.tables import MapName

INCLUDE = Path(__file__).parents[2] / "xdp/include"


@pytest.fixture(scope="module")
def in_c(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler (cc)")
    lines = [f'number("{name}", {name});' for name in tables.CONSTANTS]
    lines += ['number("NC_CTR_COUNT", NC_CTR_COUNT);', 'number("NC_HOOK_COUNT", NC_HOOK_COUNT);']
    for name, mirror in tables.STRUCTURES.items():
        lines.append(f'number("sizeof {name}", sizeof(struct {name}));')
        for field in mirror._fields_:
            where = f'"{name}.{field[0]}"'
            lines.append(f"number({where}, __builtin_offsetof(struct {name}, {field[0]}));")
            lines.append(f'number("sizeof " {where}, sizeof(((struct {name} *)0)->{field[0]}));')
    source = tmp_path_factory.mktemp("abi") / "abi.c"
    source.write_text(
        "#include <stdio.h>\n#include <netclone/counters.h>\n#include <netclone/tables.h>\n"
        "static void number(const char *name, unsigned long value)\n"
        '{ printf("%s = %lu\\n", name, value); }\n'
        f"int main(void) {{ {' '.join(lines)} return 0; }}\n"
    )
    program = source.with_suffix("")
    subprocess.run([compiler, f"-I{INCLUDE}", source, "-o", program], check=True)
    printed = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    pairs = (line.split(" = ") for line in printed.splitlines())
    return {name: int(value) for name, value in pairs}


def test_constants(in_c: dict[str, int]) -> None:
    assert {name: in_c[name] for name in tables.CONSTANTS} == tables.CONSTANTS


def test_counters(in_c: dict[str, int]) -> None:
    assert len(counters.names()) == in_c["NC_CTR_COUNT"]
    assert len(counters.Hook) == in_c["NC_HOOK_COUNT"]


@pytest.mark.parametrize("name", tables.STRUCTURES)
def test_structure(name: str, in_c: dict[str, int]) -> None:
    mirror = tables.STRUCTURES[name]
    assert ctypes.sizeof(mirror) == in_c[f"sizeof {name}"]
    for field in mirror._fields_:
        described = getattr(mirror, field[0])
        assert described.offset == in_c[f"{name}.{field[0]}"], field[0]
        assert described.size == in_c[f"sizeof {name}.{field[0]}"], field[0]


def test_ports_are_in_network_byte_order() -> None:
    assert bytes(tables.Ports.of((1000, 1001)))[4:8] == bytes([0x03, 0xE8, 0x03, 0xE9])


def test_every_map_of_the_programs_has_its_name() -> None:
    names = {name for role in Role for name in libbpf_loader.map_names(role)}
    # Of the maps in an array of maps no program knows the name.
    assert names | {MapName.PAIR_PORTS} == set(MapName)
