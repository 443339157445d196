from __future__ import annotations

import contextlib
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_config_providers.core import ConfigTransformer
from airflow_config_providers.exceptions import (
    AccessDeniedError,
    ConfigException,
    ConfigProvidersError,
    ProviderUnavailableError,
)
from airflow_config_providers.providers.vault.paths import Mount, Mounts, VaultPath, quoted
from tests.providers.vault.opened import opened, seen


@pytest.mark.parametrize(
    ("text", "segments", "version"),
    [
        pytest.param("secret/apps/db", ("secret", "apps", "db"), None, id="names"),
        pytest.param("db", ("db",), None, id="one name"),
        pytest.param("secret/db?version=3", ("secret", "db"), 3, id="version"),
        pytest.param("secret/db?version=0", ("secret", "db"), 0, id="version that means the latest"),
        pytest.param("secret/a b/ü", ("secret", "a b", "ü"), None, id="blank and letter"),
        pytest.param("secret/a#b&c=d;e", ("secret", "a#b&c=d;e"), None, id="marks of URLs"),
        pytest.param("secret/a%20b", ("secret", "a%20b"), None, id="a percent is a percent"),
        pytest.param("secret/sys/auth", ("secret", "sys", "auth"), None, id="names of Vault's own, below a mount"),
        pytest.param("secret/...", ("secret", "..."), None, id="three dots"),
        pytest.param("secret/.env", ("secret", ".env"), None, id="hidden"),
    ],
)
def test_a_path_is_read(text: str, segments: tuple[str, ...], version: int | None) -> None:
    assert VaultPath.parse(text) == VaultPath(segments, version)


@pytest.mark.parametrize("text", ["secret/apps/db", "secret/apps/db?version=3"])
def test_it_shows_itself_as_it_was_written(text: str) -> None:
    assert str(VaultPath.parse(text)) == text


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("", "lacks its path or its key", id="empty"),
        pytest.param("/secret/db", "empty name", id="slash at the beginning"),
        pytest.param("secret/db/", "empty name", id="slash at the end"),
        pytest.param("secret//db", "empty name", id="two slashes"),
        pytest.param("secret/\ndb", "cannot be printed", id="line feed"),
        pytest.param("secret/db\0", "cannot be printed", id="NUL"),
        pytest.param("secret/\ud800", "cannot be printed", id="surrogate"),
        pytest.param("secret/db?", "has an unknown option", id="question mark alone"),
        pytest.param("secret/db?list=true", "has an unknown option", id="another option"),
        pytest.param("secret/db?version=", "has an unknown option", id="no number"),
        pytest.param("secret/db?version=-1", "has an unknown option", id="negative"),
        pytest.param("secret/db?version=٣", "has an unknown option", id="digit of another script"),
        pytest.param("secret/db?version=3&list=true", "has an unknown option", id="two options"),
        pytest.param("secret/db?version=3?version=4", "has an unknown option", id="twice"),
        pytest.param("secret/db?version=1234567890", "has an unknown option", id="a version that cannot be"),
    ],
)
def test_what_is_no_path_is_refused(text: str, problem: str) -> None:
    with pytest.raises(ConfigException, match=problem) as caught:
        VaultPath.parse(text)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    "text",
    [
        *("sys/mounts", "auth/token/lookup-self", "sys", "auth?version=1"),
        *("s%79s/mounts", "%2561uth/token/lookup-self", "auth%2Ftoken/lookup-self", "%2Fauth/token/lookup-self"),
    ],
)
def test_where_vault_keeps_itself_is_refused(text: str) -> None:
    with pytest.raises(AccessDeniedError, match="which belongs to Vault itself"):
        VaultPath.parse(text)


@pytest.mark.parametrize(
    "text",
    [
        *("..", "./secret", "secret/../sys/mounts", "secret/..", "secret/./db"),
        *("secret/%2e%2E/sys", "secret/%252e%252e/sys", "secret/%2e"),
    ],
)
def test_a_path_that_goes_to_another_folder_is_refused(text: str) -> None:
    with pytest.raises(AccessDeniedError, match=r"contains '\.' or '\.\.'"):
        VaultPath.parse(text)


