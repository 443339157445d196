"""Which references the author of a template wrote, and which came with what filled it in."""

from __future__ import annotations

import itertools
import re
import sys
import traceback

import jinja2
import pytest
import yaml
from airflow.sdk.definitions._internal.templater import NativeEnvironment, SandboxedEnvironment
from airflow.sdk.definitions.context import render_template
from jinja2.ext import Extension

from airflow_config_providers.core.variable import scan
from airflow_config_providers.job.template_references import Templates, brought_problem, filled_in

REFERENCE = "${vault:apps/db:password}"

WRITTEN = [
    pytest.param(REFERENCE, REFERENCE, id="as written"),
    pytest.param("plain", "plain", id="none"),
    pytest.param("${no provider:x} ${'a', 'b': {1}}", "${no provider:x} ${'a', 'b': {1}}", id="odd and literal"),
    pytest.param("{{ p }}", "apps/db", id="none came"),
    pytest.param(f"{REFERENCE} {{{{ p }}}}", f"{REFERENCE} apps/db", id="beside data"),
    pytest.param("${vault:{{ p }}:password}", REFERENCE, id="path"),
    pytest.param("${vault:apps/db:{{ key }}}", REFERENCE, id="key"),
    pytest.param("${vault:{{ p }}:{{ key }}}", REFERENCE, id="path and key"),
    pytest.param("${vault:{{ p ~ ':password' }}}", REFERENCE, id="path and key in one"),
    pytest.param("${va{{ end }}:apps/db:password}", REFERENCE, id="end of the provider"),
    pytest.param("${vault_{{ env }}:apps/db:password}", "${vault_dev:apps/db:password}", id="environment in its name"),
    pytest.param("${vault:{{ p | replace(':', '/') }}:password}", REFERENCE, id="a colon in an expression"),
    pytest.param("{{ '${vault:' ~ p ~ ':password}' }}", REFERENCE, id="put together in an expression"),
    pytest.param("{{ '${vault:%s:password}' % p }}", REFERENCE, id="percent"),
    pytest.param("{{ '${vault:%s:password}' | format(p) }}", REFERENCE, id="format filter"),
    pytest.param("{{ '${vault:P:password}' | replace('P', p) }}", REFERENCE, id="replace in the author's"),
    pytest.param("{{ 'R' | replace('R', '${vault:apps/db:password}') }}", REFERENCE, id="replace by the author's"),
    pytest.param("{{ '  ${vault:apps/db:password} ' | trim }}", REFERENCE, id="trim"),
    pytest.param("{{ {'dev': '${file:a:b}', 'prod': '${vault:apps/db:password}'}['prod'] }}", REFERENCE, id="dict"),
    pytest.param("{{ {'p': '${vault:apps/db:password}'} | tojson }}", f'{{"p": "{REFERENCE}"}}', id="tojson"),
    pytest.param("{{ missing | default('${vault:apps/db:password}') }}", REFERENCE, id="default"),
    pytest.param("{{ conf.get('p', '${vault:apps/db:password}') }}", REFERENCE, id="get"),
    pytest.param("{{ none or '${vault:apps/db:password}' }}", REFERENCE, id="or"),
    pytest.param("{{ '${vault:apps/db:password}' if yes else '${file:a:b}' }}", REFERENCE, id="inline if"),
    pytest.param("{% if yes %}${vault:apps/db:password}{% else %}${file:a:b}{% endif %}", REFERENCE, id="if"),
    pytest.param("{% if no %}${file:a:b}{% else %}${vault:apps/db:password}{% endif %}", REFERENCE, id="else"),
    pytest.param("${vault:{% if no %}a:b}{% else %}apps/db:password}{% endif %}", REFERENCE, id="ends in a branch"),
    pytest.param("{% if yes %}${vault:{% else %}x{% endif %}{{ p }}:password}", REFERENCE, id="begins in a branch"),
    pytest.param("${vault:{% for s in ['apps', '/db'] %}{{ s }}{% endfor %}:password}", REFERENCE, id="for"),
    pytest.param("{% raw %}${vault:apps/db:password}{% endraw %}", REFERENCE, id="raw"),
    pytest.param("{% set r = '${vault:apps/db:password}' %}{{ r }}", REFERENCE, id="set"),
    pytest.param("{% set r %}${vault:{{ p }}:password}{% endset %}{{ r }}", REFERENCE, id="set block"),
    pytest.param("{% macro m(k) %}${vault:apps/db:{{ k }}}{% endmacro %}{{ m('password') }}", REFERENCE, id="macro"),
    pytest.param("{% filter trim %}  ${vault:apps/db:password} {% endfilter %}", REFERENCE, id="filter block"),
    pytest.param("${HOME} ${vault:{{ p }}:password}", f"${{HOME}} {REFERENCE}", id="beside a shell's variable"),
    pytest.param("{{ '${vault:' }}{{ p }}:password}", REFERENCE, id="opened in an expression"),
    pytest.param("${vault:{{ p }}:{{ 'password' }}{{ '}' }}", REFERENCE, id="closed in an expression"),
    pytest.param("{% set r = '${vault:' ~ p %}{{ r }}:password}", REFERENCE, id="opened in a set"),
    pytest.param("{{ '${vault:{p}:password}' | replace('{p}', p) }}", REFERENCE, id="a placeholder in braces"),
    pytest.param("{{ '${a:{b}' }}", "${a:{b}", id="one brace in a key"),
    pytest.param("{{ '${vault:apps/db:password}' | truncate(140) }}", REFERENCE, id="truncate"),
    pytest.param("{% if no %}${file:{% else %}${vault:{% endif %}{{ p }}:password}", REFERENCE, id="two openings"),
    pytest.param("${vault:{{ p }}{% if yes %}:{{ key }}{% endif %}}", REFERENCE, id="a colon in a branch"),
    pytest.param("${vault:apps{% if no %}:{{ key }}{% endif %}}", "${vault:apps}", id="no colon in a branch"),
    pytest.param(
        "${vault:{% for s in [p, key] %}{{ s }}:{% endfor %}x}", f"{REFERENCE[:-1]}:x}}", id="colons in a for"
    ),
    pytest.param("${vault:a{% for s in 'pp' %}{{ s }}{% endfor %}s/d{{ 'b' }}:{{ key }}}", REFERENCE, id="pieces"),
    pytest.param("${vault:{% for s in 'ab' %}-{{ s }}.{% endfor %}}", "${vault:-a.-b.}", id="text in a for"),
    pytest.param("{{ '${vault:{s}apps/db:password}' | replace('{s}', '') }}", REFERENCE, id="an empty placeholder"),
    pytest.param("${A:-${B:-/}} {{ p }}", "${A:-${B:-/}} apps/db", id="a shell's default in a default"),
    pytest.param("${A: ${vault:{{ p }}:password}", "${A: ${vault:apps/db:password}", id="after one that is not closed"),
    pytest.param("${file:/a/../{{ env }}/{{ end }}..x:k}", "${file:/a/../dev/ult..x:k}", id="a step up"),
    pytest.param("{{ '${file:%s/../b:k}' % env }}", "${file:dev/../b:k}", id="a step up in an expression"),
    pytest.param("${file:a:../{{ env }}}", "${file:a:../dev}", id="dots in a key"),
    pytest.param("${file:/a/{{ env }}/{{ end }}/../../b:k}", "${file:/a/dev/ult/../../b:k}", id="steps up over data"),
    pytest.param("${file:../../{{ env }}:k}", "${file:../../dev:k}", id="steps up first"),
    pytest.param("{% set b = '/a/..' %}${file:{{ b }}/{{ env }}:k}", "${file:/a/../dev:k}", id="a step up that is set"),
    pytest.param("${file:{{ {'dev': '/a/../dev'}[env] }}/f:k}", "${file:/a/../dev/f:k}", id="a step up that is chosen"),
    pytest.param("{% for d in ['/a/../b'] %}${file:{{ d }}:k}{% endfor %}", "${file:/a/../b:k}", id="one in a loop"),
    pytest.param("${vault:{{ p }}?version={{ n }}:k}", "${vault:apps/db?version=1:k}", id="a version"),
    pytest.param("${vault:{{ 'a?version=1' if yes }}:k}", "${vault:a?version=1:k}", id="a version that is chosen"),
    pytest.param("${vault:a:{{ '?' ~ key }}}{{ odd }}", "${vault:a:?password}?", id="a question mark elsewhere"),
    pytest.param("${vault:a:{{ odd }}}", "${vault:a:?}", id="a question mark from data in a key"),
    pytest.param("{{ '${vault:apps/db:password}' | length }}", "25", id="looked at"),
    pytest.param("{{ '${vault:apps/db:password}'.ljust(30) }}|", f"{REFERENCE}     |", id="padded"),
    pytest.param("{% if '${' in x %}no{% endif %}", "no", id="searched for"),
    pytest.param("${vault:apps/db:{{ 'password' if '?' in odd else 'b' }}}", REFERENCE, id="a question mark in data"),
    pytest.param("${vault:apps/db:{{ 'b' if '?' not in odd else 'password' }}}", REFERENCE, id="one not in data"),
    pytest.param("${vault:apps/db:{{ 'password' if odd == '?' else 'b' }}}", REFERENCE, id="one that data equals"),
    pytest.param("${vault:apps/db:{{ 'password' if '..' in dots else 'b' }}}", REFERENCE, id="a step up in data"),
    pytest.param("${vault:{{ p }}:{{ before(key ~ odd) }}}", REFERENCE, id="split by a macro"),
    pytest.param("{{ now() }} {{ '${vault:apps/db:password}' }}", None, id="beside what differs at each call"),
]


