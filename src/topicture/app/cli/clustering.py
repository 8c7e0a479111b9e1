"""`topicture cluster`: the members of a cluster on this machine."""

import os
import signal
import sys
import tempfile
import time
from enum import StrEnum
from typing import Annotated

import typer

from topicture.app.cli.common import WORKERS, JsonOption, TlsOption, print_json
from topicture.app.counting import counted
from topicture.errors import TopictureError

__all__ = ["register"]

JOIN_SECONDS = 60.0  # for a cluster that others start at the same time


class Action(StrEnum):
    START = "start"
    JOIN = "join"


def register(app: typer.Typer) -> None:
    app.command()(cluster)


def cluster(
    action: Annotated[
        Action, typer.Argument(help="start: a cluster on this machine; join: workers for one that runs.")
    ],
    address: Annotated[str | None, typer.Argument(help="With join: the address of the cluster.")] = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes that work, best one per core.")] = WORKERS,
    host: Annotated[
        str, typer.Option(help="With start: address to listen on; one that other machines reach needs --tls.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="With start: port to listen on; 0 takes any.")
    ] = 8786,
    tls: TlsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let processes here, or on several machines, do the work of 'learn' and 'annotate'; runs until it is ended."""
    from topicture.cluster.addresses import check_address, check_answers, hush
    from topicture.cluster.members import Workers, local_cluster

    hush()
    signal.signal(signal.SIGTERM, _end)
    tls = None if tls is None else tls.absolute()
    if action is Action.START:
        if address is not None:
            raise TopictureError(f"{address}: 'cluster start' takes no address; use --host and --port")
        with local_cluster(workers, host=host, port=port, tls=tls) as here:
            _tell(here.address, workers, as_json)
            while True:
                time.sleep(1)
                here.workers.mend()
    if address is None:
        raise TopictureError("'cluster join' needs the address of a cluster, such as tls://10.0.0.5:8786")
    address = check_address(address, tls)
    check_answers(address, tls, JOIN_SECONDS)
    with tempfile.TemporaryDirectory(prefix="topicture-") as scratch:
        members = Workers(address, workers, host=None, tls=tls, scratch=scratch)
        try:
            _tell(address, workers, as_json)
            while not members.cluster_ended():
                members.mend()
                time.sleep(1)
        finally:
            members.end()


def _end(signum: int, frame: object) -> None:
    """How batch systems and containers end a process: nothing is left behind, as after Ctrl-C."""
    sys.exit(128 + signum)


def _tell(address: str, workers: int, as_json: bool) -> None:
    if as_json:
        print_json({"address": address, "workers": workers, "pid": os.getpid()})
    else:
        print(
            f"{counted(workers, 'worker')} at {address}: topicture learn --cluster {address}; Ctrl-C ends it."
        )
    sys.stdout.flush()  # who waits for the address may read from a pipe