@given(st.text(min_size=1, max_size=40) | st.text("./%2eE?=version13a", min_size=1, max_size=30))
def test_a_path_that_is_read_stays_itself_in_a_url(text: str) -> None:
    try:
        path = VaultPath.parse(text)
    except ConfigProvidersError as error:
        refused = str(error)
    else:
        refused = ""
    assert refused.isprintable()
    if refused:
        return
    url = quoted(path.segments)
    assert {"", ".", ".."}.isdisjoint(url.split("/"))
    assert tuple(map(unquote, url.split("/"))) == path.segments
    assert {"?", "#", ";", "\\"}.isdisjoint(url)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param({"path": "secret/", "type": "kv", "options": {"version": "2"}}, Mount(("secret",), 2), id="kv 2"),
        pytest.param({"path": "secret/", "type": "kv", "options": {"version": "1"}}, Mount(("secret",), 1), id="kv 1"),
        pytest.param(
            {"path": "secret/", "type": "kv", "options": None}, Mount(("secret",), 1), id="kv without options"
        ),
        pytest.param({"path": "old/", "type": "generic"}, Mount(("old",), 1), id="as kv was once called"),
        pytest.param({"path": "a/b/c/", "type": "kv"}, Mount(("a", "b", "c"), 1), id="several names"),
        pytest.param({"path": "db/", "type": "database"}, Mount(("db",)), id="another engine"),
        pytest.param({}, None, id="nothing"),
        pytest.param({"path": 1}, None, id="no text"),
        pytest.param([], None, id="no object"),
        pytest.param(None, None, id="null"),
    ],
)
def test_what_vault_says_of_a_mount(data: object, expected: Mount | None) -> None:
    assert Mount.of(data) == expected


@pytest.mark.parametrize("kind", ["system", "ns_system", "token", "ns_token"])
def test_where_vault_keeps_itself_is_no_mount_to_read(kind: str) -> None:
    with pytest.raises(AccessDeniedError):
        Mount.of({"path": "child/sys/", "type": kind})


@pytest.mark.parametrize("path", ["auth/ldap/", "team/auth/ldap/", "team/sys/", "team/%61uth/ldap/"])
def test_what_could_be_vault_s_own_is_no_mount_to_read(path: str) -> None:
    with pytest.raises(AccessDeniedError):
        Mount.of({"path": path, "type": "ldap"})


def test_a_kv_is_read_also_if_it_is_named_like_vault_s_own() -> None:
    assert Mount.of({"path": "team/auth/", "type": "kv"}) == Mount(("team", "auth"), 1)


def test_metadata_is_beside_the_data_of_a_kv_2() -> None:
    mount, path = Mount(("team", "kv"), 2), ("team", "kv", "apps", "db")

    assert mount.address(path) == ("team", "kv", "data", "apps", "db")
    assert mount.metadata_address(path) == ("team", "kv", "metadata", "apps", "db")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param({"data": {"data": None, "metadata": {"version": 1}}}, True, id="kv 2"),
        pytest.param({"data": {"metadata": {"version": 1}}}, False, id="no data"),
        pytest.param({"data": {"data": {}, "metadata": "version"}}, False, id="no object"),
        pytest.param({"data": {"data": {}, "metadata": {}}}, False, id="no version"),
        pytest.param({}, False, id="nothing"),
    ],
)
def test_only_a_kv_2_answers_with_data_and_their_version(body: dict[str, object], expected: bool) -> None:
    assert Mount(("secret",), 2).proves_itself(body) is expected
    assert not Mount(("secret",), 1).proves_itself(body)