def fill_in(template, *, native=False, environment=None, **context):
    """Fill in a template as Airflow does."""
    environment = environment or (NativeEnvironment if native else SandboxedEnvironment)()
    return filled_in(
        lambda env: render_template(env.from_string(template), context, native=native), environment, template=template
    )


@pytest.mark.parametrize(("template", "expected"), WRITTEN)
def test_what_the_author_wrote_is_the_authors(template, expected):
    context = {"conf": {}, "end": "ult", "env": "dev", "key": "password", "now": itertools.count(1000).__next__}
    context |= {"dots": "a..b", "before": lambda text: text.partition("?")[0]}
    found = fill_in(template, x=REFERENCE, p="apps/db", n=1, odd="?", yes=True, no=False, **context)

    assert found.is_written()
    assert found.value == expected or template.startswith("{{ now() }}")
    assert not re.search(r"\d{5}", found.value)


class Unmarked(SandboxedEnvironment):
    """Cannot fill in anything with marks."""

    def overlay(self, *args, **kwargs):
        raise AssertionError("marks are made")


def test_a_text_without_a_template_is_filled_in_once_and_without_marks():
    found = fill_in(f"{REFERENCE} {{a}}\r\n", environment=Unmarked())

    assert found.value == f"{REFERENCE} {{a}}\n".removesuffix("\n")
    assert found.written == (found.value,)


