"""Who signs JSON web tokens in the tests, and the part of Kubernetes that Vault asks about them."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import Any

from tests.servers.web import Request, Response

AUDIENCE = "vault"
NAMESPACE = "default"


class Signer:
    """A key pair that signs tokens, as an identity provider does."""

    def __init__(self) -> None:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ec

        self._key = ec.generate_private_key(ec.SECP256R1())
        form = serialization.PublicFormat.SubjectPublicKeyInfo
        self.public_key = self._key.public_key().public_bytes(serialization.Encoding.PEM, form).decode()

    def sign(self, claims: dict[str, Any]) -> str:
        """Sign ``claims``; who, for whom and until when have a default."""
        import jwt

        now = int(time.time())
        standard = {"iss": "tests", "sub": "job", "aud": AUDIENCE, "iat": now, "nbf": now - 5, "exp": now + 3600}
        return jwt.encode(standard | claims, self._key, algorithm="ES256")


@dataclass(frozen=True, slots=True)
class ServiceAccount:
    """An account of Kubernetes."""

    name: str
    uid: str = "6b1a6a0e-0000-4000-8000-000000000001"

    @property
    def subject(self) -> str:
        """What Kubernetes calls it."""
        return f"system:serviceaccount:{NAMESPACE}:{self.name}"

    def claims(self) -> dict[str, Any]:
        """The content of its tokens."""
        account = {"namespace": NAMESPACE, "serviceaccount": {"name": self.name, "uid": self.uid}}
        return {"sub": self.subject, "aud": [AUDIENCE], "kubernetes.io": account}


@dataclass(frozen=True, slots=True)
class TokenReview:
    """Kubernetes' answer to Vault: each token is the account's own."""

    account: ServiceAccount

    def __call__(self, request: Request) -> Response:
        user = {"username": self.account.subject, "uid": self.account.uid}
        review = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenReview",
            "status": {"authenticated": True, "user": user, "audiences": [AUDIENCE]},
        }
        return Response(201, json.dumps(review).encode(), {"Content-Type": "application/json"})
