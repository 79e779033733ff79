# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""An option that would be ignored is an error that names it, before anything is opened."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from loadgen.cli import main

CLIENT = ("client", "--server", "127.0.0.1:9", "--rate", "10")
SERVER = ("server", "--listen", "127.0.0.1:0", "--duration", "1ms")


@pytest.mark.parametrize(
    ("words", "option", "hint"),
    [
        ((*CLIENT, "--queues", "2"), "--queues", "--io af_xdp"),
        ((*CLIENT, "--interface", "eth0"), "--interface", "--io af_xdp"),
        ((*SERVER, "--queue", "0"), "--queue", "--io af_xdp"),
        ((*SERVER, "--xdp-mode", "copy"), "--xdp-mode", "--io af_xdp"),
        ((*SERVER, "--io", "af_xdp", "--interface", "x", "--stamp"), "--stamp", "omit it"),
        (("sweep", "--objects", "1000"), "--objects", "--app redis"),
        (("sweep", "--zipf", "0.99"), "--zipf", "--app redis"),
        (("sweep", "--mix", "99/1"), "--mix", "--app redis"),
        (("sweep", "--netns", "nowhere"), "--netns", "--server"),
        (("sweep", "--app", "redis", "--service", "exp:25us"), "--service", "--app"),
        (("sweep", "--app", "memcached", "--jitter", "none"), "--jitter", "--app"),
        (("sweep", "--app", "redis", "--time-scale", "2"), "--time-scale", "--app"),
        (("sweep", "--server", "127.0.0.1:9", "--clients", "3"), "--clients", "omit one"),
        (("sweep", "--server", "127.0.0.1:9", "--rack", "mine"), "--rack", "omit one"),
        (("sweep", "--server", "127.0.0.1:9", "--servers", "6"), "--servers", "omit one"),
        (("advise", "--load", "0.3", "handshake"), "--load", "handshake"),
    ],
)
def test_what_would_be_ignored_is_refused(words: tuple[str, ...], option: str, hint: str) -> None:
    result = CliRunner().invoke(main, words)
    error, advice = result.output.splitlines()
    assert result.exit_code == 2, result.output
    assert error.startswith(f"error: {option} "), error
    assert advice.startswith("hint: ") and hint in advice, advice


def test_a_server_that_spins_and_never_sleeps_answers() -> None:
    result = CliRunner().invoke(main, [*SERVER, "--mode", "spin", "--busy", "--workers", "1"])
    assert result.exit_code == 0, result.output
