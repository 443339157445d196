"""Providers are opened once in a process and kept, until their definitions change or the process ends."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from airflow_config_providers.airflow_compat import AirflowSecretsBackendAccessDenied
from airflow_config_providers.exceptions import ProviderUnavailableError
from airflow_config_providers.secrets.process_state import SharedProviders, state
from tests.limits import LONGEST
from tests.secrets.conftest import BACKEND

TEXT = "${book:db:password}"


@pytest.fixture
def secret(shelf):
    shelf.book.data = {"db": {"password": "p4ssword"}}
    return shelf


def test_all_questions_share_what_is_open(secret):
    for _ in range(3):
        backend = secret.backend({"db": f"x://u:{TEXT}@h"}, {"v": TEXT})  # as Airflow 3.2 does, one for each question
        assert backend.get_connection("db").password == backend.get_variable("v") == "p4ssword"

    assert secret.book.opened == [os.getpid()]
    assert secret.book.closed == 0


class Outrun:
    """Definitions that another thread has used by the time that the first one, which has found nothing open, opens."""

    def __init__(self, definitions, overtake):
        self._definitions = definitions
        self._overtake = overtake
        self._is_first = True

    def __str__(self):
        if self._is_first:  # SharedProviders names what it is about to open
            self._is_first = False
            self._overtake()
        return "definitions"

    def state(self):
        return "always the same"

    def read(self):
        return self._definitions


def test_a_thread_that_finds_nothing_open_opens_nothing_that_another_one_has_opened_meanwhile(secret):
    def use():
        with shared.use() as providers:
            return providers["book"].get("db", None).data["password"]

    with ThreadPoolExecutor(1) as pool:
        definitions = Outrun(secret.providers, lambda: pool.submit(use).result(LONGEST))
        shared = SharedProviders(definitions)
        assert use() == "p4ssword"

    assert secret.book.opened == [os.getpid()]
    assert secret.book.closed == 0


def test_other_definitions_are_other_providers(secret):
    first = secret.backend(variables={"v": TEXT})
    other = secret.backend(variables={"v": TEXT}, providers_file=secret.providers_file())

    assert first.get_variable("v") == other.get_variable("v")
    assert len(secret.book.opened) == 2


def test_a_changed_definition_opens_anew_and_closes_the_former(secret):
    backend = secret.backend(variables={"v": TEXT}, providers_file=secret.providers_file())
    backend.get_variable("v")
    secret.providers_file(revision="another")

    assert backend.get_variable("v") == "p4ssword"
    assert (len(secret.book.opened), secret.book.closed) == (2, 1)


def test_the_former_stay_open_for_who_still_asks_them(secret):
    """A thread is in the middle of an answer while the definitions change."""
    asked, go_on = threading.Event(), threading.Event()
    seen = []

    def slow(path):
        if path == "slow":
            asked.set()
            assert go_on.wait(LONGEST)
            seen.append(secret.book.closed)

    secret.book.on_get = slow
    secret.book.data["slow"] = {"password": "late"}
    file = secret.providers_file()
    backend = secret.backend(variables={"v": TEXT, "slow": "${book:slow:password}"}, providers_file=file)

    with ThreadPoolExecutor(1) as pool:
        late = pool.submit(backend.get_variable, "slow")
        assert asked.wait(LONGEST)
        secret.providers_file(revision="another")
        backend.get_variable("v")
        go_on.set()
        assert late.result() == "late"

    assert seen == [0]
    assert secret.book.closed == 1


def test_a_definition_that_breaks_is_unavailable_until_it_is_mended(secret):
    backend = secret.backend(variables={"v": TEXT}, providers_file=secret.providers_file())
    backend.get_variable("v")
    secret.write("providers.properties", "config.providers=book")
    with pytest.raises(AirflowSecretsBackendAccessDenied, match=r"config.providers.book.class is missing"):
        backend.get_variable("v")
    (secret.folder / "providers.properties").unlink()
    with pytest.raises(AirflowSecretsBackendAccessDenied, match="cannot be read"):
        backend.get_variable("v")
    secret.providers_file(revision="mended")

    assert backend.get_variable("v") == "p4ssword"


def test_what_could_not_be_opened_is_tried_again_at_the_next_question(secret):
    errors = [ProviderUnavailableError("The library burns.")]
    secret.book.on_open = lambda: raise_(errors.pop()) if errors else None
    backend = secret.backend(variables={"v": TEXT})
    with pytest.raises(AirflowSecretsBackendAccessDenied, match="library burns"):
        backend.get_variable("v")

    assert backend.get_variable("v") == "p4ssword"


def test_a_provider_whose_first_opening_never_ends_is_opened_for_the_next_question(secret, monkeypatch):
    begun, let_go = threading.Event(), threading.Event()

    def hang_once():
        if not begun.is_set():
            begun.set()
            let_go.wait()

    secret.book.on_open = hang_once
    backend = secret.backend(variables={"v": TEXT})
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__RESOLVE_TIMEOUT", "1")
    with pytest.raises(AirflowSecretsBackendAccessDenied, match="gave no answer within"):
        backend.get_variable("v")
    begun.wait()
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__RESOLVE_TIMEOUT", str(int(LONGEST)))

    assert backend.get_variable("v") == "p4ssword"
    let_go.set()


def test_a_definition_that_is_wrong_is_in_the_way_of_its_own_references_alone(secret):
    broken = {"config.providers": "book, vault", "config.providers.vault.class": "vault"}
    texts = {"v": TEXT, "w": "${vault:a:b}", "x": f"{TEXT}${{vault:a:b}}"}
    backend = secret.backend(variables=texts, providers={**secret.providers, **broken})

    assert backend.get_variable("v") == "p4ssword"
    for name in ("w", "x"):
        with pytest.raises(AirflowSecretsBackendAccessDenied, match=r"Provider vault: .*The address is missing"):
            backend.get_variable(name)


def test_threads_that_need_different_providers_open_each_once(secret):
    backend = secret.backend(variables={"v": TEXT, "w": TEXT.replace("book", "other")})

    with ThreadPoolExecutor(16) as pool:
        assert set(pool.map(backend.get_variable, ["v", "w"] * 8)) == {"p4ssword"}
    assert len(secret.book.opened) == 2


def raise_(error):
    raise error


def test_classes_that_are_not_allowed_are_refused(secret, monkeypatch):
    monkeypatch.delenv("AIRFLOW__CONFIG_PROVIDERS__ALLOWED_PROVIDER_CLASSES")

    with pytest.raises(AirflowSecretsBackendAccessDenied, match="is not an allowed class"):
        secret.backend(variables={"v": TEXT}).get_variable("v")


def test_a_provider_must_be_told_what_it_may_read(shelf):
    providers = {"config.providers": "f", "config.providers.f.class": "file"}

    with pytest.raises(AirflowSecretsBackendAccessDenied, match=r"f\.param\.allowed\.paths is missing"):
        shelf.backend(variables={"v": "${f:/etc/passwd:x}"}, providers=providers).get_variable("v")


def test_closing_the_state_closes_them_and_the_next_question_opens_them(secret):
    backend = secret.backend(variables={"v": TEXT})
    backend.get_variable("v")
    state().close()

    assert secret.book.closed == 1
    assert backend.get_variable("v") == "p4ssword"


END = """
import os, sys
from tests.secrets.books import BOOKS, Book
from airflow_config_providers.secrets.config_providers import ConfigProvidersBackend

