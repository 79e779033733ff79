# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""How the simulator's plots look: one style a scheme, readable without colour."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from loadgen.workload.user_files import atomic_file

STYLES: dict[str, dict[str, Any]] = {
    "baseline": {"color": "#444444", "marker": "o", "linestyle": "-"},
    "c-clone": {"color": "#c44e52", "marker": "s", "linestyle": "--"},
    "laedge": {"color": "#8172b2", "marker": "v", "linestyle": ":"},
    "racksched": {"color": "#937860", "marker": "D", "linestyle": "-."},
    "netclone": {"color": "#1f5fa8", "marker": "^", "linestyle": "-"},
    "netclone+racksched": {"color": "#2a9d5c", "marker": "P", "linestyle": "--"},
    "netclone+reserve": {"color": "#d98b00", "marker": "*", "linestyle": "-"},
}
_ORDER = list(STYLES.values())


def style(name: str, position: int = 0) -> dict[str, Any]:
    """Colour, marker and line of a scheme, or of the curve number `position`."""
    return {**STYLES.get(name, _ORDER[position % len(_ORDER)]), "markersize": 5, "linewidth": 1.4}


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
