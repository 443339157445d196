"""A provider that needs what this backend serves with that provider: found and named, and never looped."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest
from airflow.sdk import Connection
from airflow.sdk.exceptions import AirflowNotFoundException

from airflow_config_providers.airflow_compat import AirflowSecretsBackendAccessDenied
from airflow_config_providers.exceptions import AccessDeniedError, ProviderDefinitionError
from airflow_config_providers.secrets import answering
from tests.limits import LONGEST


@pytest.fixture
def airflow(shelf, configure):
    """Paths of the book are connections: ``${book:vault_default:password}`` asks Airflow for ``vault_default``."""

    def ask(path):
        password = Connection.get(path).password
        shelf.book.data[path] = {"password": password}

    def install(connections, **settings):
        configure(shelf.settings(connections, **settings))
        shelf.book.on_get = ask
        return shelf

    return install


def test_a_connection_without_references_may_serve_the_provider(airflow):
    airflow({"vault_default": "vault://u:plain@h", "db": "mysql://u:${book:vault_default:password}@h"})

    assert Connection.get("db").password == "plain"


def test_a_chain_of_connections_is_no_circle(airflow):
    airflow({"a": "x://u:${book:b:password}@h", "b": "x://u:${book:c:password}@h", "c": "x://u:end@h"})

    assert Connection.get("a").password == "end"


def test_a_connection_that_needs_itself_is_named(airflow):
    airflow({"vault_default": "vault://u:${book:vault_default:password}@h"})

    with pytest.raises(
        AirflowSecretsBackendAccessDenied,
        match="connection vault_default -> provider book -> connection vault_default",
    ):
        Connection.get("vault_default")


@pytest.mark.parametrize("length", [2, 3, 10, 15])
def test_a_circle_of_any_length_is_named_in_full(airflow, length):
    names = [f"c{number}" for number in range(length)]
    airflow({name: f"x://u:${{book:{names[(i + 1) % length]}:password}}@h" for i, name in enumerate(names)})
    steps = " -> ".join(f"connection {name} -> provider book" for name in names)

    with pytest.raises(AirflowSecretsBackendAccessDenied, match=f"{steps} -> connection c0"):
        Connection.get("c0")


def test_a_circle_behind_a_connection_that_is_none_is_named(airflow):
    airflow({"db": "x://u:${book:a:password}@h", "a": "x://u:${book:a:password}@h"})

    with pytest.raises(
        AirflowSecretsBackendAccessDenied, match="connection db -> provider book -> connection a -> provider"
    ):
        Connection.get("db")


def test_a_circle_is_found_through_the_threads_of_a_lookup(airflow):
    """Two paths are read side by side, in threads of their own."""
    text = "x://${book:b:password}:${other:a:password}@h"
    airflow({"a": text, "b": "x://u:p@h"})

    with pytest.raises(AirflowSecretsBackendAccessDenied, match="connection a -> provider other -> connection a"):
        Connection.get("a")


@pytest.mark.parametrize("hidden", [True, False], ids=["answers-all-the-same", "as-if-missing"])
def test_a_provider_that_hides_the_error_hides_no_circle(airflow, hidden):
    shelf = airflow({"a": "x://u:${book:a:password}@h"})

    def ask(path):
        try:
            Connection.get(path)
        except PermissionError:
            shelf.book.data = {path: {"password": "guessed"}} if hidden else {}

    shelf.book.on_get = ask

    with pytest.raises(AirflowSecretsBackendAccessDenied, match="connection a -> provider book -> connection a"):
        Connection.get("a")


def test_a_provider_that_needs_it_to_open_is_named(airflow):
    shelf = airflow({"vault_default": "vault://u:${book:x:y}@h"})
    shelf.book.on_open = lambda: Connection.get("vault_default")

    with pytest.raises(
        AirflowSecretsBackendAccessDenied,
        match="connection vault_default -> opening provider book -> connection vault_default",
    ):
        Connection.get("vault_default")


def test_a_provider_may_need_a_plain_one_to_open(airflow):
    shelf = airflow({"vault_default": "vault://u:plain@h", "db": "x://u:${book:vault_default:password}@h"})
    shelf.book.on_open = lambda: Connection.get("vault_default")

    assert Connection.get("db").password == "plain"


PAIR = {"of_book": "x://u:${book:x:y}@h", "of_other": "x://u:${other:x:y}@h"}


def needing(shelf, **connections):
    """Return definitions of providers that ask Airflow for a connection when they open."""
    shelf.book.on_need = Connection.get
    return shelf.providers | {f"config.providers.{name}.param.needs": conn for name, conn in connections.items()}


def test_a_provider_may_need_what_another_provider_answers_to_open(airflow, shelf):
    """As Vault needs ``vault_default``, whose token is in the environment, and which is in the same file."""
    shelf = airflow(
        {"vault_default": "vault://u:${other:t:token}@h", "db": "x://u:${book:db:password}@h"},
        providers=needing(shelf, book="vault_default"),
    )
    shelf.book.data = {"t": {"token": "t0ken"}, "db": {"password": "p4ssword"}}
    tokens = []
    shelf.book.on_get = lambda path: None
    shelf.book.on_need = lambda name: tokens.append(Connection.get(name).password)

    assert Connection.get("db").password == "p4ssword"
    assert tokens == ["t0ken"]


def test_vaults_own_connection_is_in_the_same_file_with_its_token_in_the_environment(
    shelf, configure, vault, monkeypatch
):
    vault.put("apps/warehouse", {"password": "p4ssword"})
    monkeypatch.setenv("VAULT_LOGIN_TOKEN", vault.token(f"{vault.kv2}/data/apps/*"))
    definitions = {
        "config.providers": "env, vault",
        "config.providers.env.class": "env",
        "config.providers.env.param.allowlist.pattern": "VAULT_LOGIN_TOKEN",
        "config.providers.vault.class": "vault",
        "config.providers.vault.param.conn_id": "vault_default",
    }
    connections = {
        "vault_default": f"{vault.address.replace('http://', 'vault://:${env:VAULT_LOGIN_TOKEN}@')}",
        "warehouse": f"postgresql://report:${{vault:{vault.kv2}/apps/warehouse:password}}@db.example:5432/flights",
    }
    configure(shelf.settings(connections, providers=definitions))

    assert Connection.get("warehouse").password == "p4ssword"


def test_two_providers_that_need_each_other_to_open_are_named(airflow, shelf):
    airflow(PAIR, providers=needing(shelf, book="of_other", other="of_book"))

    with pytest.raises(
        AirflowSecretsBackendAccessDenied,
        match="connection of_book -> opening provider book -> connection of_other -> opening provider other -> "
        "connection of_book",
    ):
        Connection.get("of_book")


def test_two_providers_of_one_connection_that_need_each_other_to_open_are_named(airflow, shelf):
    """They are opened side by side, and neither waits for the other."""
    airflow(PAIR | {"db": "x://${book:x:y}:${other:x:y}@h"}, providers=needing(shelf, book="of_other", other="of_book"))

    with pytest.raises(AirflowSecretsBackendAccessDenied, match=r"connection db -> opening provider .* -> connection"):
        Connection.get("db")


def test_two_providers_of_one_connection_are_opened_where_one_needs_the_other(airflow, shelf):
    airflow(
        {"vault_default": "vault://u:${other:t:token}@h", "db": "x://${other:db:user}:${book:db:password}@h"},
        providers=needing(shelf, book="vault_default"),
    )
    shelf.book.data = {"t": {"token": "t0ken"}, "db": {"user": "me", "password": "p4ssword"}}
    shelf.book.on_get = lambda path: None

    assert (Connection.get("db").login, Connection.get("db").password) == ("me", "p4ssword")


def test_two_threads_that_open_such_a_pair_from_both_ends_both_find_it(airflow, shelf):
    """Neither waits for what the other opens, which would be for ever."""
    both = threading.Barrier(2, timeout=LONGEST)
    waited = threading.local()
    airflow(PAIR, providers=needing(shelf, book="of_other", other="of_book"))

    def wait_once(name):
        if not getattr(waited, "done", False):
            waited.done = True
            both.wait()
        return Connection.get(name)

    shelf.book.on_need = wait_once

    def start(name):
        with pytest.raises(AirflowSecretsBackendAccessDenied, match=f"connection {name} -> .* -> connection {name}"):
            Connection.get(name)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(start, ["of_book", "of_other"]))


def test_definitions_may_stand_in_a_connection_that_this_backend_serves(airflow, shelf):
    airflow(
        {
            "config_providers_default": {"conn_type": "config_providers", "extra": shelf.providers},
            "vault_default": "vault://u:plain@h",
            "db": "x://u:${book:vault_default:password}@h",
        },
        conn_id="config_providers_default",
    )

    assert Connection.get("db").password == "plain"


def test_definitions_that_need_their_own_providers_are_named(airflow, shelf):
    extra = {**shelf.providers, "note": "${book:x:y}"}
    airflow(
        {"cp": {"conn_type": "config_providers", "extra": extra}, "db": "x://u:${book:vault:password}@h"}, conn_id="cp"
    )

    with pytest.raises(
        AirflowSecretsBackendAccessDenied, match="connection db -> the providers of connection cp -> connection cp"
    ):
        Connection.get("db")


def test_definitions_in_a_connection_that_is_not_there_are_unavailable(airflow):
    airflow({"db": "x://u:${book:vault:password}@h"}, conn_id="nowhere")

    with pytest.raises(AirflowSecretsBackendAccessDenied, match="connection 'nowhere'"):
        Connection.get("db")


def test_asking_side_by_side_is_no_circle(airflow):
    """Sixteen threads ask for connections that need the same third one."""
    names = [f"db{number}" for number in range(16)]
    airflow({"v": "vault://u:plain@h", **dict.fromkeys(names, "x://u:${book:v:password}@h")})

    with ThreadPoolExecutor(16) as pool:
        assert {c.password for c in pool.map(Connection.get, names)} == {"plain"}


def test_two_threads_that_start_a_circle_at_its_two_ends_both_find_it(airflow):
    """Neither waits for the other's answer, which would be for ever."""
    shelf = airflow({"a": "x://u:${book:b:password}@h", "b": "x://u:${book:a:password}@h"})
    both = threading.Barrier(2, timeout=LONGEST)
    first, ask = threading.local(), shelf.book.on_get

    def wait_once(path):
        if not getattr(first, "waited", False):
            first.waited = True
            both.wait()
        ask(path)

    shelf.book.on_get = wait_once

    def start(name):
        with pytest.raises(AirflowSecretsBackendAccessDenied, match=f"connection {name} -> .* -> connection {name}"):
            Connection.get(name)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(start, "ab"))


