from __future__ import annotations

import copy
import gc
import json
import pickle
import time
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_config_providers.core.reversal.reverse import (
    COMMON_WORDS,
    UNCHECKED,
    ReverseTransformer,
    reverse_bytes,
    reverse_object,
    reverse_text,
)
from airflow_config_providers.core.transformer import ConfigTransformer
from airflow_config_providers.core.variable import ConfigVariable
from airflow_config_providers.testing import InMemoryConfigProvider

PASSWORD = ConfigVariable("vault", "apps/db", "password")
TOKEN = ConfigVariable("vault", "apps/db", "token")
VALUE = "Zq8-s3cr3t/val+1"


def _reverser(*values, originals=None):
    """Return a reverser of ``values``, whose references are ${v:a}, ${v:b} and so on."""
    return ReverseTransformer(originals or {}, {ConfigVariable("v", "", chr(97 + i)): v for i, v in enumerate(values)})


# --- configurations ---------------------------------------------------------------------------------


def test_reversing_a_transformed_configuration_gives_the_original_back():
    configs = {
        "plain": "4g",
        "secret": "${vault:apps/db:password}",
        "url": "jdbc:postgresql://db/x?user=${vault:apps/db:user}&password=${vault:apps/db:password}",
    }
    provider = InMemoryConfigProvider({"apps/db": {"password": VALUE, "user": "u"}})
    result = ConfigTransformer({"vault": provider}).transform(configs)

    assert ReverseTransformer(configs, result.used).reverse(result.data) == configs


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(VALUE, "${v:a}", id="copied"),
        pytest.param(f"jdbc:derby:db;password={VALUE}", "jdbc:derby:db;password=${v:a}", id="inside-a-text"),
        pytest.param("pin7", "${v:b}", id="short-and-alone"),
        pytest.param("a pin7 b", "a pin7 b", id="short-inside-a-text"),
        pytest.param("secret", "${v:c}", id="common-and-alone"),
        pytest.param("the secret", "the secret", id="common-inside-a-text"),
        pytest.param("", "", id="empty"),
        pytest.param("4g", "4g", id="other"),
        pytest.param(["x", {"k": VALUE}], ["x", {"k": "${v:a}"}], id="nested"),
        pytest.param((VALUE, 1), ("${v:a}", 1), id="tuple"),
        pytest.param(VALUE.encode(), b"${v:a}", id="octets"),
        pytest.param(5432, 5432, id="number"),
        pytest.param(None, None, id="none"),
    ],
)
def test_values_under_other_keys_become_references(value, expected):
    reverser = _reverser(VALUE, "pin7", "secret", "")

    assert reverser.reverse({"spark.other": value}) == {"spark.other": expected}


def test_a_key_that_held_a_reference_gets_its_text_back_whatever_its_value_is_now():
    reverser = ReverseTransformer({"spark.x": "a-${vault:apps/db:password}"}, {PASSWORD: "pw"})

    assert reverser.reverse({"spark.x": "changed by the submit"}) == {"spark.x": "a-${vault:apps/db:password}"}


def test_a_key_without_a_reference_keeps_its_present_value():
    assert _reverser(VALUE, originals={"spark.x": "1"}).reverse({"spark.x": "2"}) == {"spark.x": "2"}


def test_what_cannot_be_walked_is_hidden_and_the_rest_is_not():
    circle = []
    circle.append(circle)

    assert _reverser(VALUE).reverse({"a": circle, "b": "c"}) == {"a": UNCHECKED, "b": "c"}


# --- texts ------------------------------------------------------------------------------------------


def test_a_text_without_values_is_given_back_itself():
    text = "nothing to see"

    assert _reverser(VALUE).reverse_text(text) is text


