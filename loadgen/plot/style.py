# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""How every plot looks: axes to draw on, the style of each scheme, and a line with its band."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from loadgen.workload.schemes import SCHEMES
from loadgen.workload.user_files import atomic_file

# Names and titles are no formulas; the same data give the same bytes.
_SETTINGS = {"text.parse_math": False, "svg.hashsalt": "netclone"}
_NO_STAMP: dict[str, dict[str, None]] = {"png": {"Software": None}, "svg": {"Date": None}}
"""Neither version nor date."""


def style(name: str, position: int = 0) -> dict[str, Any]:
    """Colour, marker and dashes of a scheme, or of the curve number `position`."""
    others = list(SCHEMES.values())
    look = SCHEMES.get(name, others[position % len(others)]).look
    return {
        "color": look.color,
        "marker": look.marker,
        "linestyle": look.dashes,
        "markersize": 5,
        "linewidth": 1.4,
    }


def numbered(position: int) -> dict[str, Any]:
    """Colour, marker and dashes of a curve that is not a scheme."""
    return style("", position)


def line(
    ax: Any,
    x: Sequence[float],
    y: Sequence[float],
    label: str,
    look: dict[str, Any],
    band: tuple[Sequence[float], Sequence[float]] | None = None,
) -> None:
    """One curve; `band` is what the interval reaches down and up to."""
    ax.plot(x, y, label=label, **look)
    if band is not None:
        ax.fill_between(x, *band, color=look["color"], alpha=0.2, linewidth=0)


@contextlib.contextmanager
def axes(target: Path | Sequence[Path], rows: int = 1, columns: int = 1) -> Iterator[list[Any]]:
    """Axes to draw on; each file of `target` (SVG by its suffix, else PNG) appears when
    the block ends well."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    paths = [target] if isinstance(target, Path) else target
    with pyplot.rc_context(_SETTINGS):
        figure, grid = pyplot.subplots(
            rows, columns, figsize=(5.2 * columns, 3.7 * rows), squeeze=False, layout="constrained"
        )
        flat = list(grid.flat)
        try:
            yield flat
            for ax in flat:
                ax.grid(True, which="major", alpha=0.3, linewidth=0.6)
                if ax.get_legend_handles_labels()[0]:
                    ax.legend(fontsize=8)
            for path in paths:
                kind = "svg" if path.suffix == ".svg" else "png"
                with atomic_file(path, "wb") as out:
                    figure.savefig(out, format=kind, dpi=130, metadata=_NO_STAMP[kind])
        finally:
            pyplot.close(figure)
