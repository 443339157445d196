"""Which strings of an entry are resolved."""

from __future__ import annotations

import logging
import time

import pytest

from airflow_config_providers.airflow_compat import AirflowSecretsBackendAccessDenied
from airflow_config_providers.core.diagnosis import Severity
from airflow_config_providers.secrets.entry_files import lines_of, place_of
from airflow_config_providers.secrets.resolution import texts

CANARY = "c4nary-Zq8"
FILES = {
    "yaml": ("a.yaml", f"good: mysql://h\n# here\nbad:\n  conn_typ: {CANARY}\n", 3),
    "json": ("a.json", f'{{\n "good": "mysql://h",\n "bad": {{"conn_typ": "{CANARY}"}}\n}}', 3),
    "env": ("a.env", f'good=mysql://h\n\nbad={{"conn_typ": "{CANARY}"}}\n', 3),
}


class Compared(str):
    """A string that counts how often it is compared with another."""

    __slots__ = ()
    count = 0

    def __eq__(self, other: object) -> bool:
        Compared.count += 1
        return super().__eq__(other)

    __hash__ = str.__hash__


def test_a_string_is_not_compared_with_all_others() -> None:
    found = texts({f"k{number}": Compared(f"${{vault:a:{number}}}") for number in range(100)}, "variable x")

    assert len(found) == 100
    assert Compared.count < 100


def test_a_string_that_is_there_twice_is_resolved_once() -> None:
    assert texts({"a": "${vault:a:b}", "b": ["${vault:a:b}"]}, "variable x") == {"variable x, a": "${vault:a:b}"}


@pytest.mark.parametrize(("file", "content", "line"), FILES.values(), ids=FILES)
def test_the_error_of_a_wrong_entry_names_its_file_and_line(shelf, file, content, line):
    path = shelf.write(file, content)

    with pytest.raises(AirflowSecretsBackendAccessDenied) as caught:
        shelf.backend(connections_file_path=path).get_connection("bad")

    assert str(caught.value).endswith(f"The connection is defined in {path}:{line}.")
    assert CANARY not in str(caught.value)


def test_the_error_of_an_unknown_provider_names_the_file_and_the_line(shelf):
    path = shelf.write("v.yaml", "a: b\ntoken: ${bok:db:token}\n")

    with pytest.raises(AirflowSecretsBackendAccessDenied) as caught:
        shelf.backend(variables_file_path=path).get_variable("token")

    assert str(caught.value).endswith(f"The variable is defined in {path}:2.")


def test_the_warning_about_a_missing_key_names_the_file_and_the_line(shelf, caplog):
    path = shelf.write("v.yaml", "token: ${book:db:token}\n")

    with caplog.at_level(logging.WARNING):
        shelf.backend(variables_file_path=path).get_variable("token")

    assert f"The variable is defined in {path}:1." in caplog.text


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        pytest.param("a.yaml", "x: 1\ny: 2\nx: 3\n", ":3", id="the-last-of-two"),
        pytest.param("a.yaml", "y: {x: 1}\n", "", id="not-at-the-top"),
        pytest.param("a.yaml", "- x\n", "", id="a-list"),
        pytest.param("a.yaml", "x: [\n", "", id="malformed"),
        pytest.param("a.json", '{\t"x": 1}', "", id="a-tab"),
    ],
)
def test_a_line_is_named_if_it_can_be_found(shelf, name, content, expected):
    path = shelf.write(name, content)

    assert place_of(path, "x", lines_of(path)) == f"{path}{expected}"


def test_a_file_that_is_too_large_to_look_into_has_no_line(shelf):
    path = shelf.write("a.env", f"x=1\n#{'y' * 1024 * 1024}")

    assert place_of(path, "x", lines_of(path)) == path


def test_a_file_that_is_gone_has_no_line(tmp_path):
    path = str(tmp_path / "gone.yaml")

    assert place_of(path, "x", lines_of(path)) == path


def examined(backend):
    return [f"{one.severity.value}: {one.what}" for one in backend.diagnose()]


def test_an_examination_of_good_files_says_what_they_define(shelf):
    settings = shelf.settings({"db": "mysql://u:${book:db:password}@h", "off": None}, {"v": "a"})

    assert examined(shelf.backend(**settings)) == [
        f"ok: '{settings['connections_file_path']}' defines 2 connections.",
        f"ok: '{settings['variables_file_path']}' defines 1 variable.",
    ]
    assert shelf.book.calls == []


def test_an_examination_finds_every_wrong_entry_with_its_place(shelf):
    path = shelf.write("c.yaml", f"a:\n  conn_typ: {CANARY}\nb: mysql://h:many/s\nc: mysql://u:${{bok:db:p}}@h\n")

    found = [one for one in shelf.backend(connections_file_path=path).diagnose() if one.severity is Severity.ERROR]

    assert [one.what.partition(": ")[0] for one in found] == [
        f"connection {name} in {path}:{n}" for name, n in (("a", 1), ("b", 3), ("c", 4))
    ]
    assert found[0].way_out == "Correct its name, or move it to extra."
    assert "names the unknown provider 'bok', did you mean 'book'?" in found[2].what
    assert CANARY not in str(found)


def test_an_examination_of_many_wrong_entries_takes_time_linear_in_their_number(shelf):
    def seconds(count):
        path = shelf.write(f"{count}.yaml", "".join(f"c{n}:\n  conn_typ: x\n" for n in range(count)))
        backend = shelf.backend(connections_file_path=path)
        start = time.process_time()
        assert sum(one.severity is Severity.ERROR for one in backend.diagnose()) == count
        return time.process_time() - start

    seconds(50)
    assert min(seconds(400) for _ in range(2)) < 24 * min(seconds(50) for _ in range(2))


def test_an_examination_finds_a_file_that_cannot_be_read_and_goes_on(shelf):
    files = [str(shelf.folder / "gone.yaml"), shelf.write("b.yaml", {"b": "mysql://h"})]

    assert examined(shelf.backend(connections_file_path=files)) == [
        f"error: {files[0]} cannot be read: there is no such file.",
        f"ok: '{files[1]}' defines 1 connection.",
    ]


def test_an_examination_finds_definitions_that_are_wrong_once(shelf):
    providers = {"config.providers": "book", "config.providers.book.class": "bok"}
    backend = shelf.backend({}, {"a": "${book:db:a}", "b": "${book:db:b}"}, providers=providers)

    errors = [text for text in examined(backend) if text.startswith("error")]

    assert len(errors) == 1
    assert "config.providers.book.class" in errors[0]


def test_an_examination_leaves_out_the_files_of_teams(shelf):
    (found,) = examined(shelf.backend(variables_file_path="/x/{team_name}.yaml"))

    assert found == "ok: '/x/{team_name}.yaml' is the path of each team's own file, which is not checked here."


def test_an_examination_finds_that_there_is_no_file(shelf):
    (found,) = examined(shelf.backend())

    assert found == "error: The backend has no files."
