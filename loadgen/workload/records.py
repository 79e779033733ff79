# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The record of one run: the same fields from the rack, the generator and the simulator.

Times are divided back by `time_scale` and rates multiplied by it, so that records of a
stretched rack, of real hardware and of the simulator can be laid side by side.
"""

from __future__ import annotations

import contextlib
import csv
import errno
import json
import math
import os
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import IO, Any

from loadgen.workload.text_files import read_text
from netclone_host.errors import UserError


@dataclass
class RunRecord:
    """One scheme at one load. Counts are of requests scheduled after the warm-up.

    sent = answered + unanswered. `redundant` counts responses that reached the client
    after the first of their request; `cloned`, `clones_dropped` and `filtered` come from
    the switch's, the servers' and the switch's counters (of the simulator: its model).
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
    """One line a record with a heading, as pandas.read_csv takes it; whole or not at all."""
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
"""Nothing that is measured comes near it, and sums of many are still numbers."""

_JSON_TYPES: dict[str, type | tuple[type, ...]] = {
    "str": str, "bool": bool, "int": int, "float": (int, float),
}  # fmt: skip


def _from_plain(value: object, annotation: str) -> object:
    """The field's value of what `_plain` made of it; `annotation`: `str`, `bool`, `int`, `float`
    or a `dict[str, ...]` of one of them. Raises `TypeError` for a value of another type."""
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
    """JSON can name halves of characters, which are no text."""
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


def _is_special(path: Path) -> bool:
    """A device, a pipe or a socket: written to, and never replaced by a file."""
    return path.exists() and not path.is_file() and not path.is_dir()


def require_writable(path: Path, *, directory: bool = False) -> None:
    """`UserError` if no file could be written to `path` now, or, with `directory`, no file in it
    (it is made if need be). Asked before a measurement, not after it."""
    problem = ""
    target = Path(os.path.realpath(path))
    holds = target if directory and target.exists() else target.parent
    if not holds.is_dir():
        problem = f"'{holds}' is no directory" if holds.exists() else f"there is no '{holds}'"
    elif not directory and target.is_dir():
        problem = "it is a directory"
    elif _is_special(target):
        problem = "" if os.access(target, os.W_OK) else os.strerror(errno.EACCES)
    else:
        try:
            with tempfile.TemporaryFile(dir=holds):
                pass
        except OSError as error:
            problem = error.strerror or str(error)
    if problem:
        raise UserError(f"cannot write '{path}': {problem}", "choose another place")


@contextlib.contextmanager
def atomic_file(path: Path, mode: str = "w") -> Iterator[IO[Any]]:
    """A file that appears under `path` only when it is complete.

    Written beside it, synced, then renamed; of a link, what it points to is replaced. A device or
    a pipe is written to directly. Raises `UserError` (disk full, no permission) and leaves what
    was there before.
    """
    target = Path(os.path.realpath(path))
    try:
        if _is_special(target):
            with target.open(mode) as out:
                yield out
            return
        with _renamed_at_the_end(target, mode) as out:
            yield out
    except OSError as error:
        raise UserError(
            f"cannot write '{path}': {error.strerror}", "nothing was written; choose another place"
        ) from error


@contextlib.contextmanager
def _renamed_at_the_end(path: Path, mode: str) -> Iterator[IO[Any]]:
    permissions = path.stat().st_mode & 0o777 if path.exists() else 0o644
    temporary: str | None = None
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(handle, mode) as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        Path(temporary).chmod(permissions)
        Path(temporary).replace(path)
        temporary = None
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()
