"""Redis over TLS: the certificate must be of the host that the URL names, and a CA of one's own can be named."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.servers.base import free_port, unavailable
from tests.servers.redis import DURABLE, running

from onthedot.errors import SettingsError, StoreUnavailable
from onthedot.stores.open import open_store


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of `localhost`, signed by itself, with its key beside it."""
    if shutil.which("openssl") is None:
        unavailable("no openssl here, to make a certificate with: apt-get install openssl")
    folder = tmp_path_factory.mktemp("tls")
    host = "-subj /CN=localhost -addext subjectAltName=DNS:localhost"
    command = f"openssl req -x509 -newkey rsa:2048 -nodes -days 2 {host}"
    files = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "certificate.pem")]
    subprocess.run([*command.split(), *files], check=True, capture_output=True)
    return folder / "certificate.pem"


@pytest.fixture(scope="module")
def tls_port(certificate: Path) -> Iterator[int]:
    port = free_port()
    files = {"cert": certificate, "key": certificate.with_name("key.pem"), "ca-cert": certificate}
    options = [part for name, path in files.items() for part in (f"--tls-{name}-file", str(path))]
    with running([*DURABLE, "--tls-port", str(port), "--tls-auth-clients", "no", *options]):
        yield port


def test_the_certificate_of_an_own_ca_is_named_in_the_url(tls_port: int, certificate: Path) -> None:
    store = open_store(f"rediss://localhost:{tls_port}/0?ssl_ca_certs={certificate}", create=True)
    assert store.schedules() == []
    store.close()


def test_a_server_whose_certificate_is_of_another_host_is_refused(tls_port: int, certificate: Path) -> None:
    with pytest.raises(StoreUnavailable, match=r"not valid for '127.0.0.1'"):
        open_store(f"rediss://127.0.0.1:{tls_port}/0?ssl_ca_certs={certificate}", create=True)


def test_a_certificate_that_nobody_vouches_for_is_refused(tls_port: int) -> None:
    with pytest.raises(StoreUnavailable, match="certificate verify failed"):
        open_store(f"rediss://localhost:{tls_port}/0", create=True)


def test_a_ca_without_tls_is_a_mistake_that_is_told() -> None:
    with pytest.raises(SettingsError, match="ssl_ca_certs= is for rediss://"):
        open_store("redis://localhost/0?ssl_ca_certs=/etc/ca.pem", create=True)


def test_a_ca_that_is_not_there_is_told_by_its_name(tls_port: int) -> None:
    with pytest.raises(SettingsError, match=r"ssl_ca_certs=/nowhere/ca.pem: there is no such file"):
        open_store(f"rediss://localhost:{tls_port}/0?ssl_ca_certs=/nowhere/ca.pem", create=True)
