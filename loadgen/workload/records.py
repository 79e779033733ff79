# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The record of one run: the same fields from the rack, the generator and the simulator.

Times are divided back by `time_scale` and rates multiplied by it, so that records of a
stretched rack, of real hardware and of the simulator can be laid side by side.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from loadgen.workload.user_files import atomic_file, read_text
from netclone_host.errors import UserError


@dataclass
class RunRecord:
    """One scheme at one load. Counts are of requests scheduled after the warm-up.

    sent = answered + unanswered. `redundant` counts responses that reached the client
    after the first of their request; `cloned`, `clones_dropped` and `filtered` come from
    the switch's, the servers' and the switch's counters (for the simulator, its model's).
    """

    source: str
    """`rack`, `loadgen` or `simulator`."""
    scheme: str
    service: str
    jitter: str
    load: float
    """Fraction of all workers' time; NaN when only a rate was given."""
    offered_rps: float
    achieved_rps: float
    """First answers that arrived in the measured window, per second of it."""
    sent: int
    answered: int
    unanswered: int
    redundant: int
    cloned: int = 0
    clones_dropped: int = 0
    filtered: int = 0
    p50_us: float = math.nan
    p90_us: float = math.nan
    p99_us: float = math.nan
    p999_us: float = math.nan
    max_us: float = math.nan
    mean_us: float = math.nan
    time_scale: float = 1.0
    xdp_mode: str = "none"
    """`native`, `generic`, `none` (no programs) or `simulated`."""
    servers: int = 0
    workers: int = 0
    clients: int = 1
    duration_s: float = math.nan
    """Measured window in real seconds (simulator: simulated seconds)."""
    seed: int = 0
    repeat: int = 0
    io: str = "socket"
    """`socket`, `af_xdp zero-copy`, `af_xdp copy` or `simulated`."""
    timestamps: str = "user"
    """Clock of the arrivals: `user` (after the receive call) or `kernel`."""
    arrivals: str = "poisson"
    app: str = "synthetic"
    kept_schedule: bool = True
    """False: requests went out late or not at all; the run's exit status says so too."""
    late_sends: int = 0
    late_limit_us: float = math.nan
    """A send later than this after its scheduled time is late; real microseconds."""
    max_late_us: float = math.nan
    unsent: int = 0
    """Requests that were due and never left; not part of `sent`."""
    send_errors: int = 0
    link_drops: int = 0
    """Packets that the I/O back end lost (AF_XDP ring starved, link down)."""
    stale: int = 0
    """Responses too old, or not of this run."""
    server_rejected: int = 0
    """Requests for which the servers' queues had no room."""
    partial: bool = False
    """True: the run ended early; `note` says why."""
    note: str = ""
    replications: int = 1
    """Simulator: independent runs that were merged into this record."""
    utilisation: float = math.nan
    """Simulator: share of the workers' time spent on requests and clones."""
    half_widths: dict[str, float] = field(default_factory=dict)
    """Simulator: half widths of 95 % confidence intervals, by the name of the field."""
    counters: dict[str, int] = field(default_factory=dict)
    """Further counters by name, such as `sw.ingress.cloned`."""

    def add_note(self, note: str) -> None:
        """Appends to what `note` says."""
        self.note = "; ".join(filter(None, [self.note, note]))

    @property
    def redundant_share(self) -> float:
        """Redundant responses per answered request."""
        return self.redundant / self.answered if self.answered else 0.0

    @property
    def achieved_share(self) -> float:
        """Rate of first answers over the offered one; NaN where nothing was due."""
        return self.achieved_rps / self.offered_rps if self.offered_rps else math.nan

    @property
    def clone_rate(self) -> float:
        """Cloned requests per request sent."""
        return self.cloned / self.sent if self.sent else 0.0


_CSV_FIELDS = [f.name for f in fields(RunRecord) if f.name not in ("counters", "half_widths")]


def _plain(value: Any) -> Any:
    """JSON has no NaN: such values become null."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def to_json(records: Iterable[RunRecord]) -> str:
    """A JSON list of objects, NaN as null."""
    return json.dumps([_plain(asdict(record)) for record in records], indent=1) + "\n"


def write_json(path: Path, records: Iterable[RunRecord]) -> None:
    """Writes the list to `path`, whole or not at all. Raises `UserError`."""
    text = to_json(records)
    with atomic_file(path) as out:
        out.write(text)


def write_csv(path: Path, records: Iterable[RunRecord]) -> None:
    """One line per record under a heading, as pandas.read_csv expects it; whole or not at all."""
    with atomic_file(path) as out:
        writer = csv.DictWriter(out, _CSV_FIELDS, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        for record in records:
            row = _plain(asdict(record))
            writer.writerow({k: "" if v is None else v for k, v in row.items()})


def read_json(path: Path) -> list[RunRecord]:
    """Records that `write_json` wrote. Raises `UserError` for anything else."""
    hint = "give a file written by 'netclone-loadgen ... --json FILE'"
    try:
        rows = json.loads(read_text(path))
    except OSError as error:
        raise UserError(f"cannot read '{path}': {error.strerror}", hint) from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"'{path}' is not JSON: {error}", hint) from error
    if not isinstance(rows, list):
        raise UserError(f"'{path}' is not a list of records", hint)
    return [_from_row(row, path, hint) for row in rows]


_LARGEST = 1e30
"""No measurement comes near it, and sums of many are still finite."""

_JSON_TYPES: dict[str, type | tuple[type, ...]] = {
    "str": str, "bool": bool, "int": int, "float": (int, float),
}  # fmt: skip


def _from_plain(value: object, annotation: str) -> object:
    """Turns what `_plain` made of a field back into its value; `annotation`: `str`, `bool`, `int`,
    `float` or a `dict[str, ...]` of one of them. Raises `TypeError` for a value of another type."""
    if annotation.startswith("dict[str, "):
        of_items = annotation.removeprefix("dict[str, ").removesuffix("]")
        if not isinstance(value, dict):
            raise TypeError
        return {key: _from_plain(item, of_items) for key, item in value.items()}
    if annotation == "float" and value is None:
        return math.nan
    if not isinstance(value, _JSON_TYPES[annotation]) or (
        isinstance(value, bool) and annotation != "bool"
    ):
        raise TypeError
    if isinstance(value, int | float) and abs(value) > _LARGEST:
        raise TypeError
    if isinstance(value, str) and not _is_text(value):
        raise TypeError
    return value


def _is_text(value: str) -> bool:
    """JSON can encode lone surrogates, which are not text."""
    return not any("\ud800" <= character <= "\udfff" for character in value)


def _from_row(row: object, path: Path, hint: str) -> RunRecord:
    known = {f.name: f for f in fields(RunRecord)}
    if not isinstance(row, dict) or not set(row) <= set(known):
        raise UserError(f"'{path}' holds something that is not a run's record", hint)
    values: dict[str, Any] = {}
    for name, value in row.items():
        try:
            values[name] = _from_plain(value, str(known[name].type))
        except TypeError as error:
            shown = json.dumps(value)[:40]
            raise UserError(f"a record of '{path}' has {shown} as its '{name}'", hint) from error
    try:
        return RunRecord(**values)
    except TypeError as error:
        raise UserError(f"a record of '{path}' lacks fields", hint) from error
