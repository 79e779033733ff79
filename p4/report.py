# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the TNA program takes of a Tofino 1, read from the compiler's own report, next to the
numbers of the paper (`make p4-report`).

p4c with its Tofino back end (p4c-barefoot) and its assembler (bfas) are looked for on the
PATH. The exit status is 1 if the default build takes more ingress stages than the paper's, or if
the compiler's parser tells nothing apart (p4/parser_states.py).
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import parser_states

PROGRAM = Path(__file__).parent / "tna" / "netclone.p4"
COMPILER, ASSEMBLER = "p4c-barefoot", "bfas"

PAPER_STAGES = 7
# Section 4.1 of the paper: averages over 7 stages, that is 101 of 560 blocks, 110 of 896 bytes,
# 15 of 56 functions, 6 of 28 ALUs.
PAPER_PERCENT = {"SRAM": 18.04, "match crossbar": 12.28, "hash units": 26.79, "ALUs": 21.43}

# What a stage of Tofino 1 has. The crossbar is that of exact matches; stateful registers
# live in the meter ALUs.
SRAM_BLOCKS, CROSSBAR_BYTES, HASH_FUNCTIONS, METER_ALUS = 80, 128, 8, 4

VARIANTS: dict[str, tuple[str, ...]] = {
    "default": (),
    "four filter tables": ("-DNETCLONE_FILTER_TABLES=4",),
    "wide fingerprints": ("-DNETCLONE_WIDE_FINGERPRINTS",),
}


class ReportError(Exception):
    """One sentence on what is missing or went wrong."""


@dataclass(frozen=True)
class Usage:
    """What a build takes, over its ingress stages."""

    stages: int
    tables: int
    srams: int
    tcams: int
    stateful_alus: int
    percent: dict[str, float]


def find(program: str) -> str:
    path = shutil.which(program)
    if path is None:
        raise ReportError(f"{program} is not on the PATH; p4c's Tofino back end has it")
    return path


def compile_program(directory: Path, options: Iterable[str] = ()) -> Path:
    """Compile for Tofino 1 into `directory`; the assembly file."""
    directory.mkdir(parents=True, exist_ok=True)
    assembly = directory / "pipe" / "netclone.bfa"
    command = [find(COMPILER), "--target", "tofino", "--arch", "tna", "-g", "--verbose"]
    command += [*options, "--bf-rt-schema", str(directory / "bf-rt.json")]
    command += ["-o", f"{directory}/", str(PROGRAM)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    (directory / "compiler.log").write_text(done.stdout + done.stderr)
    if done.returncode or not assembly.exists():
        errors = [line for line in done.stderr.splitlines() if "] error:" in line]
        raise ReportError(f"{COMPILER} failed: {errors[0] if errors else 'see compiler.log'}")
    return assembly


def assemble(assembly: Path) -> Path:
    """The assembler by hand: tofino.bin beside the assembly file."""
    command = [find(ASSEMBLER), "--target", "tofino", "-o", str(assembly.parent), str(assembly)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    (assembly.parent / "assembler.log").write_text(done.stdout + done.stderr)
    binary = assembly.parent / "tofino.bin"
    errors = [line for line in (done.stderr + done.stdout).splitlines() if "error:" in line]
    if done.returncode or errors or not binary.exists():
        raise ReportError(f"{ASSEMBLER} failed: {errors[0] if errors else 'see assembler.log'}")
    return binary


def front_end_dump(directory: Path) -> Path:
    """The program as the front end understood it."""
    return _one(directory, "frontend-ir.json")


def read_usage(directory: Path) -> Usage:
    """From the reports that the compiler left in `directory`."""
    resources = json.loads(_one(directory, "resources.json").read_text())["resources"]
    # The program has no egress tables; a stage with a table is one of ingress.
    used = [stage for stage in resources["mau"]["mau_stages"] if stage["logical_tables"]["ids"]]
    stages = 1 + max(int(stage["stage_number"]) for stage in used)
    srams = sum(len(stage["rams"]["srams"]) for stage in used)
    crossbar = sum(_exact_bytes(stage["xbar_bytes"]) for stage in used)
    functions = sum(_hash_functions(stage["hash_bits"]) for stage in used)
    alus = sum(len(stage["meter_alus"]["meters"]) for stage in used)
    return Usage(
        stages=stages,
        tables=sum(len(stage["logical_tables"]["ids"]) for stage in used),
        srams=srams,
        tcams=sum(len(stage["tcams"]["tcams"]) for stage in used),
        stateful_alus=alus,
        percent={
            "SRAM": 100 * srams / (stages * SRAM_BLOCKS),
            "match crossbar": 100 * crossbar / (stages * CROSSBAR_BYTES),
            "hash units": 100 * functions / (stages * HASH_FUNCTIONS),
            "ALUs": 100 * alus / (stages * METER_ALUS),
        },
    )


def _one(directory: Path, name: str) -> Path:
    found = sorted(directory.rglob(name))
    if not found:
        raise ReportError(f"the compiler left no {name} in {directory}")
    return found[0]


def _exact_bytes(crossbar: dict[str, Any]) -> int:
    return sum(entry["byte_type"] == "exact" for entry in crossbar["bytes"])


def _hash_functions(bits: dict[str, Any]) -> int:
    return len({entry["hash_function"] for entry in bits["bits"]})


def compiler_version() -> str:
    """What it says of itself; p4c does not know its own revision."""
    done = subprocess.run(
        [find(COMPILER), "--version"], capture_output=True, text=True, check=False
    )
    return " ".join([COMPILER, *(done.stdout or done.stderr).split()[1:]])


def print_usage(name: str, usage: Usage) -> None:
    print(
        f"\n{name}: {usage.tables} tables, {usage.srams} SRAM and {usage.tcams} TCAM blocks, "
        f"{usage.stateful_alus} stateful ALUs"
    )
    print(f"  {'':20}{'here':>8}{'paper':>8}")
    print(f"  {'ingress stages':20}{usage.stages:>8}{PAPER_STAGES:>8}")
    for resource, paper in PAPER_PERCENT.items():
        print(f"  {resource + ' %':20}{usage.percent[resource]:>8.2f}{paper:>8.2f}")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/p4"), help="where builds go")
    parser.add_argument("--variants", action="store_true", help="each option's cost, too")
    chosen = parser.parse_args(arguments)
    try:
        print(f"compiler: {compiler_version()}")
        fits = True
        for name, options in VARIANTS.items():
            if name != "default" and not chosen.variants:
                continue
            directory = chosen.out / name.replace(" ", "-")
            assembly = compile_program(directory, options)
            if problem := parser_states.fault(assembly.read_text()):
                raise ReportError(problem)
            binary = assemble(assembly)
            usage = read_usage(directory)
            print_usage(f"{name} ({binary})", usage)
            fits = fits and (name != "default" or usage.stages <= PAPER_STAGES)
    except ReportError as error:
        print(f"p4-report: {error}", file=sys.stderr)
        return 2
    return 0 if fits else 1


if __name__ == "__main__":
    sys.exit(main())
