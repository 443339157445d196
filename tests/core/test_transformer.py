"""Replacing references by values."""

from __future__ import annotations

import threading
from collections import UserDict
from traceback import walk_tb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_config_providers.core.lookup import FetchOptions
from airflow_config_providers.core.provider import BatchConfigProvider, ConfigData, ConfigProvider
from airflow_config_providers.core.transformer import ConfigTransformer, Limits
from airflow_config_providers.core.variable import ConfigVariable
from airflow_config_providers.exceptions import (
    AccessDeniedError,
    ConfigException,
    LimitExceededError,
    ProviderLookupError,
    ProviderUnavailableError,
)
from airflow_config_providers.testing import InMemoryConfigProvider
from tests.limits import LONGEST


@pytest.fixture
def vault():
    return InMemoryConfigProvider(
        {"db": {"user": "ann", "password": "s3cret", "empty": ""}, "": {"k": "root"}}, ttl=500
    )


@pytest.fixture
def transformer(vault):
    return ConfigTransformer({"vault": vault})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("${vault:db:password}", "s3cret", id="whole"),
        pytest.param("${vault:db:user}:${vault:db:password}@h", "ann:s3cret@h", id="several"),
        pytest.param("<${vault:k}>", "<root>", id="no-path"),
        pytest.param("[${vault:db:empty}]", "[]", id="an-empty-value-is-a-value"),
        pytest.param("${vault:db:nope}", "${vault:db:nope}", id="missing-key-stays"),
        pytest.param("${other:db:user}", "${other:db:user}", id="unknown-provider-stays"),
        pytest.param("${vault:db:user}${x}", "ann${x}", id="no-reference-stays"),
        pytest.param(None, None, id="none-stays"),
        pytest.param("", "", id="empty"),
    ],
)
def test_references_are_replaced(transformer, text, expected):
    assert transformer.transform({"key": text}).data == {"key": expected}


def test_one_request_for_a_provider_and_path_with_all_its_keys(vault, transformer):
    transformer.transform({"a": "${vault:db:user} ${vault:db:password}", "b": "${vault:db:user}", "c": "${vault:k}"})

    assert sorted(vault.calls) == [("", frozenset({"k"})), ("db", frozenset({"user", "password"}))]


def test_a_configuration_without_references_asks_nobody(vault, transformer):
    transformer.transform({"a": "plain", "b": "${x}"})

    assert vault.calls == []


def test_keys_of_the_configuration_are_not_searched(vault, transformer):
    assert transformer.transform({"${vault:k}": "v"}).data == {"${vault:k}": "v"}
    assert vault.calls == []


def test_attack_11_a_value_is_never_searched_again():
    provider = InMemoryConfigProvider({"": {"a": "${p:b}", "b": "deep"}})

    assert ConfigTransformer({"p": provider}).transform({"k": "${p:a}"}).data == {"k": "${p:b}"}


def test_attack_13_values_that_name_each_other_do_not_recurse():
    provider = InMemoryConfigProvider({"": {"a": "${p:b}${p:b}", "b": "${p:a}${p:a}"}})

    result = ConfigTransformer({"p": provider}).transform({"k": "${p:a}"})

    assert result.data == {"k": "${p:b}${p:b}"}
    assert len(provider.calls) == 1


def test_ttls_are_kept_by_provider_and_path(vault):
    other = InMemoryConfigProvider({"db": {"user": "x"}}, ttl=7)

    result = ConfigTransformer({"vault": vault, "other": other}).transform({"a": "${vault:db:user}${other:db:user}"})

    assert result.ttls == {("vault", "db"): 500, ("other", "db"): 7}


@pytest.mark.parametrize("ttl", [None, -1])
def test_no_ttl_where_the_provider_gives_none_or_a_negative_one(ttl):
    result = ConfigTransformer({"p": InMemoryConfigProvider({"": {"k": "v"}}, ttl=ttl)}).transform({"a": "${p:k}"})

    assert result.ttls == {}


def test_unresolved_references_are_listed_by_key(transformer):
    result = transformer.transform({"a": "${vault:db:nope}${vault:db:user}", "b": "${x:y}", "c": "plain"})

    assert result.unresolved == {"a": [ConfigVariable("vault", "db", "nope")], "b": [ConfigVariable("x", "", "y")]}


def test_used_maps_references_to_values(transformer):
    result = transformer.transform({"a": "${vault:db:user}", "b": "${vault:db:nope}"})

    assert result.used == {ConfigVariable("vault", "db", "user"): "ann"}


def test_a_used_reference_is_shown_as_it_was_written(transformer):
    result = transformer.transform({"a": "x ${vault::k}"})

    assert list(map(str, result.used)) == ["${vault::k}"]


def test_the_result_does_not_show_values(transformer):
    assert "s3cret" not in repr(transformer.transform({"a": "${vault:db:password}"}))


def test_what_a_provider_raises_passes_through():
    provider = InMemoryConfigProvider(error=AccessDeniedError("no"))

    with pytest.raises(AccessDeniedError, match="no"):
        ConfigTransformer({"p": provider}).transform({"a": "${p:k}"})


