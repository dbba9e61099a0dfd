"""An authority and a server's certificate for tests of TLS."""

from __future__ import annotations

import datetime
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from required import required_module

NAMES = ("127.0.0.1",)


@dataclass(frozen=True)
class Certificates:
    """Files in PEM form.

    Attributes:
        authority: The authority's certificate.
        certificate: The server's.
        key: The server's key.
        other: The certificate of an authority that has signed nothing.
    """

    authority: Path
    certificate: Path
    key: Path
    other: Path


def make_certificates(folder: Path) -> Certificates:
    """Return a new authority and a certificate of it for 127.0.0.1; the test needs the package cryptography."""
    required_module("cryptography")
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    now = datetime.datetime.now(datetime.UTC)

    def certificate(name: str, key: ec.EllipticCurvePrivateKey, issuer: str, by: ec.EllipticCurvePrivateKey, *, ca: bool) -> bytes:
        builder = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
            .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
        )
        if not ca:
            names = [x509.IPAddress(ipaddress.ip_address(address)) for address in NAMES]
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        return builder.sign(by, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    authority, server, stranger = (ec.generate_private_key(ec.SECP256R1()) for _ in range(3))
    made = Certificates(folder / "ca.pem", folder / "server.pem", folder / "server-key.pem", folder / "other.pem")
    made.authority.write_bytes(certificate("test authority", authority, "test authority", authority, ca=True))
    made.certificate.write_bytes(certificate("server", server, "test authority", authority, ca=False))
    made.other.write_bytes(certificate("stranger", stranger, "stranger", stranger, ca=True))
    private = serialization.PrivateFormat.PKCS8
    made.key.write_bytes(server.private_bytes(serialization.Encoding.PEM, private, serialization.NoEncryption()))
    made.key.chmod(0o644)  # the servers of the tests may run as another user
    return made