class Inserting(Extension):
    """Puts a template where there was none."""

    def preprocess(self, source, name, filename=None):
        return source.replace("@x@", "{{ x }}")


@pytest.mark.parametrize(
    ("template", "environment"),
    [
        pytest.param(
            "<< x >>", SandboxedEnvironment(variable_start_string="<<", variable_end_string=">>"), id="variable"
        ),
        pytest.param(
            "# for n in [x]\n{{ n }}\n# endfor", SandboxedEnvironment(line_statement_prefix="#"), id="line statement"
        ),
        pytest.param("@x@", SandboxedEnvironment(extensions=[Inserting]), id="extension"),
    ],
)
def test_attack_56_what_another_syntax_brought_is_not_the_authors(template, environment):
    found = fill_in(template, environment=environment, x=REFERENCE)

    assert REFERENCE in found.value
    assert not found.is_written()


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        pytest.param("['${vault:apps/db:password}', {{ n }}]", [REFERENCE, 7], id="list"),
        pytest.param("{'a': ('${vault:{{ p }}:password}', 1)}", {"a": (REFERENCE, 1)}, id="nested"),
        pytest.param("{{ {'a': '${vault:apps/db:password}'} }}", {"a": REFERENCE}, id="of an expression"),
        pytest.param("{{ ['${vault:%s:password}' % p, n] }}", [REFERENCE, 7], id="put together"),
        pytest.param("b'${vault:apps/db:password}'", REFERENCE.encode(), id="bytes"),
        pytest.param("{'a': '${HOME', 'b': 'x}'}", {"a": "${HOME", "b": "x}"}, id="braces apart"),
        pytest.param("{'a': '12:30', 'b': '${HOME}'}", {"a": "12:30", "b": "${HOME}"}, id="no reference"),
        pytest.param("{{ none }}", None, id="nothing"),
    ],
)
def test_a_native_template_becomes_the_same_object(template, expected):
    found = fill_in(template, native=True, p="apps/db", n=7)

    assert found.value == expected
    assert found.is_written()