def test_paths_are_read_side_by_side():
    class Meeting(ConfigProvider):
        """Answers only when as many readers are there at once."""

        barrier = threading.Barrier(4, timeout=LONGEST)

        def get(self, path, keys=None):
            self.barrier.wait()
            return ConfigData({"k": path})

    configs = {f"c{i}": f"${{p:{i}:k}}" for i in range(4)}

    assert ConfigTransformer({"p": Meeting()}, options=FetchOptions(max_workers=4)).transform(configs).data == {
        f"c{i}": str(i) for i in range(4)
    }


def test_readers_are_bounded():
    class Counting(ConfigProvider):
        now = most = 0
        lock = threading.Lock()

        def get(self, path, keys=None):
            with self.lock:
                self.now += 1
                self.most = max(self.most, self.now)
            threading.Event().wait(0.01)
            with self.lock:
                self.now -= 1
            return ConfigData({})

    provider = Counting()
    ConfigTransformer({"p": provider}, options=FetchOptions(max_workers=3)).transform(
        {f"c{i}": f"${{p:{i}:k}}" for i in range(20)}
    )

    assert 1 <= provider.most <= 3


class Flaky(ConfigProvider):
    """Is unavailable so many times, then answers."""

    def __init__(self, failures):
        self.failures = failures
        self.asked = 0

    def get(self, path, keys=None):
        self.asked += 1
        if self.asked <= self.failures:
            raise ProviderUnavailableError("down")
        return ConfigData({"k": "v"})


def test_an_unavailable_provider_is_asked_again():
    provider = Flaky(failures=1)

    assert ConfigTransformer({"p": provider}, options=FetchOptions(attempts=2)).transform({"a": "${p:k}"}).data == {
        "a": "v"
    }


def test_an_unavailable_provider_is_asked_a_bounded_number_of_times():
    provider = Flaky(failures=99)

    with pytest.raises(ProviderUnavailableError):
        ConfigTransformer({"p": provider}, options=FetchOptions(attempts=2)).transform({"a": "${p:k}"})
    assert provider.asked == 2


NO_TEXTS = [
    pytest.param({"k": 5}, "'k'", id="a number"),
    pytest.param({"k": 0}, "'k'", id="nought"),
    pytest.param({"k": True}, "'k'", id="a truth"),
    pytest.param({"k": ["${p:a}"]}, "'k'", id="a list"),
    pytest.param({"k": b"${p:a}"}, "'k'", id="octets"),
    pytest.param({5: "v"}, "5", id="a number as key"),
    pytest.param({None: "v"}, "None", id="nothing as key"),
    pytest.param({5: 6, "k": 7}, "'k'", id="several"),
]


@pytest.mark.parametrize(("configs", "key"), NO_TEXTS)
def test_a_key_or_a_value_that_is_no_text_is_named(configs, key):
    with pytest.raises(ConfigException, match=f"{key}.*as a string"):
        ConfigTransformer({}).transform(configs)


def test_no_value_that_is_no_text_is_quoted():
    with pytest.raises(ConfigException) as told:
        ConfigTransformer({}).transform({"k": 123456789})
    assert "123456789" not in str(told.value)


def test_attack_37_a_value_that_is_not_text_is_refused_and_not_converted():
    provider = InMemoryConfigProvider({"": {"k": 123456789}})

    with pytest.raises(ProviderLookupError, match="something other than a string") as caught:
        ConfigTransformer({"p": provider}).transform({"a": "${p:k}"})
    assert "123456789" not in str(caught.value)


class Masked(str):
    """A string that does not show itself, as those of some clients."""

    __slots__ = ()

    def __str__(self):
        return "***"

    __repr__ = __str__

    def __format__(self, _):
        return "***"

    def encode(self, *_):
        return b"***"


@pytest.mark.parametrize("text", ["${p:k}", "a<${p:k}>"], ids=["alone", "in a text"])
def test_a_value_that_shows_itself_as_stars_arrives_as_a_plain_string(text):
    done = ConfigTransformer({"p": InMemoryConfigProvider({"": {"k": Masked("c4nary")}})}).transform({"a": text})

    assert type(done.data["a"]) is str
    assert done.data["a"] == text.replace("${p:k}", "c4nary")


