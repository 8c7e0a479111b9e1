"""A cluster that works for this process.

with Cluster("tcp://127.0.0.1:8786", folder) as cluster, working_on(cluster):
    annotator.fit(corpus)
"""

import os
import secrets
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, Self, final

from topicture.atomic import make_folder, remove_leftovers, work_folder
from topicture.cluster.addresses import check_address, connected, distributed, versions
from topicture.cluster.photo_work import measure_photos
from topicture.cluster.shards import ClusterShards, ShardFolder
from topicture.corpus.batches import Batches
from topicture.elsewhere import Engine, working_on
from topicture.errors import TopictureError
from topicture.vision.measure import Measured, Unmeasured
from topicture.vision.workers import run_isolated

__all__ = ["Cluster", "on_cluster"]

CONNECT_SECONDS = 20
# A photo takes some 20 ms; what Dask needs for a task, about one.
PHOTOS_PER_TASK = 8
TASKS_PER_WORKER = 3


@final
class Cluster(Engine):
    """The workers of a Dask scheduler; a context manager.

    Parameters
    ----------
    address : of the scheduler; on other machines tls://...
    folder : a place on storage that all workers see under the same path; what is put there is removed at the end
    tls : folder with ca.pem, cert.pem and key.pem

    Raises
    ------
    MissingExtra
        Dask is not installed.
    TopictureError
        Nobody answers, there are no workers, they run another version, or they don't see the folder.
    """

    def __init__(
        self, address: str, folder: str | os.PathLike[str], tls: str | os.PathLike[str] | None = None
    ):
        self._tls = None if tls is None else Path(tls).absolute()
        self.address = check_address(address, self._tls)
        self._place = Path(folder).absolute()
        self._stack = ExitStack()
        self._written: weakref.WeakKeyDictionary[Batches, ShardFolder] = weakref.WeakKeyDictionary()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self.client = stack.enter_context(connected(self.address, self._tls, CONNECT_SECONDS))
            make_folder(self._place)
            remove_leftovers(self._place)  # of a driver that was killed, and may be large
            self.folder = stack.enter_context(work_folder(self._place))
            stack.enter_context(self._told_if_it_ends())
            self._check_workers()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.__exit__(*error)

    @contextmanager
    def _told_if_it_ends(self) -> Iterator[None]:
        """Whatever was going on: a fit must not take it for a fault of its own, so it is put into words only here."""
        lost = CancelledError, distributed().KilledWorker, distributed().comm.CommClosedError
        try:
            yield
        except (*lost, OSError) as error:
            if not isinstance(error, lost) and self.client.status == "running":
                raise  # a file's
            raise TopictureError(
                f"{self.address}: the cluster, or all that worked there, has ended; what was measured is kept: start "
                "it and run the same again, or run that without a cluster"
            ) from error

    def _check_workers(self) -> None:
        """All workers run what this process runs, and see what it writes."""
        try:
            self.client.wait_for_workers(1, timeout=CONNECT_SECONDS)
        except TimeoutError:
            raise TopictureError(
                f"{self.address}: the cluster has no workers; start some with 'topicture cluster join'"
            ) from None
        token = secrets.token_hex()
        (self.folder / "token").write_text(token)
        found = self.client.run(_what_is_there, str(self.folder / "token"))
        own = versions()
        for worker, (theirs, seen) in found.items():
            if theirs != own:
                raise TopictureError(f"{worker}: a worker runs {theirs}, but this is {own}: install the same")
            if seen != token:
                raise TopictureError(
                    f"{worker}: a worker does not see {self._place}: name a folder that all of them share"
                )

    # --- What it does ------------------------------------------------------------------------------------

    def shards(self, batches: Batches, posteriors: Any) -> ClusterShards | None:
        if len(batches) < 2:
            return None
        if batches not in self._written:
            folder = self.folder / f"images-{secrets.token_hex(4)}"
            make_folder(folder)
            self._written[batches] = ShardFolder(folder, batches)
            weakref.finalize(batches, _remove, folder)
        return ClusterShards(self.client, self._written[batches], posteriors)

    def measure(
        self, job: Callable[[Any], Any], tasks: Iterable[Any], timeout: float, memory: int
    ) -> Iterator[tuple[int, Any]]:
        source = iter(enumerate(tasks))
        running: dict[Any, list[tuple[int, Any]]] = {}
        finished = distributed().as_completed(loop=self.client.loop)

        def send() -> None:
            if some := list(islice(source, PHOTOS_PER_TASK)):
                asked = [task for _, task in some]
                future = self.client.submit(measure_photos, job, timeout, memory, asked, pure=False)
                running[future] = some
                finished.add(future)

        for _ in range(TASKS_PER_WORKER * self._n_workers()):
            send()
        while running:
            future = next(finished)
            some = running.pop(future)
            send()
            yield from self._answers(future, some, job, timeout, memory)

    def _answers(
        self, future: Any, some: list[tuple[int, Any]], job: Any, timeout: float, memory: int
    ) -> Any:
        try:
            return list(zip((number for number, _ in some), future.result(), strict=True))
        except distributed().KilledWorker:  # a photo may do that; here it costs one process
            tasks = [task for _, task in some]
            records = (Measured, Unmeasured)
            alone = run_isolated(job, tasks, 1, timeout, records=records, memory=memory)
            return [(some[place][0], result) for place, result in alone]

    def in_order(self, function: Callable[..., Any], calls: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        source, running = iter(calls), deque[Any]()
        while True:
            for call in islice(source, TASKS_PER_WORKER * self._n_workers() - len(running)):
                running.append(self.client.submit(function, *call, pure=False))
            if not running:
                return
            yield running.popleft().result()

    def _n_workers(self) -> int:
        return max(1, len(self.client.nthreads()))


@contextmanager
def on_cluster(
    address: str | None, folder: str | os.PathLike[str], tls: str | os.PathLike[str] | None = None
) -> Iterator[None]:
    """Inside, large work goes to the cluster at `address`; to nobody where there is none. Arguments as of `Cluster`."""
    if address is None:
        yield
        return
    with Cluster(address, folder, tls) as cluster, working_on(cluster):
        yield


def _what_is_there(path: str) -> tuple[str, str]:
    try:
        return versions(), Path(path).read_text()
    except OSError:
        return versions(), ""


def _remove(folder: Path) -> None:
    """Shards of batches that nobody has any more."""
    import shutil

    shutil.rmtree(folder, ignore_errors=True)
