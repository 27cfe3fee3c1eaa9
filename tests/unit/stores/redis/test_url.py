"""What a URL of Redis says, in each of its forms, and what is refused in one line."""

from __future__ import annotations

import pytest

from onthedot.errors import SettingsError
from onthedot.stores.hosts import Host
from onthedot.stores.open import mask_url, open_store
from onthedot.stores.redis.url import read_url


def test_sentinels_are_named_with_their_service_a_database_and_users_of_both() -> None:
    place = read_url(
        "rediss+sentinel://ann:open%20sesame@s1:26379,s2,[::1]:7/otd/2?sentinel_user=bob&sentinel_password=p%40ss", ""
    )
    assert (place.kind, place.tls, place.service, place.database) == ("sentinel", True, "otd", 2)
    assert place.hosts == (Host("s1", 26379), Host("s2", None), Host("::1", 7))
    assert (place.user, place.password) == ("ann", "open sesame")
    assert (place.options.sentinel_user, place.options.sentinel_password) == ("bob", "p@ss")


def test_nodes_of_a_cluster_are_named() -> None:
    place = read_url("redis+cluster://:secret@h1:7000,h2/?namespace=shop", "")
    assert (place.kind, place.tls, place.hosts) == ("cluster", False, (Host("h1", 7000), Host("h2", None)))
    assert (place.user, place.password, place.options.namespace) == (None, "secret", "shop")


@pytest.mark.parametrize(
    ("url", "replicas"),
    [
        ("redis://h", 0),
        ("redis://h?replicas=1", 1),
        ("redis+sentinel://h/otd", 1),
        ("redis+cluster://h", 1),
        ("redis+cluster://h?replicas=2", 2),
        ("redis+sentinel://h/otd?allow_no_replicas=yes", 0),
    ],
)
def test_a_replica_is_waited_for_where_one_may_become_the_primary_by_itself(url: str, replicas: int) -> None:
    assert read_url(url, url).options.replicas == replicas


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("redis+sentinels://h/otd", "redis+sentinels:// is unknown; there is redis:// for one server"),
        ("redis://h1,h2/0", "redis:// names one server; of several write the sentinels that watch them"),
        ("redis+sentinel://h", "it names no service; write the one that the sentinels watch"),
        ("redis+sentinel://h/otd/two", "behind the service stands a database of Redis, a number; not 'two'"),
        ("redis+sentinel://h/otd/0/1", "behind the service stands a database of Redis, a number; not '0/1'"),
        ("redis+sentinel:///otd", "'' is no host"),
        ("redis+sentinel://h1,,h2/otd", "'' is no host"),
        ("redis+sentinel://h:99999/otd", "'h:99999' is no host"),
        ("redis+cluster://h/1", "a cluster has the database 0 alone"),
        ("redis+cluster://h?sentinel_user=a", "sentinel_user= is for redis+sentinel://"),
        (
            "redis+cluster://h?replicas=0",
            "replicas= takes how many must have what is written, like replicas=1; not '0'",
        ),
        ("redis+cluster://h?replicas=many", "replicas= takes how many must have what is written"),
        ("redis+cluster://h?replicas=1&allow_no_replicas=yes", "are opposites; leave one out"),
        ("redis+cluster://h?allow_no_replicas=1", "allow_no_replicas= takes yes or no, not '1'"),
        ("redis://h?allow_no_replicas=yes", "allow_no_replicas= is for redis+sentinel:// and redis+cluster://"),
        ("redis+sentinel://h/otd?ssl_ca_certs=/ca.pem", "ssl_ca_certs= is for rediss://"),
        ("redis+sentinel://[h/otd", "write it like redis://"),
    ],
)
def test_what_the_url_cannot_mean_is_said_in_one_line(url: str, said: str) -> None:
    with pytest.raises(SettingsError) as caught:
        open_store(url, create=False)
    text = str(caught.value)
    assert text.startswith(f"{url}: ")
    assert said in text
    assert "\n" not in text


def test_no_password_is_shown_whichever_it_is() -> None:
    url = "redis+sentinel://ann:one@s1,s2/otd?sentinel_user=bob&sentinel_password=two"
    assert mask_url(url) == "redis+sentinel://ann:***@s1,s2/otd?sentinel_user=bob&sentinel_password=***"