def test_what_another_backend_serves_under_the_same_name_is_no_circle(shelf):
    """The provider uses a second backend with its own files."""
    behind = shelf.backend(connections_file_path=shelf.write("behind.yaml", {"db": "x://u:deep@h"}))

    def ask(path):
        shelf.book.data = {path: {"password": behind.get_connection(path).password}}

    shelf.book.on_get = ask

    assert shelf.backend({"db": "x://u:${book:db:password}@h"}).get_connection("db").password == "deep"


def test_after_a_circle_all_is_as_before(airflow):
    airflow({"a": "x://u:${book:a:password}@h", "b": "x://u:p@h", "c": "x://u:${book:b:password}@h"})
    with pytest.raises(AirflowSecretsBackendAccessDenied):
        Connection.get("a")

    assert Connection.get("c").password == "p"
    with pytest.raises(AirflowNotFoundException):
        Connection.get("d")


def test_a_trail_that_is_far_too_long_ends():
    def deeper(number):
        with answering.step(f"connection {number}", identity=number):
            deeper(number + 1)

    with pytest.raises(ProviderDefinitionError, match=r"connection 0 -> connection 1 -> .* -> connection 40"):
        deeper(0)


def test_an_error_that_is_no_circle_stays_what_it_is():
    with pytest.raises(AccessDeniedError, match="closed"), answering.step("a", identity="a"), answering.step("b"):
        raise AccessDeniedError("closed")


def test_connections_whose_needs_double_with_each_step_are_refused_before_their_threads_fill_the_machine(airflow):
    """Each of these needs the next one from two providers, so the last would be needed 131,072 times."""
    names = [f"c{number}" for number in range(18)]
    needs = {name: f"x://${{book:{after}:password}}:${{other:{after}:password}}@h" for name, after in pairwise(names)}
    airflow({**needs, names[-1]: "x://u:p@h"})

    with pytest.raises(AirflowSecretsBackendAccessDenied, match="on too many others: connection c0 -> provider"):
        Connection.get("c0")


def test_a_connection_may_need_hundreds_of_others(airflow):
    extra = {f"k{number}": f"${{book:c{number}:password}}" for number in range(300)}
    others = {f"c{number}": "x://u:p@h" for number in range(300)}
    airflow({**others, "db": {"conn_type": "x", "extra": extra}})

    assert set(Connection.get("db").extra_dejson.values()) == {"p"}
