"""Start the server, and open the browser."""

import uvicorn

from topicture.app.web.application import build
from topicture.app.web.site import Site

__all__ = ["serve"]


def serve(site: Site, port: int) -> None:
    uvicorn.run(build(site), host="127.0.0.1", port=port, log_level="warning", access_log=False)