@pytest.mark.parametrize(
    ("path", "now", "token", "expected"),
    [
        pytest.param(("a", "b", "other"), 60.0, "t", True, id="same folder"),
        pytest.param(("a", "b", "c"), 60.0, None, True, id="any token"),
        pytest.param(("a", "b", "c"), 60.0, "new", False, id="another token"),
        pytest.param(("a", "b", "c"), 61.0, "t", False, id="later"),
        pytest.param(("a", "c"), 60.0, "t", False, id="another folder"),
    ],
)
def test_a_folder_is_closed_for_a_minute_to_the_token_that_was_refused(
    path: tuple[str, ...],
    now: float,
    token: str | None,
    expected: bool,
) -> None:
    mounts = Mounts()
    mounts.remember_closed(("a", "b", "c"), now=1.0, token="t")

    assert mounts.is_closed(path, now=now, token=token) is expected


def test_a_mount_is_found_by_the_names_that_it_holds() -> None:
    mounts = Mounts()
    mounts.remember(Mount(("team", "a", "kv"), 2))
    mounts.remember(Mount(("secret",), 1))
    assert mounts.find(("team", "a", "kv", "db")) == Mount(("team", "a", "kv"), 2)
    assert mounts.find(("secret", "db")) == Mount(("secret",), 1)
    assert mounts.find(("team", "b", "kv")) is mounts.find(("secrets", "db")) is None


def test_a_mount_is_found_without_comparing_the_whole_of_a_long_path() -> None:
    mounts = Mounts()
    mounts.remember(Mount(("team", "kv"), 2))
    lengths: list[int] = []

    class Segments(tuple[str, ...]):
        def __getitem__(self, part: slice) -> tuple[str, ...]:  # type: ignore[override]  # only slices are asked for
            lengths.append(part.stop)
            return super().__getitem__(part)

    assert mounts.find(Segments(("team", "kv", *"x" * 1000))) == Mount(("team", "kv"), 2)
    assert lengths == [2]


def test_a_kv_2_is_found_out_by_the_read_itself(vault) -> None:
    vault.put("a", {"k": "v"})
    with opened(vault, token=vault.root_token) as provider:
        assert provider.get(f"{vault.kv2}/a", {"k"}).data == {"k": "v"}
        assert seen(vault) == ["GET kv2/data/a 200"]


def test_a_kv_1_is_found_out_once(vault) -> None:
    vault.put_v1("a", {"k": "v"})
    vault.put_v1("b", {"k": "w"})
    with opened(vault, token=vault.root_token) as provider:
        assert provider.get(f"{vault.kv1}/a", {"k"}).data == {"k": "v"}
        assert provider.get(f"{vault.kv1}/b", {"k"}).data == {"k": "w"}
        assert seen(vault) == [
            "GET kv1/data/a 404",
            "GET sys/internal/ui/mounts/kv1/a 200",
            "GET kv1/a 200",
            "GET kv1/b 200",
        ]


def test_that_something_is_missing_is_asked_for_once_a_mount(vault) -> None:
    with opened(vault, token=vault.root_token) as provider:
        assert provider.get(f"{vault.kv2}/a", {"k"}).data == provider.get(f"{vault.kv2}/b", {"k"}).data == {}
        assert seen(vault) == ["GET kv2/data/a 404", "GET sys/internal/ui/mounts/kv2/a 200", "GET kv2/data/b 404"]


def test_a_deleted_version_is_missing_and_shows_what_mount_it_is(vault) -> None:
    vault.put("a", {"k": "v"})
    vault.admin.delete(f"{vault.kv2}/data/a")
    with opened(vault, token=vault.root_token) as provider:
        assert provider.get(f"{vault.kv2}/a", {"k"}).data == {}
        assert seen(vault) == ["GET kv2/data/a 404"]


@pytest.mark.parametrize("version", [1, 2])
def test_a_version_that_is_given_is_not_found_out(vault, version: int) -> None:
    put, mount = (vault.put_v1, vault.kv1) if version == 1 else (vault.put, vault.kv2)
    put("a", {"k": "v"})
    with opened(vault, token=vault.root_token, mount_point=mount, kv_engine_version=str(version)) as provider:
        assert provider.get("a", {"k"}).data == {"k": "v"}
        assert len(seen(vault)) == 1


