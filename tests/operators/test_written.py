"""Which references stand in a DAG, and which came with what a template filled in."""

from __future__ import annotations

import pytest

from airflow_config_providers.operators.nested_texts import Text
from airflow_config_providers.operators.written import WrittenReferences, is_written

REFERENCE = "${vault:apps/db:password}"
CASES = [
    pytest.param(REFERENCE, REFERENCE, True, id="as written"),
    pytest.param("plain", "plain", True, id="none"),
    pytest.param("{{ x }}", "plain", True, id="none came"),
    pytest.param("{{ x }}", REFERENCE, False, id="came"),
    pytest.param(f"{REFERENCE} {{{{ x }}}}", f"{REFERENCE} plain", True, id="beside what came"),
    pytest.param(f"{REFERENCE} {{{{ x }}}}", f"{REFERENCE} {REFERENCE}", False, id="one more came"),
    pytest.param("${vault:apps/{{ x }}:password}", REFERENCE, True, id="path filled in"),
    pytest.param("${vault:apps/db:{{ x }}}", "${vault:apps/db:a} ${vault:b}", False, id="path that ends the reference"),
    pytest.param("${va{{ x }}:apps/db:password}", REFERENCE, True, id="name of the provider filled in"),
    pytest.param("{{ '${vault:' ~ x ~ '}' }}", REFERENCE, True, id="written inside a template"),
    pytest.param("${HOME} {{ x }}", f"${{HOME}} {REFERENCE}", False, id="a shell's variable beside it"),
    pytest.param("${HOME:-/} {{ x }}", f"${{HOME:-/}} {REFERENCE}", False, id="one with a default"),
    pytest.param("${{ x }}", REFERENCE, False, id="a dollar before a template"),
    pytest.param("${% if x %}{{ x }}{% endif %}", REFERENCE, False, id="a dollar before a block"),
    pytest.param("{{ '$' }}{{ x }}", REFERENCE, False, id="in two parts"),
    pytest.param("{% if x %}${file:a:b}{% else %}{{ y }}{% endif %}", REFERENCE, False, id="another provider's"),
]


@pytest.mark.parametrize(("before", "after", "expected"), CASES)
def test_attack_11_a_reference_that_a_template_brought_is_not_written(before, after, expected):
    assert is_written(after, before=before) is expected


def test_attack_11_a_text_that_nobody_wrote_has_no_reference():
    written = WrittenReferences([Text("a", REFERENCE)])

    assert written.cover(Text("a", REFERENCE))
    assert not written.cover(Text("b", REFERENCE))
    assert written.with_texts([Text("b", REFERENCE)]).cover(Text("b", REFERENCE))
