"""Share numbered tasks between this process and forked ones, which find everything in their memory.

A library's pool starts one process more, with threads to feed it (15 ms, which a comparison of 0.1 s feels),
and waits for ever for a worker that was killed. Here this process works too, and does itself what a worker
does not bring. Threads would not do: a pass over a block takes so little time that they would wait for each
other.
"""

from __future__ import annotations

import json
import os
import select
import signal
import struct
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

_NUMBER = struct.Struct("=q")
_HEAD = struct.Struct("=qq")  # number of the task, bytes of its result as JSON


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def shared_out(task: Callable[[int], Any], count: int, workers: int) -> Iterator[Any]:
    """Yield `task(0)`, `task(1)`, ... in order, from `workers` processes, this one among them.

    A result is what JSON can hold (NaN and infinities too); `task` must not raise. With one worker, or where
    forking is not safe (not Linux), all is done here.
    """
    workers = min(workers, count)
    if workers < 2 or not sys.platform.startswith("linux"):
        yield from map(task, range(count))
        return
    queue = _Queue(count)
    team: list[_Worker] = []
    try:
        with warnings.catch_warnings():
            # Python warns of forking beside threads: the only ones here are the algebra library's, idle
            warnings.simplefilter("ignore", DeprecationWarning)
            for _ in range(workers - 1):
                try:
                    team.append(_Worker(task, queue, team))
                except OSError:  # no more processes for this user: fewer will do
                    break
        yield from _gathered(task, count, queue, team)
    finally:
        queue.close()
        for worker in team:
            worker.end()


def _gathered(task: Callable[[int], Any], count: int, queue: _Queue, team: list[_Worker]) -> Iterator[Any]:
    found: dict[int, Any] = {}
    given = 0
    while given < count:
        index = queue.take()
        if index is not None:
            found[index] = task(index)
        running = {w.pipe: w for w in team if w.running}
        if index is None and not running:  # what is missing now was lost with its worker
            found[given] = found[given] if given in found else task(given)
        ready = select.select(list(running), [], [], 0 if index is not None or given in found else None)[0]
        for pipe in ready:
            found.update(running[pipe].brought())
        while given in found:
            yield found.pop(given)
            given += 1


class _Queue:
    """The number of the next task, in memory that forked processes share.

    It is kept under a record lock, which ends with the process that holds it.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self.handle = os.memfd_create("tasks")
        os.pwrite(self.handle, _NUMBER.pack(0), 0)

    def take(self) -> int | None:
        """Return the next task's number, or None when all are taken."""
        import fcntl

        fcntl.lockf(self.handle, fcntl.LOCK_EX)
        try:
            index: int = _NUMBER.unpack(os.pread(self.handle, _NUMBER.size, 0))[0]
            if index >= self.count:
                return None
            os.pwrite(self.handle, _NUMBER.pack(index + 1), 0)
            return index
        finally:
            fcntl.lockf(self.handle, fcntl.LOCK_UN)

    def close(self) -> None:
        """Give the memory back; workers have it until they end."""
        os.close(self.handle)


class _Worker:
    """A forked process that takes tasks until none is left, and the pipe that its results come through."""

    def __init__(self, task: Callable[[int], Any], queue: _Queue, others: list[_Worker]) -> None:
        self.pipe, ours = os.pipe()
        self.running = True
        self.rest = b""
        try:
            self.process = os.fork()
        except OSError:
            os.close(self.pipe)
            os.close(ours)
            raise
        if self.process:
            os.close(ours)
            return
        status = 1
        try:
            for pipe in [self.pipe, *(w.pipe for w in others)]:
                os.close(pipe)  # so that writing fails when this process's parent is gone
            self._work(task, queue, ours)
            status = 0
        finally:
            os._exit(status)  # nothing of the parent's is written or closed a second time

    @staticmethod
    def _work(task: Callable[[int], Any], queue: _Queue, pipe: int) -> None:
        while (index := queue.take()) is not None:
            result = json.dumps(task(index)).encode()
            data = memoryview(_HEAD.pack(index, len(result)) + result)
            while data:
                data = data[os.write(pipe, data) :]

    def brought(self) -> dict[int, Any]:
        """Read what has come; nothing more comes from a worker that has ended."""
        data = os.read(self.pipe, 1 << 16)
        self.running = bool(data)
        self.rest += data
        found = {}
        while len(self.rest) >= _HEAD.size:
            index, size = _HEAD.unpack_from(self.rest)
            if len(self.rest) < _HEAD.size + size:
                break
            found[index] = json.loads(self.rest[_HEAD.size : _HEAD.size + size])
            self.rest = self.rest[_HEAD.size + size :]
        return found

    def end(self) -> None:
        """Stop it if it still runs, and wait for its end."""
        os.close(self.pipe)
        if self.running:
            os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)
