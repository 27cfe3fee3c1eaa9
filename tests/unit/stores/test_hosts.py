"""Several hosts in a URL are told apart, whatever else the URL says."""

from __future__ import annotations

import pytest

from onthedot.errors import SettingsError
from onthedot.stores.hosts import Host, split_hosts
from onthedot.stores.open import open_store


@pytest.mark.parametrize(
    ("url", "rest", "hosts"),
    [
        ("postgresql://u@a:1,b:2/db", "postgresql://u@/db", (Host("a", 1), Host("b", 2))),
        ("postgresql://a,b:2,c/db?x=1,2", "postgresql:///db?x=1,2", (Host("a", None), Host("b", 2), Host("c", None))),
        ("postgresql://u:p,/?w@a:1,b/db", "postgresql://u:p,/?w@/db", (Host("a", 1), Host("b", None))),
        ("postgresql://[::1]:1,[fe80::2]/db", "postgresql:///db", (Host("::1", 1), Host("fe80::2", None))),
        ("postgresql://u:p,w@a:1/db,x", "postgresql://u:p,w@a:1/db,x", ()),
        ("postgresql:///db?host=a,b", "postgresql:///db?host=a,b", ()),
    ],
)
def test_hosts_are_taken_out_of_a_url_that_names_several(url: str, rest: str, hosts: tuple[Host, ...]) -> None:
    assert split_hosts(url, "place") == (rest, hosts)


@pytest.mark.parametrize(
    ("hosts", "wrong"), [("a:1,", ""), ("a,,b", ""), ("a:x,b", "a:x"), ("a,b:70000", "b:70000"), ("a,b c", "b c")]
)
def test_what_is_no_host_is_named_in_one_line(hosts: str, wrong: str) -> None:
    url = f"postgresql://u:secret@{hosts}/db"
    with pytest.raises(SettingsError) as caught:
        open_store(url, create=False)
    shown = url.replace("secret", "***")
    assert str(caught.value) == f"{shown}: {wrong!r} is no host; write several like host1:port1,host2:port2"


@pytest.mark.parametrize("where", ["a,b/db?", "/db?host=a&host=b&"])
@pytest.mark.parametrize("wanted", ["any", "standby", "read-write&target_session_attrs=any"])
def test_of_several_servers_none_is_asked_for_that_cannot_be_written(where: str, wanted: str) -> None:
    with pytest.raises(SettingsError, match="takes read-write or primary"):
        open_store(f"postgresql://{where}target_session_attrs={wanted}", create=False)