def test_the_first_of_two_references_with_one_value_stands_for_it_whatever_their_order():
    one = ReverseTransformer({}, {PASSWORD: VALUE, TOKEN: VALUE})
    other = ReverseTransformer({}, {TOKEN: VALUE, PASSWORD: VALUE})

    assert one.reverse_text(VALUE) == other.reverse_text(VALUE) == "${vault:apps/db:password}"


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        pytest.param("spark.app.token", "${vault:apps/db:token}", id="the-key-of-the-reference"),
        pytest.param("token", "${vault:apps/db:token}", id="the-bare-key"),
        pytest.param("spark.written", "${vault:apps/db:token}", id="the-key-it-was-written-under"),
        pytest.param("spark.other", "${vault:apps/db:password}", id="another-key"),
    ],
)
def test_of_two_references_with_one_value_the_one_whose_key_is_at_hand_stands_for_it(key, expected):
    reverser = ReverseTransformer({"spark.written": str(TOKEN)}, {PASSWORD: VALUE, TOKEN: VALUE})

    assert reverser.reverse({key: VALUE}) == {key: expected}


def test_a_reference_is_shown_as_it_was_written():
    variable = ConfigVariable("env", "", "PASSWORD", "${env::PASSWORD}")

    assert ReverseTransformer({}, {variable: VALUE}).reverse_text(VALUE) == "${env::PASSWORD}"


def test_a_reference_that_holds_a_value_is_left_alone():
    reverser = ReverseTransformer({}, {PASSWORD: VALUE, ConfigVariable("v", "", "x"): "apps/db"})

    once = reverser.reverse_text(f"apps/db {VALUE}")

    assert once == "${v:x} ${vault:apps/db:password}"
    assert reverser.reverse_text(once) == once


def test_a_reference_in_which_a_value_is_stays_also_if_another_has_the_same_value():
    inside = ConfigVariable("v", "", VALUE)
    reverser = ReverseTransformer({}, {PASSWORD: VALUE, inside: VALUE})

    assert reverser.reverse_text(f"{inside}: {VALUE}") == f"{inside}: ${{v:{VALUE}}}"


@pytest.mark.parametrize("name", ["u", "w"], ids=["before", "after"])
def test_each_reference_in_which_a_value_is_stays(name):
    one, other = ConfigVariable("v", "", VALUE), ConfigVariable(name, "", VALUE)

    assert ReverseTransformer({}, {one: VALUE, other: VALUE}).reverse_text(f"{one} {other}") == f"{one} {other}"


def test_a_value_of_spaces_only_is_not_searched_for_in_texts():
    assert _reverser("        ").reverse_text(f"a{' ' * 20}b") == f"a{' ' * 20}b"


SEVERAL_LINES = "-----BEGIN KEY-----\nZq8-s3\n{}\npassword\n-----END KEY-----\n"


def test_a_short_line_of_a_value_is_hidden_on_its_own():
    assert _reverser(SEVERAL_LINES).reverse_text("line Zq8-s3 is wrong") == "line ${v:a} is wrong"


@pytest.mark.parametrize("line", ["Zq8-s3cr3", "t/val+1"])
def test_each_of_two_lines_of_a_value_is_hidden_on_its_own(line):
    assert _reverser("Zq8-s3cr3\nt/val+1").reverse_text(f"line {line} is wrong") == "line ${v:a} is wrong"


@pytest.mark.parametrize("line", ["-----BEGIN KEY-----", "{}", "password", "-----END KEY-----"])
def test_a_line_of_a_value_that_reveals_nothing_is_left(line):
    assert _reverser(SEVERAL_LINES).reverse_text(f"line {line} is wrong") == f"line {line} is wrong"