class UncomparableKey(str):
    """A key whose comparison fails with a message that quotes a value."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other):
        raise ValueError("c4nary")


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(lambda: ConfigData({UncomparableKey("k"): "v"}), id="value"),
        pytest.param(lambda: ConfigData({"k": "v"}, denials={UncomparableKey("k"): "no"}), id="denial"),
    ],
)
def test_a_key_of_an_odd_class_that_a_provider_returns_arrives_as_a_plain_string(answer):
    class Odd(InMemoryConfigProvider):
        def get(self, path, keys=None):
            return answer()

    (done,) = ConfigTransformer({"p": Odd({})}).attempt({"a": "${p:k}"})

    found = [*done.answers.data.values(), *done.answers.denials.values()]
    assert {type(key) for one in found for key in one} == {str}


def test_a_key_that_is_not_a_string_is_left_out():
    class Odd(InMemoryConfigProvider):
        def get(self, path, keys=None):
            return ConfigData({1: "one", "k": "v"})

    done = ConfigTransformer({"p": Odd({})}).transform({"a": "${p:k}"})

    assert done.answers.data == {("p", ""): {"k": "v"}}


def test_an_answer_that_changes_each_time_it_is_read_is_read_once():
    class Changing(UserDict):
        def __getitem__(self, key):
            self.data[key] += "+"
            return self.data[key]

    class Odd(InMemoryConfigProvider):
        def get(self, path, keys=None):
            return ConfigData(Changing(k="v"))

    done = ConfigTransformer({"p": Odd({})}).transform({"a": "${p:k}", "b": "${p:k}"})

    assert done.data["a"] == done.data["b"]


@pytest.mark.parametrize("answer", [None, {"k": "c4nary"}, "c4nary"], ids=["nothing", "dict", "text"])
def test_an_answer_that_is_no_config_data_is_an_error_that_names_its_type(answer):
    class Odd(InMemoryConfigProvider):
        def get(self, path, keys=None):
            return answer

    with pytest.raises(ProviderLookupError) as caught:
        ConfigTransformer({"p": Odd({})}).transform({"a": "${p:k}"})
    assert f"'p' returned {type(answer).__name__}. Return a ConfigData" in str(caught.value)
    assert "c4nary" not in str(caught.value)


@pytest.mark.parametrize("answers", [None, ["c4nary"]], ids=["nothing", "list"])
def test_answers_together_that_are_no_mapping_are_an_error_that_names_their_type(answers):
    class Odd(BatchConfigProvider):
        def get(self, path, keys=None):
            return ConfigData({})

        def get_batch(self, wanted):
            return answers

    with pytest.raises(ProviderLookupError) as caught:
        ConfigTransformer({"p": Odd()}).transform({"a": "${p:x:k}${p:y:k}"})
    assert f"get_batch of Odd returned {type(answers).__name__}. Return a mapping" in str(caught.value)
    assert "c4nary" not in str(caught.value)


@pytest.mark.parametrize("ttl", ["5000", b"5", object()], ids=["text", "bytes", "object"])
def test_a_ttl_that_is_no_number_is_an_error_of_its_provider(ttl):
    class Odd(InMemoryConfigProvider):
        def get(self, path, keys=None):
            return ConfigData({"k": "v"}, ttl)

    with pytest.raises(ProviderLookupError, match="'p' returned a ttl that is no number of milliseconds"):
        ConfigTransformer({"p": Odd({})}).transform({"a": "${p:k}"})


@pytest.mark.parametrize(
    ("limits", "configs"),
    [
        pytest.param(Limits(references=2), {"a": "${p:1}${p:2}${p:3}"}, id="references"),
        pytest.param(Limits(paths=2), {"a": "${p:1:k}${p:2:k}${p:3:k}"}, id="paths"),
        pytest.param(Limits(characters=10), {"a": "${p:long}"}, id="characters"),
    ],
)
def test_attack_15_what_passes_a_limit_is_refused(limits, configs):
    provider = InMemoryConfigProvider({"": {"long": "x" * 11}})

    with pytest.raises(LimitExceededError):
        ConfigTransformer({"p": provider}, limits).transform(configs)


def test_an_error_of_an_attempt_has_no_value_in_its_frames():
    provider = InMemoryConfigProvider({"": {"long": "c4nary" * 2}})

    with pytest.raises(LimitExceededError) as caught:
        ConfigTransformer({"p": provider}, Limits(characters=10)).attempt({"a": "${p:long}"})

    frames = [frame for frame, _ in walk_tb(caught.tb) if frame.f_code.co_filename != __file__]
    assert "c4nary" not in str([dict(frame.f_locals) for frame in frames])


def test_what_reaches_each_limit_passes():
    provider = InMemoryConfigProvider({"": {"k": "x" * 10}})
    limits = Limits(references=1, paths=1, characters=10)

    assert ConfigTransformer({"p": provider}, limits).transform({"a": "${p:k}"}).data == {"a": "x" * 10}


def test_attack_15_one_value_named_often_cannot_fill_the_memory():
    provider = InMemoryConfigProvider({"": {"k": "x" * 1_000_000}})

    with pytest.raises(LimitExceededError):
        ConfigTransformer({"p": provider}).transform({f"a{i}": "${p:k}" for i in range(10_000)})


def test_attack_15_one_value_named_often_in_one_text_is_refused_before_the_text_is_made():
    provider = InMemoryConfigProvider({"": {"k": "x" * 1_000_000}})

    with pytest.raises(LimitExceededError):
        ConfigTransformer({"p": provider}).transform({"a": "${p:k}" * 1_000_000})  # it would take 1 TB


@given(st.dictionaries(st.text(max_size=5), st.one_of(st.none(), st.text(alphabet="${}:ab", max_size=20))))
def test_without_providers_nothing_changes(configs):
    assert ConfigTransformer({}).transform(configs).data == configs