def test_a_native_template_with_what_is_no_reference_keeps_its_type():
    found = fill_in("{'cmd': 'echo ${A:', 'n': {{ 3 }}}", native=True)

    assert found.value == {"cmd": "echo ${A:", "n": 3}


def test_what_a_recursive_loop_gives_back_is_looked_at_without_marks():
    inner = "{% if x is iterable %}{{ loop(x) | length }} ${a:{% else %}${b:c}{% endif %}"
    template = "{% for x in [[1]] recursive %}" + inner + "{% endfor %}"

    assert fill_in(template).value == "6 ${a:"


def test_a_native_template_tells_its_strings_apart():
    found = fill_in("['${vault:apps/db:password}', '{{ x }}']", native=True, x=REFERENCE)

    assert found.value == [REFERENCE, REFERENCE]
    assert [text is found.value[0] for text in found.written] == [True]


def test_a_native_template_tells_its_strings_apart_beside_bytes():
    found = fill_in("['${vault:apps/db:password}', '{{ x }}', b'${a:b}']", native=True, x=REFERENCE)

    assert found.value == [REFERENCE, REFERENCE, b"${a:b}"]
    assert [text is found.value[0] for text in found.written] == [True]


def test_all_of_a_file_without_a_template_is_the_authors():
    found = filled_in(lambda env: env.from_string("${no provider:x}").render(), SandboxedEnvironment())

    assert found.written == ("${no provider:x}",)


