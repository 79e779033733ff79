# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""By how much time is stretched so that a rack of 90 workers fits on this machine.

Service times are multiplied by the time scale and rates divided by it, so that queues
and utilisation stay what they are while the packets' cost becomes small beside the services.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from loadgen.workload.schemes import Party, Scheme
from loadgen.workload.services import Workload

# Share of what the machine can carry that the busiest run may ask for; the queues in front of
# the processors then add little to the latencies of a stretched rack.
TARGET_SHARE = 0.3
# The same where the servers cannot keep up anyway: the latency is that of their queues.
OVERLOADED_SHARE = 0.6
MIN_SCALE = 1.0
# Usable share of the processors' time: clients and servers wait for each other now and then.
PARALLEL_SHARE = 0.7
# A delay of the machine (a scheduler's slice) must be short beside a stretched service.
MACHINE_DELAY_NS = 100_000.0
MIN_SERVICES_PER_DELAY = 25.0


@dataclass(frozen=True)
class Calibration:
    """What the rack carries when it is asked for all it can."""

    requests_per_s: float
    """Requests through client, switch and server, and their responses back."""
    cost_s: float = math.nan
    """Processor time of each."""


def carried(seen_rps: float, cost_s: float, processors: int) -> float:
    """Requests per second of a machine that has nothing else to do.

    What came through while other programs ran is too low an estimate. The processor time that
    it took gives a better one, but misses interrupts where the kernel counts them apart, so the
    former bounds the latter. The generator has no use for more than two processors.
    """
    if cost_s <= 0:
        return seen_rps
    by_cost = PARALLEL_SHARE * min(processors, 2) / cost_s
    return min(max(seen_rps, by_cost), 3 * seen_rps)


def packets_per_request(scheme: Scheme, load: float) -> float:
    """Most packets that a scheme makes of a request at a load."""
    match scheme.cloner:
        case Party.CLIENT:
            return 2.0
        case Party.SWITCH:
            # It clones while both candidates are idle, which the clones themselves make rarer.
            return max(1.0, min(2.0, 2.2 - load))
        case _:
            return 1.0


def _share(scheme: Scheme, load: float) -> float:
    overloaded = load * (2.0 if scheme.cloner is Party.CLIENT else 1.0) >= 1
    return OVERLOADED_SHARE if overloaded else TARGET_SHARE


def choose_time_scale(
    calibration: Calibration,
    workload: Workload,
    n_workers: int,
    schemes: Sequence[Scheme],
    loads: Sequence[float],
) -> float:
    """The smallest round scale at which the busiest run keeps below its share."""
    full_rate_rps = n_workers / (workload.mean_ns * 1e-9)
    for_packets = max(
        load
        * packets_per_request(scheme, load)
        * full_rate_rps
        / (_share(scheme, load) * calibration.requests_per_s)
        for scheme in schemes
        for load in loads
    )
    for_delays = MACHINE_DELAY_NS * MIN_SERVICES_PER_DELAY / workload.mean_ns
    return round_up(max(MIN_SCALE, for_packets, for_delays))


def round_up(value: float) -> float:
    """The next number of two significant digits."""
    step = 10.0 ** (math.floor(math.log10(value)) - 1)
    return math.ceil(value / step - 1e-9) * step
