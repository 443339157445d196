"""What Vault answers, written so that an answer can be compared with it: a part that differs each time is its kind."""

from __future__ import annotations

import http.client
import json
import re
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from tests.limits import LONGEST

Json = dict[str, Any]

UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
ACCESSOR = re.compile(r"[0-9A-Za-z]{24}")
SERVICE_TOKEN = re.compile(r"hvs\.[\w-]{24,}")
BATCH_TOKEN = re.compile(r"hvb\.[\w-]{24,}")

DENIED = {"errors": ["permission denied"]}
DENIED_BY_POLICY = {"errors": ["1 error occurred:\n\t* permission denied\n\n"]}
UNSUPPORTED = {"errors": ["1 error occurred:\n\t* unsupported operation\n\n"]}
MISSING: Json = {"errors": []}
SEALED = {"errors": ["Vault is sealed"]}


def errors(message: str) -> Json:
    """Return the body of a refusal."""
    return {"errors": [message]}


def envelope(data: Any = None, **more: Any) -> Json:
    """Return the envelope of every answer that is not a refusal."""
    return {
        "request_id": UUID,
        "lease_id": "",
        "renewable": False,
        "lease_duration": 0,
        "data": data,
        "wrap_info": None,
        "warnings": None,
        "auth": None,
        **more,
    }


def auth(policies: list[str], **more: Any) -> Json:
    """Return the answer to a login or a renewal, in its envelope."""
    given = {
        "client_token": SERVICE_TOKEN,
        "accessor": ACCESSOR,
        "policies": policies,
        "token_policies": policies,
        "metadata": None,
        "lease_duration": about(3600),
        "renewable": True,
        "entity_id": UUID,
        "token_type": "service",
        "orphan": True,
        "mfa_requirement": None,
        "num_uses": 0,
        **more,
    }
    return envelope(auth=given)


def token(policies: list[str], **more: Any) -> Json:
    """Return the answer to a lookup of a token, in its envelope."""
    described = {
        "accessor": ACCESSOR,
        "creation_time": int,
        "creation_ttl": 3600,
        "display_name": "token",
        "entity_id": "",
        "expire_time": TIME,
        "explicit_max_ttl": 0,
        "id": SERVICE_TOKEN,
        "issue_time": TIME,
        "meta": None,
        "num_uses": 0,
        "orphan": True,
        "path": "auth/token/create",
        "policies": policies,
        "renewable": True,
        "ttl": about(3600),
        "type": "service",
        **more,
    }
    return envelope(described)


def mount(kind: str, path: str, **more: Any) -> Json:
    """Return the answer to the preflight, in its envelope."""
    described = {
        "accessor": re.compile(rf"{kind}_[0-9a-z]{{8}}"),
        "config": {"default_lease_ttl": 0, "force_no_cache": False, "max_lease_ttl": 0},
        "deprecation_status": "supported",
        "description": "",
        "external_entropy_access": False,
        "local": False,
        "options": {},
        "path": path,
        "plugin_version": "",
        "running_plugin_version": str,
        "running_sha256": "",
        "seal_wrap": False,
        "type": kind,
        "uuid": UUID,
        **more,
    }
    return envelope(described)


def version(number: int, **more: Any) -> Json:
    """Return what Vault says about a version of a secret."""
    described = {"created_time": TIME, "custom_metadata": None, "deletion_time": "", "destroyed": False}
    return {**described, "version": number, **more}


def about(seconds: int) -> range:
    """Return the possible remainders of ``seconds`` when a test checks them, on however busy a machine."""
    return range(seconds - seconds // 3, seconds + 1)


@dataclass(frozen=True, slots=True)
class Answered:
    """
    What came back.

    :param body: read as JSON, or the text that is none; None for an empty one
    :param headers: names in lower case
    """

    status: int
    body: Any
    headers: Mapping[str, str] = field(repr=False)


def ask(
    address: str,
    method: str,
    path: str,
    *,
    token: str | None = None,
    body: Any = None,
    headers: Mapping[str, str] | None = None,
) -> Answered:
    """Send one request as it is: no path is cleaned, no redirect is followed. ``body`` is JSON, or bytes to send."""
    sent = body if isinstance(body, bytes | None) else json.dumps(body).encode()
    with closing(http.client.HTTPConnection(urlsplit(address).netloc, timeout=LONGEST)) as connection:
        connection.request(method, path, sent, {**({"X-Vault-Token": token} if token else {}), **(headers or {})})
        response = connection.getresponse()
        text = response.read().decode()
    found = {name.lower(): value for name, value in response.getheaders()}
    return Answered(response.status, _read(text), found)


def like(actual: Any, expected: Any) -> Any:
    """Return ``expected`` where ``actual`` matches it, and ``actual`` elsewhere, for a comparison with ``expected``."""
    if isinstance(actual, dict) and isinstance(expected, dict):
        return {key: like(value, expected.get(key)) for key, value in actual.items()}
    if isinstance(actual, list) and isinstance(expected, list) and len(actual) == len(expected):
        return [like(one, other) for one, other in zip(actual, expected, strict=True)]
    return expected if _is_like(actual, expected) else actual


def _is_like(actual: Any, expected: Any) -> bool:
    if isinstance(expected, re.Pattern):
        return isinstance(actual, str) and expected.fullmatch(actual) is not None
    if isinstance(expected, type):
        return type(actual) is expected
    if isinstance(expected, range):
        return type(actual) is int and actual in expected
    return type(actual) is type(expected) and actual == expected


def _read(text: str) -> Any:
    if not text:
        return None
    try:
        return json.loads(text)
    except ValueError:
        return text