def test_values_of_two_reversers_that_overlap_are_hidden_as_one():
    short, long = _reverser("abcdef"), _reverser("cdef-ghijkl")

    assert reverse_text("abcdef-ghijkl", (short, long)) == reverse_text("abcdef-ghijkl", (long, short)) == "${v:a}"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("1234567890", "${v:a}${w:b}", id="side by side"),
        pytest.param("x678901234567890", "x${w:b}${v:a}${w:b}", id="more than two"),
        pytest.param("12345\x1b[1m67890", "${v:a}\x1b[1m${w:b}", id="coloured"),
        pytest.param("12345&#54;7890", "${v:a}${w:b}", id="escaped"),
        pytest.param("9123456789077", "9123456789077", id="inside a longer number"),
    ],
)
def test_short_numbers_of_two_reversers_are_hidden_as_those_of_one(text, shown):
    one = {ConfigVariable("v", "", "a"): "12345"}, {ConfigVariable("w", "", "b"): "67890"}
    apart, together = [ReverseTransformer({}, each) for each in one], ReverseTransformer({}, one[0] | one[1])

    assert reverse_text(text, apart) == reverse_text(text, apart[::-1]) == together.reverse_text(text)
    assert reverse_text(text, apart) == shown


_NUMBERS = st.lists(st.text("12", min_size=5, max_size=8), min_size=1, max_size=3)


@given(_NUMBERS, _NUMBERS, st.data())
def test_two_reversers_of_numbers_hide_what_one_for_all_hides(some, others, data):
    pieces = st.sampled_from([*some, *others, " ", "0"])
    text = "".join(data.draw(st.lists(pieces, max_size=6)))
    apart = [ReverseTransformer({}, {}, hidden=hidden) for hidden in (some, others)]

    assert reverse_text(text, apart) == reverse_text(text, [ReverseTransformer({}, {}, hidden=[*some, *others])])


@pytest.mark.parametrize("value", [f"{VALUE}\n", f"  {VALUE} ", f"\t{VALUE}\r\n"], ids=repr)
def test_a_value_that_lost_its_blanks_is_hidden_in_every_encoding(value):
    assert _reverser(value).reverse_text(f"{VALUE} {quote(VALUE, safe='')}") == "${v:a} ${v:a}"


def test_a_line_of_a_value_is_hidden_in_json_that_is_cut_off():
    value = json.dumps({"user": "u", "key": VALUE, "more": 1}, indent=1)
    cut = json.dumps({"value": value})[:-12]

    assert VALUE not in _reverser(value).reverse_text(cut)


def test_lone_surrogates_pass():
    assert _reverser(VALUE, "\udcffpass").reverse_text(f"\ud800{VALUE}\udcffpass") == "\ud800${v:a}${v:b}"


def test_octets_that_are_no_text_pass():
    assert reverse_bytes(b"\xff\xfe" + VALUE.encode() + b"\x80", (_reverser(VALUE),)) == b"\xff\xfe${v:a}\x80"


def _is_searched_for(text):
    is_short_number = len(text) < 8 and text.isascii() and text.isdigit()
    return text.strip() and text.casefold() not in COMMON_WORDS and not is_short_number


@pytest.mark.parametrize("value", [310000451, 3.1000045, {"id": "application_1700010000123_0001"}])
def test_a_result_in_which_a_short_number_is_by_chance_stays_as_it_is(value):
    assert reverse_object(value, (_reverser("10000"),)) is value


@given(value=st.text(min_size=5).filter(_is_searched_for), data=st.data())
def test_no_value_is_left_in_any_text(value, data):
    before, after = data.draw(st.text(max_size=9)), data.draw(st.text(max_size=9))

    hidden = _reverser(value).reverse_text(before + value + after)

    assert value not in hidden.replace("${v:a}", "")


@given(st.text())
def test_a_text_without_forms_of_the_value_does_not_change(text):
    assert _reverser("\0\1" + VALUE).reverse_text(text) == text


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["a", "ab", VALUE[:-1], "${", "\n"])
def test_time_grows_linearly_with_the_text(unit):
    reverser = _reverser(VALUE, "aaaaa", "aaaaaaaaaa", "ababababab", "${${${${")
    reverser.reverse_text("built")

    def seconds(size):
        text = unit * (size // len(unit))
        return min(_elapsed(reverser, text) for _ in range(3))

    assert seconds(200_000) < 40 * seconds(20_000) + 0.05


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["a", " ", "aB3$", "key: aB3$xY9 \n"])
def test_time_grows_linearly_with_the_value(unit):
    def seconds(size):
        value = f"begin{unit * (size // len(unit))}end"
        return min(_elapsed(_reverser(value), f"<{value}>") for _ in range(3))

    assert seconds(200_000) < 40 * seconds(20_000) + 0.05


