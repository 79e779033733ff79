# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Calls of one function, spread over processes of this machine or over a Dask cluster."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures import as_completed as completed
from typing import Any, TypeVar

from netclone_host.errors import UserError

Result = TypeVar("Result")

_PR_SET_PDEATHSIG = 1


def run_jobs(
    function: Callable[..., Result],
    arguments: Sequence[tuple[Any, ...]],
    processes: int | None = None,
    scheduler: str | None = None,
) -> Iterator[tuple[int, Result]]:
    """`function(*arguments[i])` for every i; yields (i, result) as each ends.

    `processes`: by default one for each processor; with one, calls are made here. Raises
    `UserError` when the Dask `scheduler` cannot be used.
    """
    if scheduler is not None:
        yield from _on_cluster(function, arguments, scheduler)
        return
    count = min(processes or len(os.sched_getaffinity(0)), len(arguments))
    if count <= 1:
        for i, given in enumerate(arguments):
            yield i, function(*given)
        return
    # Forked, so that the workers need not import everything again; they only compute.
    context = multiprocessing.get_context("fork")
    pool = ProcessPoolExecutor(
        count, mp_context=context, initializer=_end_with, initargs=(os.getpid(),)
    )
    others = set(multiprocessing.active_children())
    try:
        futures: dict[Future[Result], int] = {
            pool.submit(function, *given): i for i, given in enumerate(arguments)
        }
        for future in completed(futures):
            yield futures.pop(future), future.result()
    except BaseException:
        # Nobody waits for what they compute, and a signal's handler would not end them.
        for worker in set(multiprocessing.active_children()) - others:
            worker.kill()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _end_with(parent: int) -> None:
    """A worker whose parent is killed would compute on, and then wait for ever."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _on_cluster(
    function: Callable[..., Result], arguments: Sequence[tuple[Any, ...]], scheduler: str
) -> Iterator[tuple[int, Result]]:
    try:
        from distributed import Client, as_completed
    except ImportError:
        raise UserError(
            "--scheduler needs Dask, which is not installed", "pip install 'netclone[dask]'"
        ) from None
    try:
        client: Any = Client(scheduler, timeout="10s")
    except (OSError, TimeoutError, ValueError) as error:
        raise UserError(f"no Dask scheduler answers at '{scheduler}'", str(error)) from error
    with client:
        futures = {
            client.submit(function, *given, pure=False): i for i, given in enumerate(arguments)
        }
        for future in as_completed(list(futures)):
            yield futures.pop(future), future.result()
