"""
Gives back to Vault the login and leases of a process that has ended.

The script in ``revocation`` that waits for that end runs it as a file. It imports only the standard library. On its
standard input are lines of JSON: first ``{"server": ...}``, then ``{"hold": key, "path": ..., "token": ..., "body":
...}`` for what to post, ``{"drop": key}`` for what is already done, and ``{"leave": true}`` to post nothing until
``{"leave": false}``. It posts what is held, once each, and ends.
"""

from __future__ import annotations

import json
import signal
import ssl
import sys
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import Any

SECONDS_FOR_ALL = 30
SECONDS_FOR_ONE = 5


def main() -> None:
    """Post what is held at the end of the input."""
    server, held = _read(sys.stdin.buffer.read())
    if held:
        signal.alarm(SECONDS_FOR_ALL)
        send = _sender(server)
        for request in held:
            with suppress(Exception):  # no process is left to report it to, and the others must be given back too
                send(request)


def _read(data: bytes) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the server and what to post there, without a last line that is cut off."""
    server: dict[str, Any] = {}
    held: dict[int, dict[str, Any]] = {}
    is_left = False
    for line in data.split(b"\n")[:-1]:
        message = json.loads(line)
        if "server" in message:
            server = message["server"]
        elif "hold" in message:
            held[message["hold"]] = message
        elif "leave" in message:
            is_left = message["leave"]
        else:
            held.pop(message["drop"], None)
    return server, [] if is_left else list(held.values())


def _sender(server: dict[str, Any]) -> Any:
    class NoRedirect(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_: Any) -> None:  # a token goes nowhere but to its Vault
            return None

    proxies = {"http": server["proxy"], "https": server["proxy"]} if server["proxy"] else {}
    handlers: list[Any] = [urllib.request.ProxyHandler(proxies), NoRedirect]
    if server["url"].startswith("https:"):
        handlers.append(urllib.request.HTTPSHandler(context=_tls(server)))
    opener = urllib.request.build_opener(*handlers)
    shared = {"Content-Type": "application/json", "X-Vault-Request": "true"}

    def send(request: dict[str, Any]) -> None:
        url, body = f"{server['url']}/v1/{request['path']}", json.dumps(request["body"]).encode()
        headers = {"X-Vault-Token": request["token"], **shared}
        namespace = server["login_namespace" if request["path"].startswith("auth/") else "namespace"]
        if namespace:
            headers["X-Vault-Namespace"] = namespace
        opener.open(urllib.request.Request(url, body, headers, method="POST"), timeout=SECONDS_FOR_ONE).close()  # noqa: S310 - http or https, as the deployment says

    return send


def _tls(server: dict[str, Any]) -> Any:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # trusts no CA yet
    if server["verify"] is False:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif isinstance(server["verify"], str):
        kind = "capath" if Path(server["verify"]).is_dir() else "cafile"
        context.load_verify_locations(**{kind: server["verify"]})
    if server["cert"]:
        context.load_cert_chain(*server["cert"])
    return context


if __name__ == "__main__":
    main()
