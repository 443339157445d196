"""A transformation gives what Kafka's gives, and asks providers for the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_config_providers.core.transformer import ConfigTransformer
from airflow_config_providers.testing import InMemoryConfigProvider

NAMES = ["", "p", "q", "nobody"]
PATHS = ["", "a", "b/c", "none"]
KEYS = ["", "k", "a:b", "$", "no"]
VALUES = ["", "v", "${p:k}", "${p:a:k}", "é😀\n\0", "}"]

REFERENCES = st.builds(
    lambda name, path, key: f"${{{name}:{path}:{key}}}", *(st.sampled_from(s) for s in (NAMES, PATHS, KEYS))
)
TEXTS = st.lists(st.one_of(REFERENCES, st.sampled_from(["${p:k}", "${p:", "}", "$", "x", "${x}"])), max_size=5).map(
    "".join
)
CONFIGS = st.dictionaries(st.sampled_from(["one", "two", "${p:k}"]), st.none() | TEXTS, max_size=3)
SECRETS = st.dictionaries(
    st.sampled_from(PATHS[:3]), st.dictionaries(st.sampled_from(KEYS[:4]), st.sampled_from(VALUES))
)
TTLS = st.sampled_from([None, -1, 0, 7, 2**40])
PROVIDERS = st.dictionaries(st.sampled_from(NAMES[:3]), st.tuples(SECRETS, TTLS))


class JavaProvider:
    """A provider in Python that Kafka can call."""

    def __init__(self, kafka: Any, data: Mapping[str, Mapping[str, str]], ttl: int | None) -> None:
        self.calls: list[tuple[str, frozenset[str]]] = []
        self._kafka = kafka
        self._data = data
        self._ttl = None if ttl is None else kafka.java.lang.Long.valueOf(str(ttl))

    def get(self, path: str, keys: Collection[str]) -> Any:
        self.calls.append((path, frozenset(keys)))
        found = {key: value for key, value in self._data.get(path, {}).items() if key in keys}
        return self._kafka.config.ConfigData(self._kafka.map(found), self._ttl)

    class Java:
        implements = ("org.apache.kafka.common.config.provider.ConfigProvider",)


@settings(max_examples=400, derandomize=True, deadline=None)
@given(configs=CONFIGS, providers=PROVIDERS)
def test_same_data_and_same_requests(kafka: Any, configs: dict[str, str | None], providers: dict[str, Any]) -> None:
    theirs = {name: JavaProvider(kafka, data, ttl) for name, (data, ttl) in providers.items()}
    result = kafka.config.ConfigTransformer(kafka.map(theirs)).transform(kafka.map(configs))
    ours = {name: InMemoryConfigProvider(data, ttl=ttl) for name, (data, ttl) in providers.items()}
    transformed = ConfigTransformer(ours).transform(configs)

    assert (transformed.data, _calls(ours)) == (kafka.python(result.data()), _calls(theirs))
    assert {path for _, path in transformed.ttls} == kafka.python(result.ttls()).keys()


def test_difference_ttls_are_kept_by_provider_and_path(kafka: Any) -> None:
    configs, secrets = {"a": "${p:k}", "b": "${q:k}"}, {"": {"k": "v"}}
    theirs = kafka.map({"p": JavaProvider(kafka, secrets, 1), "q": JavaProvider(kafka, secrets, 2)})
    ours = {"p": InMemoryConfigProvider(secrets, ttl=1), "q": InMemoryConfigProvider(secrets, ttl=2)}

    assert len(kafka.config.ConfigTransformer(theirs).transform(kafka.map(configs)).ttls()) == 1
    assert ConfigTransformer(ours).transform(configs).ttls == {("p", ""): 1, ("q", ""): 2}


def _calls(providers: Mapping[str, Any]) -> Counter[tuple[str, str, frozenset[str]]]:
    return Counter((name, *call) for name, provider in providers.items() for call in provider.calls)
