# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Objects that hold something open until closed, or until their `with` block ends."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self


class Closeable(ABC):
    """Open from the start; a `with` block closes it at its end."""

    @abstractmethod
    def close(self) -> None:
        """Release what is held."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
