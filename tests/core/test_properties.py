from __future__ import annotations

import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import javaproperties
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_config_providers.core.properties import Property, dump, parse
from airflow_config_providers.exceptions import ConfigException

TEXT = st.text(st.characters(exclude_categories=["Cs"]))


def entries(text: str) -> list[tuple[str, str]]:
    return [(entry.key, entry.value) for entry in parse(text, name="jobs.properties")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", [], id="empty text"),
        pytest.param("a=b", [("a", "b")], id="equals sign"),
        pytest.param("a:b", [("a", "b")], id="colon"),
        pytest.param("a b", [("a", "b")], id="blank"),
        pytest.param("a\tb\na\fb", [("a", "b"), ("a", "b")], id="tab and form feed"),
        pytest.param("a \t = \f b", [("a", "b")], id="blanks around one separator"),
        pytest.param("a==b\na=:b", [("a", "=b"), ("a", ":b")], id="only one separator is eaten"),
        pytest.param("a\n=b\n:", [("a", ""), ("", "b"), ("", "")], id="empty key or value"),
        pytest.param("  a=b \t ", [("a", "b \t ")], id="leading blanks go, trailing stay"),
        pytest.param("a=1\na=2", [("a", "1"), ("a", "2")], id="repeated keys are kept in order"),
        pytest.param("#a\n !b=c\\\nd=e", [("d", "e")], id="comments are not continued"),
        pytest.param("a=b # c", [("a", "b # c")], id="no comment inside a line"),
        pytest.param("a=b\\\n   c\\\r\n\td\\\r e", [("a", "bcde")], id="continued over every line end"),
        pytest.param("a=b\\\\\nc", [("a", "b\\"), ("c", "")], id="even number of backslashes ends the line"),
        pytest.param("a=b\\\n\nc", [("a", "b"), ("c", "")], id="continued by a blank line"),
        pytest.param("a=b\\\n#c", [("a", "b#c")], id="continued by what looks like a comment"),
        pytest.param("\\\n#c\na=b", [("a", "b")], id="comment after a line with only a backslash"),
        pytest.param("\\\n\na=b", [("a", "b")], id="blank line after a line with only a backslash"),
        pytest.param("\\\n  a=b", [("a", "b")], id="entry after a line with only a backslash"),
        pytest.param("\\", [("", "")], id="only a backslash"),
        pytest.param("a=b\\", [("a", "b")], id="backslash at the end"),
        pytest.param(r"a=\t\n\r\f\q\:", [("a", "\t\n\r\fq:")], id="escapes"),
        pytest.param(r"a\ b\=\:=c", [("a b=:", "c")], id="escaped separators"),
        pytest.param(r"a=\u0041\u00e9", [("a", "Aé")], id="unicode escapes"),
        pytest.param(r"a=\ud83d\ude00", [("a", "😀")], id="two surrogates are one character"),
        pytest.param("a=x\x85y\u2028z\x0bw\x1cv", [("a", "x\x85y\u2028z\x0bw\x1cv")], id="no line ends"),
        pytest.param("a\x0bb=c", [("a\x0bb", "c")], id="vertical tab is no blank"),
        pytest.param("\ufeffa=b", [("\ufeffa", "b")], id="byte order mark"),
        pytest.param("a=${file:/x:y}", [("a", "${file:/x:y}")], id="reference"),
    ],
)
def test_text_is_read_as_java_reads_it(text: str, expected: list[tuple[str, str]]) -> None:
    assert entries(text) == expected


def test_entries_know_the_line_they_begin_on() -> None:
    text = "# comment\r\na=1\r\n\rb=2\\\n  3\nc=4"
    assert parse(text, name="x") == [Property("a", "1", 2), Property("b", "23", 4), Property("c", "4", 6)]


def test_a_property_does_not_show_its_value() -> None:
    assert "hunter2" not in repr(Property("password", "hunter2", 1))


@pytest.mark.parametrize("escape", ["\\u", "\\u12", "\\u12g4", "\\u 123", "\\u-123", "\\u123"])
def test_malformed_unicode_escape_is_an_error(escape: str) -> None:
    with pytest.raises(ConfigException, match=r"^jobs\.properties:2: \\u must be followed"):
        parse(f"a=b\nc={escape}", name="jobs.properties")


def test_every_malformed_line_is_named() -> None:
    with pytest.raises(ConfigException) as caught:
        parse("a=\\ux\nb=fine\nc=\\uy", name="jobs.properties")
    assert [problem.split(": ")[0] for problem in caught.value.problems] == ["jobs.properties:1", "jobs.properties:3"]


def test_an_error_holds_nothing_of_the_line() -> None:
    with pytest.raises(ConfigException) as caught:
        parse("password=hunter2\\uhunter2", name="jobs.properties")
    assert "hunter2" not in str(caught.value)
    assert caught.value.__cause__ is caught.value.__context__ is None


@pytest.mark.slow
@pytest.mark.parametrize("line", ["a\\\n", "\\\n", "\\", " ", "a=b\n", "\\u0041", "\\ "])
def test_time_grows_in_line_with_the_text(line: str) -> None:
    assert seconds(line * 40_000) < 12 * max(seconds(line * 10_000), 0.001)