BROUGHT = [
    pytest.param("{{ x }}", id="came"),
    pytest.param(f"{REFERENCE} {{{{ x }}}}", id="one more came"),
    pytest.param("${vault:apps/db:{{ ending }}}", id="key that ends the reference and begins another"),
    pytest.param("${vault:{{ shift }}:k}", id="path with a colon where the author wrote both"),
    pytest.param("${vau{{ shift }}:apps/db:password}", id="name with a colon"),
    pytest.param("${vau{{ shift }}:password}", id="name with a colon before the author's only one"),
    pytest.param("{{ joined('${vault:apps/db:pass:word}') }}", id="a colon in a key that a function replaces"),
    pytest.param("{{ joined('${vault::password}') }}", id="the second colon that a function replaces"),
    pytest.param("${{ '{' ~ tail }}", id="all but the dollar"),
    pytest.param("{{ '${' ~ tail }}", id="all but the opening"),
    pytest.param("{{ '${vault:' ~ p ~ end }}", id="closed by data"),
    pytest.param("${vault:apps/db{{ end }}", id="key and closing"),
    pytest.param("{{ begin }}:apps/db:password}", id="opened by data"),
    pytest.param("{{ begin }}{{ ':apps/db:password}' }}", id="opened by data before a literal"),
    pytest.param("${HOME} {{ x }}", id="a shell's variable beside it"),
    pytest.param("${HOME:-/} {{ x }}", id="one with a default"),
    pytest.param("${{ x }}", id="a dollar before a template"),
    pytest.param("${% if x %}{{ x }}{% endif %}", id="a dollar before a block"),
    pytest.param("{{ '$' }}{{ x[1:] }}", id="in two parts"),
    pytest.param("{% if no %}${vault:a:b}{% else %}{{ x }}{% endif %}", id="unused branch"),
    pytest.param("{% if yes %}{{ x }}{% else %}${vault:a:b}{% endif %}", id="unused else"),
    pytest.param("{{ x if yes else '${vault:a:b}' }}", id="unused inline else"),
    pytest.param("{# ${vault:a:b} #}{{ x }}", id="comment"),
    pytest.param("{{ x | default('${vault:a:b}') }}", id="default"),
    pytest.param("{{ x or '${vault:a:b}' }}", id="or"),
    pytest.param("{{ conf.get('p', '${vault:a:b}') }}", id="get with a default"),
    pytest.param("{{ x | replace('${vault:a:b}', '') }}", id="replace"),
    pytest.param("{{ '${vault:a:b}' | replace('${vault:a:b}', x) }}", id="replace in a literal"),
    pytest.param("{% set r = '${vault:a:b}' %}{{ x }}", id="set and unused"),
    pytest.param("{% set r %}{{ x }}{% endset %}{{ r if r else '${vault:a:b}' }}", id="set block"),
    pytest.param("{% macro m() %}${vault:a:b}{% endmacro %}{{ x }}", id="unused macro"),
    pytest.param("{% for r in [x, '${vault:a:b}'] %}{% if loop.first %}{{ r }}{% endif %}{% endfor %}", id="for"),
    pytest.param("{{ ['${vault:a:b}', x] | last }}", id="list"),
    pytest.param("{{ {'x': x, 'y': '${vault:a:b}'}['x'] }}", id="dict"),
    pytest.param("{{ x if x == '${vault:apps/db:password}' else 'no' }}", id="equal to a literal"),
    pytest.param("{{ x if '${' in x else 'no' }}", id="looked through"),
    pytest.param("{{ x if '${vault:a:b}' != x else 'no' }}", id="unlike a literal"),
    pytest.param("{{ '%s' % x }} {{ '${vault:a:b}' | length }}", id="format"),
    pytest.param("{{ ['${vault:a:b}', '{}'] | last | replace('{}', x) }}", id="data in a format"),
    pytest.param("{{ forged }}", id="a mark that was guessed"),
    pytest.param("{{ rendered('${vault:apps/db:password}') if no else rendered(x) }}", id="template in data"),
    pytest.param("{{ '${vault:a:b}'[:0] }}{{ x }}", id="nothing of a literal"),
    pytest.param("{{ whole if yes else '${vault:a:b}' }}", id="the template's own text as data"),
    pytest.param("${file:/a/{{ up }}/b:k}", id="a step up in a path"),
    pytest.param("${file:/a/../{{ up }}/b:k}", id="a step up after the author's"),
    pytest.param("${file:/a/.{{ dot }}/b:k}", id="half of a step up"),
    pytest.param("{{ '${file:/a/%s:k}' % up }}", id="a step up in an expression"),
    pytest.param("${file:/a/{{ nothing }}/../b:k}", id="a step up over nothing"),
    pytest.param("${file:/a/{{ dot }}/../b:k}", id="a step up over the same directory"),
    pytest.param("${file:/a/{{ nothing }}/{{ p }}/../../../b:k}", id="more steps up than names"),
    pytest.param("${file:/a/{{ nothing }}../b:k}", id="dots that become a step up"),
    pytest.param("${file:/a/..{{ slash }}b:k}", id="dots that data makes a step up"),
    pytest.param("${vault:secret/{{ pinned }}:k}", id="a version"),
    pytest.param("{{ '${vault:secret/%s:k}' % pinned }}", id="a version in an expression"),
    pytest.param("${vault:secret/{{ pinned }}?version=2:k}", id="a version before the author's"),
]