def _elapsed(reverser, text):
    started = time.thread_time()
    reverser.reverse_text(text)
    return time.thread_time() - started


# --- other objects ----------------------------------------------------------------------------------


class Shown:
    def __init__(self, text):
        self.text = text

    def __repr__(self):
        return f"<Shown {self.text}>"


class ShownOnlyAsText:
    def __str__(self):
        return f"shown {VALUE}"


class Broken:
    def __repr__(self):
        raise ValueError(VALUE)


class Lazy:
    """As a lazy proxy whose object cannot be made now."""

    @property
    def __class__(self):
        raise OSError(VALUE)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param({"k": [f"x{VALUE}"]}, {"k": ["x${v:a}"]}, id="nested"),
        pytest.param({VALUE: 1}, {"${v:a}": 1}, id="key"),
        pytest.param(bytearray(VALUE.encode()), b"${v:a}", id="bytearray"),
        pytest.param(memoryview(VALUE.encode()), b"${v:a}", id="memoryview"),
        pytest.param(Shown(VALUE), "<Shown ${v:a}>", id="repr"),
        pytest.param(ShownOnlyAsText(), "shown ${v:a}", id="str"),
        pytest.param(ValueError(VALUE), "${v:a}", id="exception"),
        pytest.param(47110815, "${v:b}", id="number"),
        pytest.param(type(VALUE, (), {})(), f"{__name__}.${{v:a}}", id="class-called-like-a-value"),
        pytest.param(Broken(), UNCHECKED, id="broken-repr"),
        pytest.param(Lazy(), UNCHECKED, id="broken-class"),
    ],
)
def test_an_object_that_shows_a_value_is_replaced(value, expected):
    assert reverse_object(value, (_reverser(VALUE, "47110815"),)) == expected


@pytest.mark.parametrize("value", [Shown("x"), 1, None, True, ["a", {"b": 1.5}], b"x"], ids=repr)
def test_an_object_that_shows_no_value_is_left_itself(value):
    assert reverse_object(value, (_reverser(VALUE),)) is value


# --- the reverser itself ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reverser", "expected"),
    [
        pytest.param(_reverser(VALUE), True, id="a-value"),
        pytest.param(_reverser("pin"), True, id="a-short-value"),
        pytest.param(ReverseTransformer({}, {}, hidden=["pin"]), True, id="a-value-without-a-reference"),
        pytest.param(_reverser(), False, id="no-reference"),
        pytest.param(_reverser(""), False, id="an-empty-value"),
        pytest.param(_reverser(originals={"k": VALUE}), False, id="originals-only"),
    ],
)
def test_it_is_true_when_there_is_something_to_hide(reverser, expected):
    assert bool(reverser) is expected


def test_it_does_not_show_its_values():
    reverser = _reverser(VALUE)
    reverser.reverse_text("built")

    assert VALUE not in f"{reverser} {reverser!r}"
    assert not hasattr(reverser, "__dict__")


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, pickle.dumps], ids=lambda how: how.__name__)
def test_it_is_not_copied(how):
    with pytest.raises(TypeError, match="holds secrets"):
        how(_reverser(VALUE))


def test_it_is_not_json():
    with pytest.raises(TypeError):
        json.dumps(_reverser(VALUE))


