# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Objects that work in the background from the start to the end of a `with` block."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self


class Startable(ABC):
    """Started at the beginning of a `with` block and stopped at its end."""

    @abstractmethod
    def start(self) -> None:
        """Begins. Raises `UserError`; then nothing is open."""

    @abstractmethod
    def stop(self) -> object:
        """Ends; may be called again."""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