def test_a_kv_1_that_is_given_without_its_mount_is_read_at_once(vault) -> None:
    vault.put_v1("a", {"k": "v"})
    with opened(vault, token=vault.root_token, kv_engine_version="1") as provider:
        assert provider.get(f"{vault.kv1}/a", {"k"}).data == {"k": "v"}
        assert seen(vault) == ["GET kv1/a 200"]


def test_a_kv_1_that_looks_like_a_kv_2_is_a_kv_1(vault) -> None:
    vault.put_v1("a", {"k": "right"})
    vault.put_v1("data/a", {"k": "wrong", "data": {"k": "wrong"}, "metadata": {"k": "wrong"}})
    with opened(vault, token=vault.root_token) as provider:
        assert provider.get(f"{vault.kv1}/a", {"k"}).data == {"k": "right"}


@pytest.mark.parametrize(
    ("mount_point", "path"), [("auth", "token/lookup-self"), ("auth/token", "lookup-self"), ("sys", "mounts/secret")]
)
def test_a_version_that_is_given_leads_no_reference_to_where_vault_keeps_itself(
    vault, mount_point: str, path: str
) -> None:
    given = {"token": vault.root_token, "mount_point": mount_point, "kv_engine_version": "1"}
    with opened(vault, **given) as provider, pytest.raises(AccessDeniedError):
        provider.get(path, {"id"})


@pytest.mark.parametrize("has_mount_point", [False, True])
def test_a_version_that_is_given_reads_a_folder_named_like_vault_s_own(vault, *, has_mount_point: bool) -> None:
    vault.put_v1("auth/a", {"k": "v"})
    given = {"mount_point": vault.kv1} if has_mount_point else {}
    with opened(vault, token=vault.root_token, kv_engine_version="1", **given) as provider:
        assert provider.get(f"{vault.kv1}/auth/a", {"k"}).data == {"k": "v"}
        assert provider.get(f"{vault.kv1}/auth/a", {"k"}).data == {"k": "v"}
        assert sum("sys/internal/ui/mounts" in request for request in seen(vault)) == 1


@pytest.mark.parametrize("given", [{}, {"kv_engine_version": "1"}, {"kv_engine_version": "2"}], ids=repr)
def test_where_nobody_tells_the_mount_a_mount_point_leads_no_reference_to_where_vault_keeps_itself(
    vault, given: dict[str, str]
) -> None:
    with opened(vault, token=vault.root_token, mount_point="auth", **given) as provider:
        vault.fail(9, 404, path="sys/internal/")
        assert provider.get("token/lookup-self", {"id"}).data == {}


def test_an_engine_that_is_no_kv_is_read_as_it_is(vault) -> None:
    path = vault.creds(ttl=60)
    with opened(vault, token=vault.root_token) as provider:
        assert set(provider.get(path).data) == {"username", "password"}
        assert "GET database/creds/app 200" in seen(vault)


@pytest.fixture
def nested(vault):
    """A KV 2 whose mount has several names."""
    mount = f"team/{vault.kv2}/kv"
    vault.admin.write_data(f"sys/mounts/{mount}", data={"type": "kv", "options": {"version": "2"}})
    vault.admin.write_data(f"{mount}/data/apps/db", data={"data": {"k": "v"}})
    yield mount
    vault.admin.delete(f"sys/mounts/{mount}")


@pytest.mark.parametrize(
    "params",
    [{}, {"mount_point": "{nested}"}, {"mount_point": "team"}, {"kv_engine_version": "1"}, {"kv_engine_version": "2"}],
    ids=repr,
)
def test_a_mount_may_have_several_names(vault, nested: str, params: dict[str, str]) -> None:
    given = {name: value.format(nested=nested) for name, value in params.items()}
    with opened(vault, token=vault.root_token, **given) as provider:
        assert provider.get(f"{nested}/apps/db", {"k"}).data == {"k": "v"}


