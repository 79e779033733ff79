# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""More pairs of ports than a process may have files open."""

from __future__ import annotations

import resource
import subprocess
import sys

from netclone_host.attach.table_access import pinned_map
from netclone_host.attach.tables import MapName
from netclone_host.rack import programs, status

N_SERVERS = 17
FEW_FILES = 200


def test_a_devmap_for_each_pair_with_few_descriptors(rack_name: str) -> None:
    n_pairs = N_SERVERS * (N_SERVERS - 1)
    assert n_pairs > FEW_FILES
    up = ["rack", "up", "--name", rack_name, "--servers", str(N_SERVERS), "--clients", "1"]
    done = subprocess.run(
        [sys.executable, "-m", "netclone_host.cli", *up],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (FEW_FILES, FEW_FILES)),
    )
    assert done.returncode == 0, done.stderr
    plan = status.plan_of(rack_name)
    attachment = programs.attachment_of(plan.namespace("sw"))
    assert attachment is not None
    with pinned_map(attachment, MapName.CLONE_PORTS) as outer:
        devmaps = {outer.lookup(grp) for grp in range(1, n_pairs + 1)}
    assert None not in devmaps
    assert len(devmaps) == n_pairs
