# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""An interrupt while a command still imports its modules."""

from __future__ import annotations

import importlib
import importlib.metadata
from unittest import mock

import pytest

from netclone_host import signals


@pytest.mark.parametrize("command", ["netclone-host", "netclone-loadgen"])
def test_an_interrupt_before_the_command_line_is_there(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (script,) = importlib.metadata.entry_points(group="console_scripts", name=command)
    command_main = script.load()
    with (
        mock.patch.object(importlib, "import_module", side_effect=KeyboardInterrupt),
        pytest.raises(SystemExit) as ended,
    ):
        command_main()
    assert ended.value.code == signals.INTERRUPTED
    assert capsys.readouterr() == ("", "interrupted\n")