def test_a_mount_of_several_names_is_found_out_once(vault, nested: str) -> None:
    vault.admin.write_data(f"{nested}/data/apps/other", data={"data": {"k": "w"}})
    with opened(vault, token=vault.root_token) as provider:
        provider.get(f"{nested}/apps/db", {"k"})
        vault.reset()
        assert provider.get(f"{nested}/apps/other", {"k"}).data == {"k": "w"}
        assert len(seen(vault)) == 1


def test_below_the_mount_point_the_mount_is_left_out(vault) -> None:
    vault.put("apps/db", {"k": "v"})
    with opened(vault, token=vault.root_token, mount_point=vault.kv2) as provider:
        assert provider.get("apps/db", {"k"}).data == {"k": "v"}
        assert seen(vault) == ["GET kv2/data/apps/db 200"]


def test_a_path_that_begins_with_the_mount_point_is_taken_as_it_is(vault) -> None:
    vault.put("apps/db", {"k": "v"})
    with opened(vault, token=vault.root_token, mount_point=vault.kv2) as provider:
        assert provider.get(f"{vault.kv2}/apps/db", {"k"}).data == {"k": "v"}
        assert seen(vault) == ["GET kv2/data/apps/db 200"]


def test_a_secret_below_the_mount_point_may_have_the_name_of_the_mount_point(vault) -> None:
    vault.put(f"{vault.kv2}/db", {"k": "v"})
    with opened(vault, token=vault.root_token, mount_point=vault.kv2) as provider:
        assert provider.get(f"{vault.kv2}/db", {"k"}).data == {"k": "v"}


def test_what_is_not_below_the_mount_point_is_looked_for_at_its_own_mount(vault) -> None:
    vault.put_v1("apps/db", {"k": "v"})
    with opened(vault, token=vault.root_token, mount_point=vault.kv2) as provider:
        assert provider.get(f"{vault.kv1}/apps/db", {"k"}).data == {"k": "v"}


def test_below_the_mount_point_comes_before_a_mount_of_that_name(vault) -> None:
    vault.put(f"{vault.kv1}/db", {"k": "below"})
    vault.put_v1("db", {"k": "own"})
    with opened(vault, token=vault.root_token, mount_point=vault.kv2) as provider:
        assert provider.get(f"{vault.kv1}/db", {"k"}).data == {"k": "below"}


@pytest.fixture
def secret(vault) -> str:
    """A folder of this test below ``secret``."""
    if "secret/" not in vault.admin.read("sys/mounts")["data"]:
        vault.admin.write_data("sys/mounts/secret", data={"type": "kv", "options": {"version": "2"}})
    folder = vault.kv2.replace("kv2", "folder")
    vault.admin.write_data(f"secret/data/{folder}/db", data={"data": {"k": "v"}})
    yield folder
    vault.admin.delete(f"secret/metadata/{folder}/db")


@pytest.mark.parametrize("prefix", ["", "secret/"], ids=["without", "with"])
@pytest.mark.parametrize("mount_point", ["", "secret"], ids=["no mount_point", "mount_point"])
def test_below_secret_the_mount_may_be_left_out(vault, secret: str, prefix: str, mount_point: str) -> None:
    with opened(vault, token=vault.root_token, mount_point=mount_point) as provider:
        assert provider.get(f"{prefix}{secret}/db", {"k"}).data == {"k": "v"}


@pytest.mark.parametrize("version", ["1", "2"])
def test_below_secret_the_mount_may_be_left_out_whatever_version_is_given(vault, secret: str, version: str) -> None:
    with opened(vault, token=vault.root_token, kv_engine_version=version) as provider:
        assert provider.get(f"{secret}/db", {"k"}).data == {"k": "v"}


def test_a_path_of_one_name_is_only_looked_for_below_secret(vault, secret: str) -> None:
    vault.admin.write_data(f"secret/data/{secret}", data={"data": {"k": "v"}})
    with opened(vault, token=vault.root_token) as provider:
        assert provider.get(secret, {"k"}).data == {"k": "v"}
        assert seen(vault) == ["GET secret/data/folder 200"]
    vault.admin.delete(f"secret/metadata/{secret}")


