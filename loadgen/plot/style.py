# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""How plots look: the style of each scheme, and axes to draw on."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from loadgen.workload.schemes import SCHEMES
from loadgen.workload.user_files import atomic_file


def style(name: str, position: int = 0) -> dict[str, Any]:
    """Colour, marker and line of a scheme, or of the curve number `position`."""
    others = list(SCHEMES.values())
    look = SCHEMES.get(name, others[position % len(others)]).look
    return {
        "color": look.color,
        "marker": look.marker,
        "linestyle": look.dashes,
        "markersize": 5,
        "linewidth": 1.4,
    }


@contextlib.contextmanager
def axes(path: Path, rows: int = 1, columns: int = 1) -> Iterator[list[Any]]:
    """Axes to draw on; the PNG appears under `path` when the block ends well."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

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
        with atomic_file(path, "wb") as out:
            # Without the date and the version the same data give the same bytes.
            figure.savefig(out, format="png", dpi=130, metadata={"Software": None})
    finally:
        pyplot.close(figure)
