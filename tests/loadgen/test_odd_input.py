# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What no one should give: digits of other scripts, half addresses, devices without end, records
that no run wrote. One sentence, one hint, exit status 2."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import pytest
from click.testing import CliRunner

from loadgen.cli import main
from loadgen.cli.types import parse_endpoint
from loadgen.traffic.endpoints import Endpoint
from loadgen.workload.records import RunRecord
from netclone_host.errors import UserError

COORDINATOR = ("coordinator", "--listen", "127.0.0.1:0", "--server", "127.0.0.1:9")
SIMULATE = ("simulate", "--schemes", "baseline", "--requests", "2000", "--replications", "1")
HALF = json.dumps("\ud800")


def refused(arguments: Sequence[str]) -> str:
    result = CliRunner().invoke(main, list(arguments))
    assert isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code == 2, result.output
    lines = result.output.strip().splitlines()
    assert len(lines) == 2 and lines[0].startswith("error: ") and lines[1].startswith("hint: ")
    return lines[0]


@pytest.mark.parametrize(
    "arguments",
    [
        (*COORDINATOR, "--slots", "²"),
        (*COORDINATOR, "--slots", "٣"),
        (*COORDINATOR, "--slots", "9" * 5000),
        (*COORDINATOR, "--duration", ""),
        ("server", "--listen", "127.0.0.1:²"),
        ("server", "--listen", "127.0.0.1:0", "--duration", ""),
        ("client", "--server", "127.0.0.1:9", "--rate", "1", "--arrivals", "bursty:²"),
        (*SIMULATE, "--loads", "1e-18"),
        (*SIMULATE, "--loads", "0.1", "--jitter", "0.5x1e300"),
        (*SIMULATE, "--loads", "0.1", "--requests", "18446744073709551616"),
        ("advise", "--requests", "99999999999999999999999"),
        ("sweep", "--server", "127.0.0.1:9", "--repeats", "4294967296"),
        (*SIMULATE, "--loads", "0.1", "--service", "trace:/dev/zero"),
        ("advise", "redundancy", "--trace", "/dev/zero"),
        ("plot", "/dev/zero"),
    ],
)
def test_it_is_refused(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    refused(arguments)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("text", ["[::1", "[::1]:", "[::1]1000", "127.0.0.1:", "[]:1", "[::1]:²"])
def test_half_an_address_is_none(text: str) -> None:
    with pytest.raises(UserError):
        parse_endpoint(text)


def test_whole_addresses() -> None:
    assert parse_endpoint("[::1]:7") == Endpoint("::1", 7)
    assert parse_endpoint("[::1]") == parse_endpoint("::1") == Endpoint("::1", 1000)
    assert parse_endpoint("10.0.1.1:7") == Endpoint("10.0.1.1", 7)


def record_with(field: str, text: str) -> str:
    """JSON of two records, of which one has `text` as its `field`."""
    record = asdict(RunRecord("rack", "baseline", "s", "none", 0.1, 9.0, 9.0, 9, 9, 0, 0))
    plain = {k: None if v != v else v for k, v in record.items()} | {"p99_us": 5.0}
    odd = json.dumps(plain | {field: "@"}).replace('"@"', text)
    return f"[{odd}, {json.dumps(plain)}]"


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("scheme", HALF),
        ("note", HALF),
        ("load", "1" + "0" * 400),
        ("achieved_rps", "1e308"),
        ("p99_us", "-1e308"),
        ("p99_us", "Infinity"),
        ("sent", "1" + "0" * 400),
        ("counters", '{"a": 1e99}'),
    ],
)
def test_a_record_that_no_run_wrote(tmp_path: Path, field: str, text: str) -> None:
    (tmp_path / "r.json").write_text(record_with(field, text))
    out = tmp_path / "out"
    said = refused(("plot", str(tmp_path / "r.json"), "--out", str(out)))
    assert f"'{field}'" in said
    assert [path.name for path in tmp_path.iterdir()] == ["r.json"]


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 50_000])
def test_json_without_end_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "r.json").write_text(text)
    assert "is not JSON" in refused(("plot", str(tmp_path / "r.json")))


@pytest.mark.parametrize("out", ["", ".", "/", ".."])
def test_a_picture_needs_a_name(tmp_path: Path, out: str) -> None:
    (tmp_path / "r.json").write_text(record_with("note", '""'))
    assert "names no file" in refused(("plot", str(tmp_path / "r.json"), "--out", out))


@pytest.mark.parametrize("text", [r"$\frac{$", "$x^", "a$b$c"])
def test_names_and_titles_are_no_formulas(tmp_path: Path, text: str) -> None:
    (tmp_path / "r.json").write_text(record_with("scheme", json.dumps(text)))
    for title in (text, "", os.fsdecode(b"\xff")):
        arguments = ["plot", str(tmp_path / "r.json"), "--out", str(tmp_path / "p")]
        result = CliRunner().invoke(main, [*arguments, "--title", title])
        assert result.exit_code == 0, result.exception


@pytest.mark.parametrize("option", ["--rates", "--loads"])
def test_no_numbers_are_not_the_default(option: str) -> None:
    refused(("sweep", "--server", "127.0.0.1:9", option, ""))