@pytest.mark.parametrize("token", ["root", "policy"])
def test_that_a_name_is_no_mount_is_found_out_once(vault, secret: str, token: str) -> None:
    text = vault.root_token if token == "root" else vault.token(f"secret/data/{secret}/*")
    with opened(vault, token=text) as provider:
        provider.get(f"{secret}/db", {"k"})
        assert len(seen(vault)) == 3
        vault.reset()
        vault.admin.write_data(f"secret/data/{secret}/db2", data={"data": {"k": "w"}})
        assert provider.get(f"{secret}/db2", {"k"}).data == {"k": "w"}
        assert len(seen(vault)) == 1


def test_a_mount_comes_before_a_folder_below_secret(vault, secret: str) -> None:
    vault.admin.write_data(f"secret/data/{vault.kv1}/db", data={"data": {"k": "below"}})
    vault.put_v1("db", {"k": "own"})
    with opened(vault, token=vault.root_token) as provider:
        assert provider.get(f"{vault.kv1}/db", {"k"}).data == {"k": "own"}
        assert provider.get(f"{vault.kv1}/absent", {"k"}).data == {}
    vault.admin.delete(f"secret/metadata/{vault.kv1}/db")


@pytest.mark.parametrize(("status", "body"), [(403, "<html>"), (404, '{"errors": []}')], ids=["page", "missing"])
def test_a_mount_comes_before_a_folder_below_secret_after_an_answer_that_is_no_denial(
    vault, secret: str, status: int, body: str
) -> None:
    vault.admin.write_data(f"secret/data/{vault.kv1}/db", data={"data": {"k": "below"}})
    vault.put_v1("db", {"k": "own"})
    with opened(vault, token=vault.root_token, **{"cache.ttl": "0"}) as provider:
        vault.fail(99, status, body=body)
        with contextlib.suppress(ProviderUnavailableError):
            assert provider.get(f"{vault.kv1}/db", {"k"}).data == {}
        vault.reset()
        assert provider.get(f"{vault.kv1}/db", {"k"}).data == {"k": "own"}
    vault.admin.delete(f"secret/metadata/{vault.kv1}/db")


@pytest.mark.parametrize("status", [400, 403, 404, 405])
def test_where_nobody_tells_the_mount_it_is_read_as_it_is(vault, status: int) -> None:
    vault.put_v1("a", {"k": "v"})
    with opened(vault, token=vault.root_token) as provider:
        vault.fail(9, status, path="sys/internal/")
        assert provider.get(f"{vault.kv1}/a", {"k"}).data == {"k": "v"}
        assert "GET kv1/a 200" in seen(vault)


def test_where_nobody_tells_the_mount_the_mount_point_is_read_as_it_is(vault) -> None:
    vault.put_v1("a", {"k": "v"})
    with opened(vault, token=vault.root_token, mount_point=vault.kv1) as provider:
        vault.fail(9, 403, path="sys/internal/")
        assert provider.get("a", {"k"}).data == {"k": "v"}


def test_where_nobody_tells_the_mount_a_version_is_not_read_as_it_is(vault) -> None:
    vault.put_v1("a", {"k": "v"})
    with opened(vault, token=vault.root_token) as provider:
        vault.fail(9, 404, path="sys/internal/")
        assert provider.get(f"{vault.kv1}/a?version=1", {"k"}).data == {}


def test_a_version_of_a_mount_that_keeps_none_is_refused(vault) -> None:
    vault.put_v1("a", {"k": "v"})
    with opened(vault, token=vault.root_token) as provider, pytest.raises(ConfigException, match="has none: only"):
        provider.get(f"{vault.kv1}/a?version=1", {"k"})


@pytest.fixture
def cold(vault):
    """A hundred paths, and what the transformer is given for them."""

    def made(mount: str, put, *, below: str = "apps") -> dict[str, str]:
        for number in range(100):
            put(f"{below}/{number}", {"k": str(number)})
        return {str(number): f"${{vault:{mount}/{below}/{number}:k}}" for number in range(100)}

    return made


