"""The members of a cluster on this machine: a scheduler in this process, workers in processes of their own.

Dask's own commands would start workers by forking or by importing this program again. Ours start as all children do:
isolated from the working folder, with one thread each, on a core of their own, and end when this process does.
"""

import asyncio
import json
import os
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, final
from urllib.parse import urlsplit

from topicture.children import start_python
from topicture.cluster.addresses import DEFAULT_PORT, distributed, is_loopback, security_of, versions
from topicture.compiled import settings_of_a_program
from topicture.errors import TopictureError
from topicture.vision.workers import ONE_THREAD

__all__ = ["LocalCluster", "Workers", "local_cluster", "scheduler"]

_SERVE = ("topicture.cluster.worker_process", "serve")
_ONE_DEVICE = "--xla_force_host_platform_device_count=1"
START_SECONDS = 120.0
LISTEN_SECONDS = 10.0


@final
class Workers:
    """Processes that work for a scheduler; those that die are replaced by `mend`."""

    def __init__(
        self,
        address: str,
        n: int,
        *,
        host: str | None,
        tls: Path | None,
        scratch: str,
        one_core_each: bool = False,
    ):
        self._one_core_each = one_core_each
        self._order = {
            "address": address,
            "tls": None if tls is None else str(tls),
            "scratch": scratch,
            "host": host,
        }
        self.processes = [self._start(i, n) for i in range(n)]

    def _start(self, i: int, n: int) -> subprocess.Popen:
        flags = " ".join(
            flag
            for flag in os.environ.get("XLA_FLAGS", "").split()
            if "host_platform_device_count" not in flag
        )
        process = start_python(
            *_SERVE,
            environment={
                **ONE_THREAD,
                **settings_of_a_program(),
                "XLA_FLAGS": f"{flags} {_ONE_DEVICE}".strip(),
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
        )
        assert process.stdin is not None
        cores = _cores_of(i, n)[: 1 if self._one_core_each else None]
        process.stdin.write(json.dumps({**self._order, "cores": cores}).encode() + b"\n")
        process.stdin.flush()
        return process

    def gone(self) -> list[int]:
        """Which of them have ended."""
        return [i for i, process in enumerate(self.processes) if process.poll() is not None]

    def cluster_ended(self) -> bool:
        """Whether there is nobody to work for: all have ended at once, or some, and nobody listens any more."""
        gone = self.gone()
        if not gone or len(gone) == len(self.processes):
            return bool(gone)
        where = urlsplit(str(self._order["address"]))
        try:
            socket.create_connection(
                (where.hostname or "", where.port or DEFAULT_PORT), LISTEN_SECONDS
            ).close()
        except OSError:
            return True
        return False

    def mend(self) -> int:
        """Start new processes for those that died; how many these were."""
        gone = self.gone()
        for i in gone:
            self._close(self.processes[i])
            self.processes[i] = self._start(i, len(self.processes))
        return len(gone)

    def end(self) -> None:
        """They end by themselves once nobody holds their standard input."""
        for process in self.processes:
            self._close(process)
        for process in self.processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _close(self, process: subprocess.Popen) -> None:
        assert process.stdin is not None
        with suppress(OSError):
            process.stdin.close()


def _cores_of(i: int, n: int) -> list[int]:
    """The cores of worker i of n: each has its own, or, where there are fewer, shares one."""
    if not hasattr(os, "sched_getaffinity"):
        return []
    cores = sorted(os.sched_getaffinity(0))
    return cores[i::n] if n < len(cores) else [cores[i % len(cores)]]


@contextmanager
def scheduler(host: str, port: int, tls: Path | None) -> Iterator[Any]:
    """A Dask scheduler in a thread of this process. Raises TopictureError where it can't listen."""
    if tls is None and not is_loopback(host):
        raise TopictureError(
            f"{host}: other machines reach it, and whoever reaches a cluster can run code there: give --tls FOLDER"
        )
    started: dict[str, Any] = {}
    ready = threading.Event()
    thread = threading.Thread(
        target=lambda: asyncio.run(_schedule(host, port, tls, started, ready)), daemon=True
    )
    thread.start()
    ready.wait()
    if "error" in started:
        raise TopictureError(f"{host}:{port}: a cluster can't listen there ({started['error']})") from None
    try:
        yield started["scheduler"]
    finally:
        started["loop"].call_soon_threadsafe(started["end"].set)
        thread.join(10)


async def _schedule(host: str, port: int, tls: Path | None, started: dict, ready: threading.Event) -> None:
    import dask

    settings = {
        # Posteriors stay with a worker: an order that goes to another costs the passes since they were noted.
        "distributed.scheduler.work-stealing": False,
        "distributed.scheduler.http.routes": [],
    }
    try:
        # Imported before its settings are changed: what is new to Dask would be forgotten with them.
        package = distributed()
        with dask.config.set(settings):
            made = await package.Scheduler(
                host=host,
                port=port,
                protocol="tcp" if tls is None else "tls",
                security=security_of(tls),
                dashboard=False,
                dashboard_address="127.0.0.1:0",
            )
            made.set_metadata(keys=["topicture"], value=versions())  # who joins later must run the same
            started |= {"scheduler": made, "loop": asyncio.get_running_loop(), "end": asyncio.Event()}
            ready.set()
            await started["end"].wait()
            await made.close()
    except Exception as error:  # whatever it is, somebody waits for an answer
        started["error"] = error
    finally:
        ready.set()


class LocalCluster(NamedTuple):
    address: str
    workers: Workers


@contextmanager
def local_cluster(
    n_workers: int,
    *,
    host: str = "127.0.0.1",
    port: int = DEFAULT_PORT,
    tls: Path | None = None,
    one_core_each: bool = False,
) -> Iterator[LocalCluster]:
    """A scheduler and its workers on this machine, ready to work; all of them end with the context.

    Where there are more cores than workers these share all of them, unless each is to have one, so that times with
    more and fewer workers may be compared.
    """
    with scheduler(host, port, tls) as made, tempfile.TemporaryDirectory(prefix="topicture-") as scratch:
        workers = Workers(
            made.address, n_workers, host=host, tls=tls, scratch=scratch, one_core_each=one_core_each
        )
        try:
            given_up = time.monotonic() + START_SECONDS
            while len(made.workers) < n_workers:
                if workers.gone() or time.monotonic() > given_up:
                    raise TopictureError(
                        "the workers of the cluster can't be started; see what they said above"
                    )
                time.sleep(0.05)
            yield LocalCluster(made.address, workers)
        finally:
            workers.end()
