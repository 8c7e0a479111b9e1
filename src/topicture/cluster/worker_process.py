"""A worker of a cluster: one process, one thread, one core. Started by `members.start_workers`."""

import asyncio
import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from topicture.cluster.addresses import distributed, hush, security_of

__all__ = ["serve"]

DEATH_TIMEOUT = "60s"  # a scheduler that does not come back


def serve() -> None:
    """Work for the scheduler that standard input names, until that ends or whoever started this process does."""
    order = json.loads(sys.stdin.buffer.readline())
    if order["cores"] and hasattr(os, "sched_setaffinity"):
        with suppress(OSError):  # cores that this process may not use
            os.sched_setaffinity(0, order["cores"])
    hush()
    try:
        asyncio.run(_work(order))
    except KeyboardInterrupt:
        pass
    except OSError as error:  # a timeout is one
        why = " ".join(str(error).split())[:200]
        print(f"topicture: {order['address']}: a worker can't join ({why})", file=sys.stderr, flush=True)
        os._exit(2)


async def _work(order: dict[str, Any]) -> None:
    import dask

    tls = None if order["tls"] is None else Path(order["tls"])
    settings = {
        "distributed.worker.daemon": False,
        "distributed.worker.http.routes": [],
        # A hundred looks per second at where a worker is, and fifty at its event loop: nobody asks for them.
        "distributed.worker.profile.enabled": False,
        "distributed.admin.tick.interval": "1s",
    }
    with dask.config.set(settings):
        worker = await distributed().Worker(
            order["address"],
            nthreads=1,
            memory_limit=0,
            security=security_of(tls),
            host=order["host"],
            dashboard_address="127.0.0.1:0",
            death_timeout=DEATH_TIMEOUT,
            local_directory=order["scratch"],
        )
        ended = asyncio.get_running_loop().run_in_executor(None, sys.stdin.buffer.read)
        finished = asyncio.ensure_future(worker.finished())
        await asyncio.wait([ended, finished], return_when=asyncio.FIRST_COMPLETED)
        if not finished.done():
            await worker.close(timeout=2)
        os._exit(0)  # the thread that reads standard input, or waits for a decoder, need not be waited for