def test_what_was_forgotten_is_gone_and_the_originals_stay():
    reverser = ReverseTransformer({"spark.x": "${vault:apps/db:password}"}, {PASSWORD: VALUE})
    reverser.reverse_text(VALUE)

    reverser.forget()

    assert not reverser
    assert reverser.reverse_text(VALUE) == VALUE
    assert reverser.reverse({"spark.x": VALUE}) == {"spark.x": "${vault:apps/db:password}"}


def test_what_was_forgotten_is_held_no_longer():
    reverser = ReverseTransformer({}, {PASSWORD: VALUE}, hidden=["Yp7-0ther/w"])
    reverser.reverse({"password": VALUE})

    reverser.forget()

    assert not {VALUE, "Yp7-0ther/w"} & set(_strings_of(reverser))


def _strings_of(held, depth=4):
    """Yield the strings that an object holds, also in what it holds."""
    for one in gc.get_referents(held):
        if isinstance(one, str):
            yield one
        elif depth and not isinstance(one, type):
            yield from _strings_of(one, depth - 1)


def test_a_text_that_is_none_is_hidden():
    assert _reverser(VALUE).reverse_text(None) == UNCHECKED


def test_octets_that_are_none_are_hidden():
    assert reverse_bytes(None, (_reverser(VALUE),)) == UNCHECKED.encode()


def test_a_key_that_is_no_text_is_hidden_with_its_value():
    assert _reverser(VALUE).reverse({7: "x"}) == {UNCHECKED: UNCHECKED}


# --- values that changed ----------------------------------------------------------------------------


def test_values_that_references_had_before_are_hidden_too():
    now = ReverseTransformer({"spark.x": str(TOKEN)}, {PASSWORD: VALUE}, hidden=["Yp7-0ther/w"])
    earlier = ReverseTransformer({}, {PASSWORD: "Xo6-3arlier"}, hidden=["Wn5-h1dden"])

    both = now.knowing(earlier)

    assert (
        both.reverse_text(f"{VALUE} Yp7-0ther/w Xo6-3arlier Wn5-h1dden") == f"{PASSWORD} [hidden] {PASSWORD} [hidden]"
    )
    assert both.current == {PASSWORD: VALUE}
    assert both.reverse({"spark.x": "y"}) == {"spark.x": str(TOKEN)}


def test_of_many_values_the_last_ones_are_kept_and_the_first():
    values = [(PASSWORD, f"Zq8-s3cr3t-{number}") for number in (5, 4, 3, 2, 1)]
    many = ReverseTransformer.of_pairs([*values, (TOKEN, VALUE)], hidden=["Yp7-0ther/w"])

    recent = many.recent(2)

    assert set(recent.pairs) == {*values[:2], values[-1], (TOKEN, VALUE)}
    assert recent.current == {PASSWORD: "Zq8-s3cr3t-5", TOKEN: VALUE}
    assert recent.hidden == {"Yp7-0ther/w"}


def test_a_reference_has_changed_if_it_has_another_value_now():
    before = ReverseTransformer({}, {PASSWORD: VALUE, TOKEN: VALUE})
    now = ReverseTransformer({}, {PASSWORD: "Xo6-later", TOKEN: VALUE})

    assert before.changed_from(now) == now.changed_from(before) == {PASSWORD}


def test_a_reference_that_only_one_has_did_not_change():
    both, one = ReverseTransformer({}, {PASSWORD: VALUE, TOKEN: VALUE}), ReverseTransformer({}, {TOKEN: VALUE})

    assert both.changed_from(one) == one.changed_from(both) == set()


def test_a_value_that_no_reference_stands_for_is_hidden():
    reverser = ReverseTransformer({}, {ConfigVariable("v", "", "k"): "Zq8-s3cr3t/v"}, hidden=["Yp7-0ther/w", ""])

    assert reverser.reverse_text("a Yp7-0ther/w b Zq8-s3cr3t/v") == "a [hidden] b ${v:k}"
    assert reverser.reverse({"k": "", "l": "Yp7-0ther/w"}) == {"k": "", "l": "[hidden]"}
