"""AWS Secrets Manager, Parameter Store and S3 as moto serves them, behind a front that counts, refuses and fails."""

from __future__ import annotations

import base64
import io
import json
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import pytest
from botocore.loaders import create_loader
from moto.core import DEFAULT_ACCOUNT_ID
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

REGION = "eu-west-1"
READS = {"GetSecretValue", "BatchGetSecretValue", "GetParameter", "GetParameters"}
Start = Callable[..., Any]


class _Silent(WSGIRequestHandler):
    """Logs nothing: a child that is forked while a thread writes a line waits for ever when it writes one."""

    def log(self, *args: object) -> None:
        pass


class AwsServer:
    """
    A server for a single test: ``with serve_aws() as aws``.

    ``aws.reads`` counts the requests that read secrets. ``aws.refuse(id, code)`` refuses one secret as AWS does: alone
    among several in Secrets Manager, and with all that are asked for with it in Parameter Store.
    ``aws.fail(action, code, status, times=n)`` fails the next requests of an action; ``times=-1`` all of them.
    """

    def __init__(self) -> None:
        self.reads: Counter[str] = Counter()
        self._moto = DomainDispatcherApplication(create_backend_app)
        self._refused: dict[str, str] = {}
        self._failures: dict[str, tuple[str, int, int]] = {}
        self._lock = threading.Lock()
        self._server = make_server("127.0.0.1", 0, self._answer, threaded=True, request_handler=_Silent)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def client(self, service: str) -> Any:
        import boto3

        return boto3.client(
            service,
            endpoint_url=self.address,
            region_name=REGION,
            aws_access_key_id="test",
            aws_secret_access_key="test",
        )

    def put_secrets(self, **secrets: str | bytes) -> None:
        """Create secrets, without a request, which takes far longer; ``__`` in a name means a slash."""
        for name, value in secrets.items():
            is_text = isinstance(value, str)
            given = {"secret_string": value} if is_text else {"secret_binary": base64.b64encode(value).decode()}
            absent = dict.fromkeys(("secret_string", "secret_binary", "kms_key_id", "client_request_token"))
            more = {"description": "", "tags": [], "replica_regions": [], "force_overwrite": False}
            self._secrets.create_secret(name=name.replace("__", "/"), **{**absent, **more, **given})

    def put_parameters(self, **parameters: str) -> None:
        """Create encrypted parameters, without a request; ``__`` in a name means a slash."""
        absent = dict.fromkeys(("description", "allowed_pattern", "keyid", "tags", "tier", "policies"))
        for name, value in parameters.items():
            given = {"name": "/" + name.replace("__", "/"), "value": value, "parameter_type": "SecureString"}
            self._parameters.put_parameter(**absent, **given, overwrite=False, data_type="text")

    def refuse(self, id_: str, code: str = "AccessDeniedException") -> None:
        self._refused[id_] = code

    def fail(self, action: str, code: str, status: int, *, times: int) -> None:
        self._failures[action] = (code, status, times)

    def run(self) -> None:
        self._server.serve_forever(poll_interval=0.05)

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def _secrets(self) -> Any:
        from moto.secretsmanager.models import secretsmanager_backends

        return secretsmanager_backends[DEFAULT_ACCOUNT_ID][REGION]

    @property
    def _parameters(self) -> Any:
        from moto.ssm.models import ssm_backends

        return ssm_backends[DEFAULT_ACCOUNT_ID][REGION]

    def _answer(self, environ: dict[str, Any], start: Start) -> Iterable[bytes]:
        action = environ.get("HTTP_X_AMZ_TARGET", "").partition(".")[2]
        if action not in READS:
            return self._moto(environ, start)
        wanted = json.loads(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))
        with self._lock:
            self.reads[action] += 1
            failure = self._next_failure(action)
        if failure is not None:
            return _error(start, *failure)
        return self._read(action, wanted, environ, start)

    def _next_failure(self, action: str) -> tuple[str, int] | None:
        code, status, times = self._failures.get(action, ("", 0, 0))
        if times == 0:
            return None
        self._failures[action] = (code, status, times - 1)
        return code, status

    def _read(self, action: str, wanted: dict[str, Any], environ: dict[str, Any], start: Start) -> Iterable[bytes]:
        ids = wanted.get("SecretIdList") or wanted.get("Names") or [wanted.get("SecretId") or wanted.get("Name")]
        refused = {id_: self._refused[id_] for id_ in ids if id_ in self._refused}
        if refused and action != "BatchGetSecretValue":
            return _error(start, next(iter(refused.values())), 400)
        if not refused:
            return self._ask_moto(wanted, environ, start)
        allowed = {**wanted, "SecretIdList": [id_ for id_ in ids if id_ not in refused]}
        body = json.loads(b"".join(self._ask_moto(allowed, environ, lambda *_: None)))
        errors = [{"SecretId": id_, "ErrorCode": code, "Message": "c4nary"} for id_, code in refused.items()]
        return _json(start, {**body, "Errors": [*body["Errors"], *errors]}, 200)

    def _ask_moto(self, wanted: dict[str, Any], environ: dict[str, Any], start: Start) -> Iterable[bytes]:
        body = json.dumps(wanted).encode()
        request = {**environ, "wsgi.input": io.BytesIO(body), "CONTENT_LENGTH": str(len(body))}
        answer: Iterable[bytes] = self._moto(request, start)
        return answer


def _error(start: Start, code: str, status: int) -> Iterable[bytes]:
    return _json(start, {"__type": code, "message": f"c4nary says {code}"}, status)


def _json(start: Start, body: Any, status: int) -> Iterable[bytes]:
    start(f"{status} x", [("Content-Type", "application/x-amz-json-1.1")])
    return [json.dumps(body).encode()]


_loader = cache(create_loader)
"""Reads the definition of a service once for the clients of all tests, not for each."""


@contextmanager
def serve_aws() -> Iterator[AwsServer]:
    """Serve on a free port of loopback, with nothing stored."""
    from moto.emr.models import emr_backends
    from moto.emrserverless.models import emrserverless_backends
    from moto.s3.models import s3_backends
    from moto.secretsmanager.models import secretsmanager_backends
    from moto.ssm.models import ssm_backends

    server = AwsServer()
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("botocore.session.create_loader", _loader)
            yield server
    finally:
        server.stop()
        thread.join()
        for backends in (emr_backends, emrserverless_backends, s3_backends, secretsmanager_backends, ssm_backends):
            backends[DEFAULT_ACCOUNT_ID].reset()