@pytest.mark.parametrize("native", [False, True], ids=["text", "native"])
@pytest.mark.parametrize("template", BROUGHT)
def test_attack_56_what_data_brought_is_not_the_authors(template, native):
    @jinja2.pass_environment
    def rendered(env, text):
        return env.from_string(text).render()

    context = {
        "x": REFERENCE,
        "p": "apps/db",
        "yes": True,
        "no": False,
        "conf": {"p": REFERENCE},
        "whole": template,
        "shift": "lt:other",
        "tail": REFERENCE[2:],
        "end": ":password}",
        "begin": "${vault",
        "up": "x/..",
        "dot": ".",
        "nothing": "",
        "slash": "/x/",
        "pinned": "db?version=1",
        "ending": "a} ${vault:b",
        "rendered": rendered,
        "joined": lambda text: "_".join(text.rsplit(":", 1)),
        "forged": "${" + "0" * 29 + "vault:" + "0" * 29 + "a:b}" + "0" * 29,
    }
    found = fill_in(template, native=native, **context)

    assert scan(str(found.value))
    assert not found.is_written()
    assert found.written == ()


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        pytest.param("${file:/a/{{ up }}/b:k}", True, id="a step up"),
        pytest.param("${vault:secret/{{ pinned }}:k}", True, id="a version"),
        pytest.param("${file:/a/{{ p }}/b:k}", False, id="none"),
        pytest.param("{{ x }}", False, id="another's reference"),
    ],
)
def test_a_reference_with_a_step_up_or_a_version_from_data_is_redirected(template, expected):
    found = fill_in(template, x=REFERENCE, p="apps/db", up="x/..", pinned="db?version=1")

    assert found.is_redirected is expected


@pytest.mark.parametrize(
    ("template", "is_told"),
    [
        pytest.param("${vault:{{ u.split('?')[0] }}:k}", True, id="a question mark"),
        pytest.param("${vault:{{ u | replace('..', '') }}:k}", True, id="a step up"),
        pytest.param("${vault:a?version=1:{{ u }}} {{ x }}", False, id="outside of expressions"),
        pytest.param("{{ u", False, id="no template"),
    ],
)
def test_an_error_about_a_template_that_looks_for_signs_says_to_use_a_macro(template, is_told):
    problem = brought_problem("conf['a']", template=template)

    assert problem.endswith("let a macro of the DAG do that.") == is_told


@pytest.mark.parametrize(
    "template",
    [
        pytest.param("['${vault:{{ a }}:innocent}', '${vault:public:{{ b }}}']", id="another's closing"),
        pytest.param("['${vault:{{ a }}:innocent}', '${vault:{{ b }}}']", id="another's with one colon"),
        pytest.param(
            "[{% for x, y in [(a, 'k'), ('p', b)] %}'${vault:{{ x }}:{{ y }}}',{% endfor %}]",
            id="its own, of another turn",
        ),
        pytest.param("['${vault:{{ a }}:in-{{ b }}}']", id="its own second colon"),
        pytest.param("['${vault:{{ a }}-public{{ b }}}']", id="the middle of a key"),
        pytest.param("['${vault:{{ a }}/{% if true %}public/{% endif %}{{ b }}}']", id="text in a branch"),
        pytest.param("{{ '[' }}'${vault:{{ a }}:innocent}', '${vault:public:{{ b }}{{ '}' }}']", id="in expressions"),
    ],
)
def test_attack_56_data_in_a_native_template_hides_nothing_that_the_author_wrote(template):
    found = fill_in(template, native=True, a="prod/db:password' #", b="\n'")

    assert found.value == ["${vault:prod/db:password}"]
    assert not found.is_written()