BOOKS["b"] = book = Book({"db": {"password": "x"}})
definition = {"config.providers": "b", "config.providers.b.class": "tests.secrets.books.BookProvider",
              "config.providers.b.param.book": "b"}
class Loud(list):
    def append(self, item): print("opened", flush=True)
book.opened = Loud()
type(book).closed = property(lambda self: 0, lambda self, value: print("closed", flush=True))
assert ConfigProvidersBackend(variables_file_path=sys.argv[1], providers=definition).get_variable("v") == "x"
print("ends", flush=True)
"""


def test_they_are_closed_when_the_process_ends(secret, run_python):
    secret.write("variables.yaml", {"v": TEXT.replace("book", "b")})

    assert run_python(END, str(secret.folder / "variables.yaml")).splitlines() == ["opened", "ends", "closed"]


@pytest.mark.parametrize("first", [BACKEND.rpartition(".")[0], "airflow.configuration"])
def test_airflow_can_load_the_backend_whoever_is_imported_first(secret, run_python, first):
    """Airflow makes its backend while its configuration is imported."""
    kwargs = '{"variables_file_path": "/nowhere"}'
    script = "import importlib, sys; importlib.import_module(sys.argv[1]); print('imported')"
    environ = {"AIRFLOW__SECRETS__BACKEND": BACKEND, "AIRFLOW__SECRETS__BACKEND_KWARGS": kwargs}

    assert run_python(script, first, **environ).splitlines() == ["imported"]