def seconds(text: str) -> float:
    def once() -> float:
        start = time.process_time()
        parse(text, name="x")
        return time.process_time() - start

    return min(once() for _ in range(3))


@pytest.mark.parametrize(
    ("configs", "expected"),
    [
        pytest.param({}, "", id="nothing"),
        pytest.param({"b": "2", "a": "1"}, "a=1\nb=2\n", id="sorted by key"),
        pytest.param({"a b=c:d": "x"}, r"a\ b\=c\:d=x" + "\n", id="separators in a key"),
        pytest.param({"#a": "!b"}, r"\#a=\!b" + "\n", id="comment signs"),
        pytest.param({"a": "x\ny\r\tz\f"}, r"a=x\ny\r\tz\f" + "\n", id="line ends"),
        pytest.param({"a": "C:\\x"}, r"a=C\:\\x" + "\n", id="backslash"),
        pytest.param({"a": "é\u2028😀"}, r"a=\u00e9\u2028\ud83d\ude00" + "\n", id="beyond ASCII"),
        pytest.param({"a": "  x "}, "a=\\  x \n", id="leading blank"),
        pytest.param({"": ""}, "=\n", id="empty key and value"),
    ],
)
def test_dump_writes(configs: dict[str, str], expected: str) -> None:
    assert dump(configs) == expected


@given(st.dictionaries(TEXT, TEXT))
def test_what_is_dumped_is_read_back(configs: dict[str, str]) -> None:
    assert dict(entries(dump(configs))) == configs


@given(st.dictionaries(TEXT, TEXT))
def test_a_dump_is_ascii(configs: dict[str, str]) -> None:
    assert dump(configs).isascii()


BLANKS = st.text(alphabet="ab=: \t\f#!'", max_size=8)


@given(BLANKS)
def test_a_line_without_escapes_is_read_as_the_library_reads_it(line: str) -> None:
    entries = [(entry.key, entry.value) for entry in parse(line, name="x")]

    assert entries == javaproperties.loads(line, object_pairs_hook=list)


ASCII = st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=126))


@given(st.dictionaries(TEXT, TEXT))
def test_a_dump_is_what_the_library_writes(configs: dict[str, str]) -> None:
    assert dump(configs) == javaproperties.dumps(configs, timestamp=None, sort_keys=True)


@given(st.dictionaries(ASCII, ASCII))
def test_a_dump_of_printable_ascii_is_what_the_library_writes(configs: dict[str, str]) -> None:
    assert dump(configs) == javaproperties.dumps(configs, timestamp=None, sort_keys=True)


@pytest.mark.parametrize(
    "code",
    ["parse('spark.app.token=s3cr3t/+@ x', name='x')", r"dump({'spark.redaction.regex': ' (?i:a\\W|[=#!]b)'})"],
    ids=["reading without escapes", "writing printable ASCII"],
)
def test_what_nearly_every_task_does_does_not_import_the_library(code: str) -> None:
    imports = "import sys; from airflow_config_providers.core.properties import dump, parse; "
    script = f"{imports}{code}; print('javaproperties' in sys.modules)"

    assert subprocess.check_output([sys.executable, "-c", script], text=True) == "False\n"


@pytest.fixture(scope="module")
def java(errors_of_py4j_itself):
    from py4j import java_gateway as gateway

    if shutil.which("java") is None:
        pytest.skip("there is no java on the PATH")
    jars = Path(pytest.importorskip("pyspark").__file__).parent / "jars"
    jar = next(jars.glob("py4j-*.jar"))
    port = gateway.launch_gateway(jarpath=str(jar), die_on_exit=True)
    connection = gateway.JavaGateway(gateway_parameters=gateway.GatewayParameters(port=port))
    yield connection.jvm
    connection.shutdown()


def read_by(java, text: str) -> dict[str, str] | None:
    from py4j.protocol import Py4JJavaError

    properties = java.java.util.Properties()
    try:
        properties.load(java.java.io.StringReader(text))
    except Py4JJavaError:
        return None
    return dict(properties)


def read_here(text: str) -> dict[str, str] | None:
    try:
        return dict(entries(text))
    except ConfigException:
        return None


@pytest.mark.slow
@pytest.mark.differential
def test_parse_agrees_with_java(java) -> None:
    pieces = [*"\\\\\\\n\n\r \t\f=:#!abun\x0b\x85\u2028\ufeffé😀\0", "\r\n", "\\u0041", "\\ud83d\\ude00", "\\u00"]
    source = random.Random(20_000)
    texts = ["".join(source.choices(pieces, k=source.randint(0, 12))) for _ in range(1_500)]
    joined = [text for text in texts if "\\\\ud83d" not in text]  # would be half a pair, which the gateway cannot carry
    assert [text for text in joined if read_here(text) != read_by(java, text)] == []


@pytest.mark.differential
def test_attack_54_java_reads_back_every_byte_of_a_dump(java) -> None:
    odd = [" ", "  x  ", "a=b:c", "#!", "\n\r\t\f\0\x7f", "\\", "\\u0041", "é\x85\u2028😀", "${file:/a:b}", ""]
    configs = dict(zip(odd, reversed(odd), strict=True)) | {f"k{i}": value for i, value in enumerate(odd)}
    assert read_by(java, dump(configs)) == configs