def denials(vault) -> list[str]:
    return [request for request in seen(vault) if request.endswith(" 403")]


@pytest.mark.parametrize("mount", ["kv1", "kv2"])
def test_a_hundred_cold_paths_are_a_hundred_reads_and_at_most_one_probe(vault, cold, mount: str) -> None:
    put = vault.put if mount == "kv2" else vault.put_v1
    configs = cold(getattr(vault, mount), put)
    role = vault.approle(f"{getattr(vault, mount)}/{'data/' if mount == 'kv2' else ''}apps/*")
    with opened(vault, role=role) as provider:
        found = ConfigTransformer({"vault": provider}).transform(configs).data
        assert found == {key: key for key in configs}
        probes = {"kv1": ["GET kv1/data/apps/0 403", "GET sys/internal/ui/mounts/kv1/apps/0 200"], "kv2": []}
        reads = [f"GET {mount}/{'data/' if mount == 'kv2' else ''}apps/{number} 200" for number in range(100)]
        assert sorted(seen(vault)) == sorted(["POST auth/approle/login 200", *reads, *probes[mount]])


def test_a_hundred_cold_paths_below_secret_are_denied_once(vault, secret: str) -> None:
    configs = {}
    for number in range(100):
        vault.admin.write_data(f"secret/data/{secret}/{number}", data={"data": {"k": str(number)}})
        configs[str(number)] = f"${{vault:{secret}/{number}:k}}"
    with opened(vault, role=vault.approle(f"secret/data/{secret}/*")) as provider:
        assert ConfigTransformer({"vault": provider}).transform(configs).data == {key: key for key in configs}
        assert len(seen(vault)) == 1 + 100 + 2
        assert len(denials(vault)) == 2


@pytest.mark.parametrize("missing", [1, 50])
def test_paths_that_are_missing_do_not_have_the_others_ask_again(vault, secret: str, missing: int) -> None:
    for number in range(missing, 100):
        vault.admin.write_data(f"secret/data/{secret}/{number}", data={"data": {"k": str(number)}})
    configs = {str(number): f"${{vault:{secret}/{number}:k}}" for number in range(100)}
    with opened(vault, role=vault.approle(f"secret/data/{secret}/*")) as provider:
        found = ConfigTransformer({"vault": provider}).transform(configs)
        assert len(found.unresolved) == missing
        assert len(denials(vault)) <= 3 + 2 * missing


def test_a_hundred_references_on_five_paths_are_a_login_and_five_reads(vault) -> None:
    for number in range(5):
        vault.put(str(number), {str(key): "v" for key in range(20)})
    configs = {f"{path}-{key}": f"${{vault:{vault.kv2}/{path}:{key}}}" for path in range(5) for key in range(20)}
    with opened(vault) as provider:
        ConfigTransformer({"vault": provider}).transform(configs)
        reads = [f"GET kv2/data/{number} 200" for number in range(5)]
        assert sorted(seen(vault)) == sorted(["POST auth/approle/login 200", *reads])


def test_mounts_of_several_names_below_one_are_each_found_once(vault) -> None:
    mounts = [f"team-{vault.kv2}/{name}/kv" for name in "ab"]
    configs = {}
    for mount in mounts:
        vault.admin.write_data(f"sys/mounts/{mount}", data={"type": "kv", "options": {"version": "1"}})
        for number in range(40):
            vault.admin.write_data(f"{mount}/{number}", data={"k": "v"})
            configs[f"{mount}{number}"] = f"${{vault:{mount}/{number}:k}}"
    try:
        with opened(vault) as provider:
            assert set(ConfigTransformer({"vault": provider}).transform(configs).data.values()) == {"v"}
            assert len(seen(vault)) <= 1 + 80 + 2 * 2 + 1
    finally:
        for mount in mounts:
            vault.admin.delete(f"sys/mounts/{mount}")