def test_the_work_grows_with_the_number_of_references_and_no_faster():
    def work(number):
        template = "{% for k in range(" + str(number) + ") %}${vault:apps/db:{{ k }}},{% endfor %}"
        return _instructions(lambda: fill_in(template))

    assert work(400) < 5 * work(100)


def _instructions(call):
    """Count what Python does in ``call``."""
    done, former = itertools.count(), sys.gettrace()

    def trace(frame, event, argument):
        frame.f_trace_opcodes = True
        next(done)
        return trace

    try:
        sys.settrace(trace)
        call()
    finally:
        sys.settrace(former)
    return next(done)


class DoomedError(Exception):
    """Raised by a function in a template, with what it was given."""


def test_attack_19_an_error_of_a_template_shows_no_mark():
    def fail(text):
        raise DoomedError(text)

    with pytest.raises(DoomedError, match=re.escape(REFERENCE)) as raised:
        fill_in("{{ fail('${vault:apps/db:password}') }}", fail=fail)

    assert not re.search(r"\d{20}", "".join(traceback.format_exception(raised.value)))


def test_a_function_is_called_once_where_it_cannot_see_a_mark():
    calls = itertools.count()
    fill_in("${vault:{{ next() }}:password}{% if true %} {{ p }}{% endif %}", next=calls.__next__, p=1)

    assert next(calls) == 1


def test_what_a_function_keeps_has_no_mark_where_the_template_has_no_reference_left():
    kept = {}
    fill_in("{{ kept.update(a='${vault:apps/db:password}') }}", kept=kept)

    assert kept == {"a": REFERENCE}


def test_what_a_function_is_given_first_has_no_mark():
    given = []
    found = fill_in("{{ given.append('${vault:a:b}') or '' }}{{ 'x' ~ '${vault:a:b}' }}", given=given)

    assert found.value == "x${vault:a:b}"
    assert given[0] == "${vault:a:b}"


def test_templates_that_are_kept_as_bytecode_hold_no_mark(tmp_path):
    (tmp_path / "job.sql").write_text("{% include 'part.sql' %}")
    (tmp_path / "part.sql").write_text("${vault:{{ p }}:password}")
    cache = jinja2.FileSystemBytecodeCache(str(tmp_path))
    environment = SandboxedEnvironment(loader=jinja2.FileSystemLoader(tmp_path), bytecode_cache=cache)
    found = [filled_in(lambda env: env.get_template("job.sql").render(p="apps/db"), environment) for _ in range(2)]

    assert environment.get_template("job.sql").render(p="apps/db") == REFERENCE
    assert [one.value for one in found] == [REFERENCE, REFERENCE]
    assert all(one.is_written() for one in found)


def test_attack_56_what_a_template_became_is_data_when_it_is_filled_in_again():
    def fill(templates, text, **context):
        environment = SandboxedEnvironment()
        return templates.fill_in(text, lambda env: env.from_string(text).render(context), environment)

    first = Templates()
    brought = fill(first, "{{ x }}", x=r"{{ '\x24{vault:apps/db:password}' }}")
    written = fill(first, "${vault:{{ p }}:password}", p="apps/db")
    second = Templates(former=first)

    assert not second.is_written(fill(second, brought))
    assert second.is_written(fill(second, written))


@pytest.mark.parametrize("escaped", [r"\u0024{vault:apps/db:password}", r"${vault:apps/db\u003apassword}"])
def test_attack_56_a_parser_makes_no_reference_of_data(escaped):
    found = fill_in('a: "${vault:apps/db:password}"\nb: "{{ x }}"', x=escaped).parsed(yaml.safe_load)

    assert found.value == {"a": REFERENCE, "b": REFERENCE}
    assert [text is found.value["a"] for text in found.written] == [True]
