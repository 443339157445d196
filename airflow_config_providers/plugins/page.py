"""
The page in Airflow: the files that a browser loads.

Anyone who can reach the server can load them, because they hold no data. What the page shows comes from the REST
interface, which asks for the user's permission.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from starlette.responses import Response
from starlette.staticfiles import StaticFiles

PATH: Final = "/page"
"""The path of the page below that of the app."""

_FOLDER: Final = Path(__file__).with_name("assets")

_CONTENT: Final = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "connect-src": "'self'",
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'self'",  # Airflow shows the page in a frame, and no other site may
    "require-trusted-types-for": "'script'",  # text that is taken for HTML is an error
    "trusted-types": "'none'",
}

HEADERS: Final = {
    "Cache-Control": "no-cache",  # asks again after an upgrade
    "Content-Security-Policy": "; ".join(f"{name} {value}" for name, value in _CONTENT.items()),
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}
"""The headers of every file: the page runs its own scripts, and sends requests to its own server only."""


class PageFiles(StaticFiles):
    """The files of the page, with ``HEADERS``."""

    def __init__(self) -> None:
        super().__init__(directory=_FOLDER, html=True)

    def file_response(self, *args: Any, **options: Any) -> Response:
        """Return the answer that contains a file, or that it has not changed."""
        answer = super().file_response(*args, **options)
        answer.headers.update(HEADERS)
        return answer
