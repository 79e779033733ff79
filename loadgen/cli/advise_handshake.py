# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""``netclone-loadgen advise handshake``."""

from __future__ import annotations

import click

from loadgen.advise.handshake import Handshake, answer
from loadgen.cli.output import emit_object, json_option
from netclone_host.durations import parse_duration_ns
from netclone_host.errors import UserError


def _probability(value: float, what: str) -> float:
    if not 0 <= value < 1:
        raise UserError(f"{what}: {value:g} is not a probability", "give 0 up to below 1")
    return value


@click.command()
@click.option(
    "--loss",
    type=float,
    default=0.0048,
    show_default=True,
    help="Probability that a packet is lost.",
)
@click.option(
    "--pair-loss",
    type=float,
    default=0.0007,
    show_default=True,
    help="Probability that a packet and its duplicate are both lost.",
)
@click.option("--independent", is_flag=True, help="A pair is lost with the square of --loss.")
@click.option("--rtt", default="50ms", show_default=True, metavar="TIME", help="Round trip.")
@click.option(
    "--timeout",
    default="3s",
    show_default=True,
    metavar="TIME",
    help="Initial timeout of a lost SYN or SYN-ACK.",
)
@json_option
def handshake(
    loss: float,
    pair_loss: float,
    independent: bool,
    rtt: str,
    timeout: str,
    json_target: str | None,
) -> None:
    """Say what it saves to send every packet of a TCP handshake twice."""
    once = _probability(loss, "--loss")
    twice = once * once if independent else _probability(pair_loss, "--pair-loss")
    if twice > once:
        raise UserError(
            f"a pair cannot be lost more often ({twice:g}) than a packet ({once:g})",
            "give a --pair-loss of at most --loss",
        )
    found = answer(
        Handshake(
            once,
            twice,
            parse_duration_ns(rtt, "--rtt") * 1e-9,
            parse_duration_ns(timeout, "--timeout") * 1e-9,
        )
    )
    if json_target:
        emit_object(found, json_target)
    if json_target == "-":
        return
    click.echo(f"mean saved   {found['mean_saving_ms']:.1f} ms")
    click.echo(f"p99.9 saved  {found['p999_saving_ms']:.0f} ms")
    for q, times in found["quantiles_ms"].items():
        click.echo(f"  {q:>7}: once {times['once']:9.1f} ms, twice {times['twice']:9.1f} ms")
    click.echo(found["explanation"])
