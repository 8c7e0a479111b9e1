"""Who may use the page: whoever opened the address that the terminal shows.

That address carries a token. Its first visit spends it: the browser gets a cookie instead, and is sent to an address
without the token, so that neither history nor a screenshot gives access. A token that the owner chose (`--token`) can
be used again, for a second device.
"""

import ipaddress
import secrets
import socket
import threading

from topicture.errors import TopictureError

__all__ = ["LEAST_TOKEN", "Access", "is_loopback"]

LEAST_TOKEN = 16
"""Characters of a token that somebody chose."""


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Access:
    """The token, the cookie and the names of one server."""

    def __init__(self, host: str, port: int, token: str | None = None):
        if token is None and not is_loopback(host):
            raise TopictureError(
                f"{host} can be reached by other machines; choose a password with --token, or leave --host out"
            )
        if token is not None and len(token) < LEAST_TOKEN:
            raise TopictureError(f"a token needs at least {LEAST_TOKEN} characters")
        self.host, self.port = host.lower(), port  # so do browsers write it
        self.cookie_name = f"topicture-{port}"
        self._session = secrets.token_urlsafe(32)
        self._lasting = token is not None
        self._token: str | None = token or secrets.token_urlsafe(32)
        self._spending = threading.Lock()

    @property
    def address(self) -> str:
        """Where the page is, without a token."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{name}:{self.port}/"

    @property
    def first_address(self) -> str:
        """What to open; it lets one browser in, unless the token was chosen by its owner."""
        return (
            self.address
            if self._lasting or self._token is None
            else f"{self.address}login?token={self._token}"
        )

    def spend(self, token: str) -> bool:
        """Whether a token is the right one; it is no longer, afterwards."""
        with self._spending:
            right = self._token is not None and secrets.compare_digest(token.encode(), self._token.encode())
            if right and not self._lasting:
                self._token = None
            return right

    def cookie(self) -> str:
        """The value of a Set-Cookie header."""
        return f"{self.cookie_name}={self._session}; HttpOnly; SameSite=Strict; Path=/"

    def has_cookie(self, header: str) -> bool:
        """Whether a Cookie header holds ours; other servers of this machine put theirs beside it, in any form."""
        ours = f"{self.cookie_name}={self._session}".encode()
        return any(secrets.compare_digest(each.strip().encode(), ours) for each in header.split(";"))

    def knows_host(self, header: str) -> bool:
        """Whether a Host header names this server by itself: a name of somebody else's may lead anywhere tomorrow.

        A page that other machines may reach answers to any address in numbers, since those can't be rebound.
        """
        name, port = _split(header)
        if port != self.port:
            return False
        if name in ("localhost", "127.0.0.1", "::1", self.host):
            return True
        return not is_loopback(self.host) and (name == socket.gethostname().lower() or _is_number(name))


def _split(header: str) -> tuple[str, int]:
    name, colon, port = header.rpartition(":")
    if not colon or "]" in port:
        name, port = header, "80"
    name = name[1:-1] if name.startswith("[") and name.endswith("]") else name
    return name.lower(), int(port) if port.isascii() and port.isdigit() and len(port) < 6 else -1


def _is_number(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
