# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What holds something open until it is closed, or until its `with` block ends."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self


class Closeable(ABC):
    """Open since it was made; a `with` block closes it at its end."""

    @abstractmethod
    def close(self) -> None:
        """Gives back what it holds."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
