# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""An interrupt while a command still imports its modules."""

from __future__ import annotations

import importlib
import importlib.metadata
from unittest import mock

import pytest

from netclone_host import entry


@pytest.mark.parametrize("command", ["netclone-host", "netclone-loadgen"])
def test_an_interrupt_before_the_command_line_is_there(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (script,) = importlib.metadata.entry_points(group="console_scripts", name=command)
    with (
        mock.patch.object(importlib, "import_module", side_effect=KeyboardInterrupt),
        pytest.raises(SystemExit) as ended,
    ):
        {"host": entry.host, "loadgen": entry.loadgen}[script.attr]()
    assert ended.value.code == entry.INTERRUPTED
    assert capsys.readouterr() == ("", "interrupted\n")
