"""Where a cluster may be, and how its members know each other. Dask runs whatever code a member sends it."""

import asyncio
import ipaddress
import logging
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from topicture import __version__
from topicture.errors import TopictureError
from topicture.extras import optional_module

__all__ = [
    "DEFAULT_PORT",
    "TLS_FILES",
    "check_address",
    "check_answers",
    "connected",
    "distributed",
    "hush",
    "is_loopback",
    "security_of",
    "versions",
]

DEFAULT_PORT = 8786
TLS_FILES = ("ca.pem", "cert.pem", "key.pem")


def distributed() -> Any:
    """Dask's package; raises MissingExtra where it is not installed."""
    return optional_module("distributed", "cluster", "clusters")


def hush() -> None:
    """Let Dask speak of errors only, in a program of ours, and not of a cluster that ended: we tell that ourselves."""
    distributed()  # sets its own levels when it is loaded
    logging.getLogger("distributed").setLevel(logging.ERROR)
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_address(address: str, tls: Path | None) -> str:
    """The address of a scheduler, as Dask writes it; without TLS it must be on this machine."""
    given = address if "://" in address else f"{'tls' if tls else 'tcp'}://{address}"
    try:
        parts = urlsplit(given)
        port = parts.port or DEFAULT_PORT
    except ValueError:  # of the port, or of brackets that nothing closes
        parts, port = urlsplit(""), 0
    if parts.scheme not in ("tcp", "tls") or not parts.hostname or not port:
        raise TopictureError(f"{address}: not the address of a cluster; it looks like tcp://127.0.0.1:8786")
    if parts.scheme == "tcp" and not is_loopback(parts.hostname):
        raise TopictureError(
            f"{address}: a cluster on other machines must use TLS, since its members run each other's code; give "
            "tls://... and --tls FOLDER (see docs/scale.md)"
        )
    if parts.scheme == "tls" and tls is None:
        raise TopictureError(f"{address}: give --tls FOLDER, with {', '.join(TLS_FILES)}")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}:{port}"


def security_of(tls: Path | None) -> Any:
    """What Dask asks of its members: with TLS, a certificate of the same authority, both ways."""
    if tls is None:
        return distributed().Security(require_encryption=False)
    authority, certificate, key = (tls / name for name in TLS_FILES)
    for path in (authority, certificate, key):
        if not path.is_file():
            raise TopictureError(f"{path}: is missing; TLS needs {', '.join(TLS_FILES)} (see docs/scale.md)")
    own = {
        f"tls_{role}_{part}": str(path)
        for role in ("client", "scheduler", "worker")
        for part, path in (("cert", certificate), ("key", key))
    }
    return distributed().Security(require_encryption=True, tls_ca_file=str(authority), **own)


def connected(address: str, tls: Path | None, seconds: float) -> Any:
    """A client of the scheduler there; raises TopictureError as `check_answers` does."""
    check_answers(address, tls, seconds)
    return distributed().Client(address, security=security_of(tls), timeout=seconds, set_as_default=False)


def check_answers(address: str, tls: Path | None, seconds: float) -> None:
    """Wait until a scheduler of the same versions answers that trusts this process; raises TopictureError else.

    A client of Dask's would wait for ever for one who listens and says nothing, and trips over other protocols.
    """
    connect, settings = distributed().comm.connect, security_of(tls).get_connection_args("client")

    async def greet() -> str:
        # The limit of `connect` says more, but does not hold for the first words.
        async with asyncio.timeout(seconds + 1):
            comm = await connect(address, timeout=seconds, **settings)
            await comm.write({"op": "get_metadata", "keys": ["topicture"], "default": "", "reply": True})
            theirs = await comm.read()
            comm.abort()
            return str(theirs)

    try:
        with ThreadPoolExecutor(1) as aside:  # a notebook has a loop of its own
            theirs = aside.submit(asyncio.run, greet()).result()
    except Exception as error:  # whatever another program answers
        why = " ".join(str(error).split())[:200] if isinstance(error, OSError) else ""
        why = why or "who listens there does not speak as a cluster does"
        raise TopictureError(
            f"{address}: no cluster answers there; start one with 'topicture cluster start' ({why})"
        ) from None
    if theirs not in ("", versions()):  # a scheduler of Dask's own says nothing
        raise TopictureError(
            f"{address}: the cluster runs {theirs}, but this is {versions()}: install the same"
        )


def versions() -> str:
    """What must be the same for the same bits."""
    return f"Topicture {__version__} with JAX {metadata.version('jax')} and NumPy {metadata.version('numpy')}"
