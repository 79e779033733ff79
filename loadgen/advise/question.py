# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the advisor is asked: servers, their work, copies, and what a copy costs the client."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from loadgen.sim.model import Model, Point, RequestClass, with_replications
from loadgen.sim.run import PointResult
from loadgen.workload.schemes import Party, find_scheme
from loadgen.workload.services import Workload
from netclone_host.errors import UserError

Run = Callable[[Sequence[Point]], list[PointResult]]
NO_COPIES, STATIC = "baseline", "c-clone"
"""The two schemes that a threshold compares."""


@dataclass(frozen=True)
class Question:
    """Times in ns."""

    workload: Workload
    servers: int
    workers: int = 1
    copies: int = 2
    overhead_ns: float = 0.0
    """What the client loses on every request that it sends more than once."""
    requests: int = 400_000
    seed: int = 1

    def check(self) -> None:
        """Raises `UserError` for what cannot be asked."""
        if not 2 <= self.copies <= 16:
            raise UserError(f"--copies: {self.copies} is out of range", "give 2 to 16")
        if self.copies > self.servers:
            raise UserError(
                f"{self.copies} copies cannot go to {self.servers} different servers",
                "give more servers or fewer copies",
            )
        self.model().check()

    def model(self) -> Model:
        return Model(
            classes=(RequestClass(self.workload),),
            workers=(self.workers,) * self.servers,
            clients=1,
            copies=self.copies,
            link_ns=0.0,
            switch_ns=0.0,
            # Long queues: a full one would hide how late its requests are.
            queue_limit=1 << 16,
        )

    def overhead_us(self, scheme: str) -> float:
        """What the client loses on a request. A switch that clones also filters: then the client
        sends and reads one packet."""
        return self.overhead_ns * 1e-3 if find_scheme(scheme).cloner is Party.CLIENT else 0.0

    def point(self, scheme: str, load: float) -> Point:
        point = Point(self.model(), scheme, load, self.requests, seed=self.seed)
        return with_replications(point, 10)
