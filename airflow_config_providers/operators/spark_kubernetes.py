"""``SparkKubernetesOperator`` with layers and references."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import yaml

from airflow_config_providers.core.reversal.reverse import ReverseTransformer
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.job.nested_texts import Text, texts
from airflow_config_providers.job.template_references import FilledIn
from airflow_config_providers.operators.configured import ConfiguredOperator
from airflow_config_providers.spark.layer_files import read_layer_file


class SparkKubernetesMixin(ConfiguredOperator):
    """
    A mixin for ``SparkKubernetesOperator``.

    The application's file is read before references are resolved, and becomes ``template_spec``, so that a value is
    never parsed as YAML.
    """

    application_file: str | None
    template_spec: Any
    manage_template_specs: Callable[[], Any]

    def _preview_job(self, context: Any, jinja_env: Any) -> None:
        self._read_application()
        super()._preview_job(context, jinja_env)

    def _resolve_job(self, context: Any, jinja_env: Any) -> None:
        self._read_application()
        super()._resolve_job(context, jinja_env)

    def _read_application(self) -> None:
        text = self.application_file
        if not text:
            return
        if is_file := _is_path(text):
            bounds = self._authorship.bounds("application_file")
            content = read_layer_file(text.strip(), name=text.strip(), bounds=bounds)
            application = FilledIn(self._parse(content))
        else:
            application = self._authorship.parsed(text, self._parse)
        self.template_spec, self.application_file = application.value, None
        written = {id(string) for string in application.written}
        specs = texts(self.template_spec, "template_spec")
        self._authorship.add_written(spec for spec in specs if is_file or id(spec.text) in written)

    def _job_paths(self) -> list[Text]:
        file = self.application_file
        return [*super()._job_paths(), *([Text("application_file", file)] if file and _is_path(file) else [])]

    def _parse(self, content: str | bytes) -> Any:
        """Return an application as the operator parses it, without opening a file, which could have been replaced."""
        self.application_file, self.template_spec = None, _mapping(content)
        return self.manage_template_specs()

    def _forget_values(self, before: Mapping[str, Any], reverser: ReverseTransformer) -> None:
        for name in ("launcher", "pod_request_obj", "remote_pod"):  # their values were already sent
            if vars(self).get(name) is not before.get(name):
                vars(self).pop(name, None)
        super()._forget_values(before, reverser)


def _is_path(text: str) -> bool:
    """Return whether ``text`` is the path of a file with an application."""
    return os.path.exists(text.strip())  # noqa: PTH110 - Path.exists() raises for a whole application


def _mapping(content: str | bytes) -> dict[Any, Any]:
    try:
        found = yaml.safe_load(content)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = f"line {mark.line + 1} is not YAML" if mark else "it is not YAML"
    else:
        if isinstance(found, dict):
            return found
        problem = f"it is of type {type(found).__name__}"
    raise ConfigException(
        f"application_file is not a YAML mapping: {problem}. Write an application, or the path of a file with one."
    )
