"""Finds references that are malformed, that name an unknown provider, or that nothing resolves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from airflow_config_providers.core.provider_definition import unknown_provider
from airflow_config_providers.core.text import printable
from airflow_config_providers.core.variable import ConfigVariable, no_default, unclosed, variables
from airflow_config_providers.lint.entry import WrittenEntry, WrittenJob
from airflow_config_providers.lint.finding import Finding
from airflow_config_providers.lint.known_providers import KnownProviders
from airflow_config_providers.lint.rules import MALFORMED, UNCONFIGURED, UNKNOWN
from airflow_config_providers.spark.expansion import SUBSTITUTED_BY_SPARK


def of_entry(entry: WrittenEntry, known: KnownProviders | None) -> Iterator[Finding]:
    """
    Yield the mistakes in the references of an entry.

    :param known: the providers that are defined; None if that is unknown
    """
    if provider := unclosed(entry.text):
        yield Finding(MALFORMED, entry.place, f"{entry.name}: {_UNCLOSED.format(printable(provider))}")
    for variable in variables(entry.text):
        if variable.provider in SUBSTITUTED_BY_SPARK and not (known and variable.provider in known.names):
            continue
        if problem := _form_problem(variable):
            yield Finding(MALFORMED, entry.place, f"{entry.name}: {problem}")
        elif known is not None and variable.provider not in known.names:
            problem = unknown_provider(variable, known.names, unlisted=known.unlisted, home=known.home)
            yield Finding(UNKNOWN, entry.place, f"{entry.name}: {problem}")


_UNCLOSED: Final = "a reference to provider '{}' lacks the closing brace. Write it as ${{provider:path:key}}."


def _form_problem(variable: ConfigVariable) -> str:
    """Return what is wrong with the form of a reference. A default, or what is nested, can be a secret: not shown."""
    provider = printable(variable.provider)
    if "${" in variable.text[2:]:
        return "a reference contains another one. References cannot be nested: a brace always ends the first one."
    if not provider.strip():
        return "a reference names no provider. Write it as ${provider:path:key}."
    if hint := no_default(variable):
        return f"a reference to provider '{provider}' has a default. {hint}"
    if variable.provider != variable.provider.strip():
        return f"a reference has a blank beside its provider '{provider}'. Remove the blank."
    return (
        "" if variable.key else f"a reference to provider '{provider}' has no key. Write it as ${{provider:path:key}}."
    )


def of_unconfigured(job: WrittenJob) -> Iterator[Finding]:
    """Yield the references in a job whose operator does not resolve them."""
    if job.is_configured:
        return
    for entry in (*job.entries(), *job.texts):
        found = [variable for variable in variables(entry.text) if variable.provider not in SUBSTITUTED_BY_SPARK]
        if found:
            yield Finding(
                UNCONFIGURED,
                entry.place,
                f"{entry.name}: nothing resolves its reference, because this package does not configure the operator. "
                f"Use a configured operator, or set apply_to in [config_providers].",
            )
