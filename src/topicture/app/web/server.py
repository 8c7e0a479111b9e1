"""Start the server, and open the browser."""

import asyncio
import errno
import logging
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable

import uvicorn

from topicture.app.web.access import Access
from topicture.app.web.application import build
from topicture.app.web.guard import Guard
from topicture.app.web.site import Site
from topicture.errors import TopictureError

__all__ = ["DEFAULT_PORT", "serve", "tell"]

DEFAULT_PORT = 8237
SAMPLE_MINUTES = 2
_TRIED_PORTS = 20
_GRACE_SECONDS = 1
_TAKEN = {errno.EADDRINUSE, errno.EACCES}


def tell(address: str) -> None:
    print(f"Topicture is at {address}\nEnd it with Ctrl-C.", flush=True)


def serve(
    site: Site,
    port: int | None = None,
    *,
    host: str = "127.0.0.1",
    token: str | None = None,
    open_browser: bool = True,
    learn_at_once: bool = False,
    tell: Callable[[str], None] = tell,
) -> None:
    """Serve until interrupted. Without a port, the usual one or the next that is free.

    With `learn_at_once`, a collection that nothing was learned from begins with that. `tell` is called with the address
    once it can be opened.
    """
    Access(host, port or DEFAULT_PORT, token)  # what is wrong with these is told before anything listens
    listening = _listen(host, port)
    access = Access(host, listening.getsockname()[1], token)
    config = uvicorn.Config(
        Guard(build(site), access),
        log_level="warning",
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        ws="none",
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    logging.getLogger("uvicorn.error").addFilter(_is_worth_telling)
    try:
        tell(access.first_address)
        if open_browser:
            threading.Thread(target=webbrowser.open, args=(access.first_address,), daemon=True).start()
        _prepare(site, learn_at_once)
        uvicorn.Server(config).run(sockets=[listening])
    finally:
        site.close()
        listening.close()


def _is_worth_telling(record: logging.LogRecord) -> bool:
    """Not that a request was still under way when the server was ended."""
    ended = record.exc_info is not None and isinstance(record.exc_info[1], asyncio.CancelledError)
    return not ended and "graceful shutdown exceeded" not in record.getMessage()


def _prepare(site: Site, learn: bool) -> None:
    """Begin with small pictures of what has none, so that the pages need not wait for them."""
    try:
        if site.library is not None and site.studio.missing():
            site.jobs.start("prepare", {})
        if learn and site.library is not None and not site.library.models():
            site.jobs.start("learn", {"minutes": SAMPLE_MINUTES})
    except TopictureError as error:  # the page shows it where it matters
        print(f"topicture: {error}", file=sys.stderr)


def _listen(host: str, port: int | None) -> socket.socket:
    """A listening socket; raises TopictureError where a port that was asked for is not free."""
    first = DEFAULT_PORT if port is None else port
    if not 0 <= first < 1 << 16:
        raise TopictureError(f"there is no port {first}; ports are numbers up to 65535")
    for tried in range(first, first + (_TRIED_PORTS if port is None else 1)):
        try:
            return socket.create_server((host, tried), family=_family(host))
        except OSError as error:
            if error.errno not in _TAKEN:
                raise TopictureError(f"can't listen on {host}: {error.strerror or error}") from None
    what = f"port {first} is" if port is not None else f"ports {first} to {tried} are"
    raise TopictureError(f"{what} in use, perhaps by another 'topicture serve'; choose another with --port")


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET
