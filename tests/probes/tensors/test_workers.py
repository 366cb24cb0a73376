"""Tasks shared between processes: all results, in order, whatever becomes of a worker."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from traindoctor.probes.tensors.workers import cores, shared_out

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="forks on Linux alone")


@pytest.mark.parametrize("workers", [1, 2, 5])
@pytest.mark.parametrize("count", [0, 1, 2, 300])
def test_all_results_come_in_order(workers: int, count: int) -> None:
    assert list(shared_out(lambda n: [n, "x" * n], count, workers)) == [[n, "x" * n] for n in range(count)]


def test_other_processes_take_part() -> None:
    def slow(_: int) -> int:
        time.sleep(0.01)
        return os.getpid()

    assert len(set(shared_out(slow, 40, 3))) == 3


def test_results_larger_than_a_pipe() -> None:
    found = list(shared_out(lambda n: chr(65 + n) * 300_000, 12, 3))
    assert [(len(x), x[0]) for x in found] == [(300_000, chr(65 + n)) for n in range(12)]


def test_what_a_killed_worker_took_is_done_here() -> None:
    here = os.getpid()

    def deadly(n: int) -> int:
        if os.getpid() != here:
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.01)
        return n

    assert list(shared_out(deadly, 20, 3)) == list(range(20))


def test_a_task_that_raises_in_a_worker_is_done_here() -> None:
    here = os.getpid()

    def wrong(n: int) -> int:
        if os.getpid() != here:
            raise MemoryError
        time.sleep(0.01)
        return n

    assert list(shared_out(wrong, 10, 2)) == list(range(10))


def test_nothing_is_left_when_the_rest_is_not_wanted() -> None:
    before = {p.name for p in Path("/proc/self/fd").iterdir()}

    def slow(_: int) -> int:
        time.sleep(0.005)
        return os.getpid()

    results = shared_out(slow, 10_000, 3)
    seen = {next(results) for _ in range(30)} - {os.getpid()}
    results.close()
    assert seen and {p.name for p in Path("/proc/self/fd").iterdir()} == before
    for process in seen:
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)


def test_figures_come_back_to_the_last_bit() -> None:
    def figures(n: int) -> list[float]:
        time.sleep(0.002)
        return [n / 3, 2.0**-1074, float("inf"), 2**62 + 1, True]

    assert list(shared_out(figures, 50, 2)) == [figures(n) for n in range(50)]


def test_cores_are_those_that_may_be_used() -> None:
    assert cores() == len(os.sched_getaffinity(0))
