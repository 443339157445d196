"""Certificates that only the tests trust."""

from __future__ import annotations

import datetime
import ipaddress
import ssl
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate that signs itself; to trust it is to take ``certificate`` as the CA file."""

    certificate: Path
    key: Path

    def server_context(self) -> ssl.SSLContext:
        """Return the context with which a server presents the certificate."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, self.key)
        return context


def self_signed(folder: Path, *names: str, address: str = "127.0.0.1", begins: int = 0, ends: int = 1) -> Certificate:
    """
    Make a certificate for an address, and for ``names``, in ``folder``.

    :param begins: days from now
    :param ends: days from now
    """
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    hosts = [x509.IPAddress(ipaddress.ip_address(address)), *map(x509.DNSName, names)]
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now + datetime.timedelta(days=begins, minutes=-5))
        .not_valid_after(now + datetime.timedelta(days=ends))
        .add_extension(x509.SubjectAlternativeName(hosts), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    result = Certificate(folder / "certificate.pem", folder / "key.pem")
    result.certificate.write_bytes(made.public_bytes(pem))
    result.key.write_bytes(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain))
    return result
