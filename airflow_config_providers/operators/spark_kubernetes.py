"""``SparkKubernetesOperator`` with layers and references."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from airflow_config_providers.core.reverse import ReverseTransformer
from airflow_config_providers.operators import nested_texts
from airflow_config_providers.operators.in_place import ConfigProvidersMixin


class SparkKubernetesMixin(ConfigProvidersMixin):
    """
    Stands in front of ``SparkKubernetesOperator``.

    The application's file is read before references are resolved, and becomes ``template_spec``: a value is never
    read as YAML.
    """

    application_file: str | None
    template_spec: Any
    manage_template_specs: Callable[[], Any]

    def _settle(self, context: Any, jinja_env: Any) -> None:
        self._read_application()
        super()._settle(context, jinja_env)

    def _resolve(self, context: Any, jinja_env: Any) -> None:
        self._read_application()
        super()._resolve(context, jinja_env)

    def _read_application(self) -> None:
        text = self.application_file
        if not text:
            return
        is_written = self._is_written(nested_texts.Text("application_file", text)) or Path(text.strip()).is_file()
        self.template_spec, self.application_file = self.manage_template_specs(), None
        if is_written and self._written is not None:
            self._written = self._written.with_texts(nested_texts.texts(self.template_spec, "template_spec"))

    def _forget(self, before: Mapping[str, Any], reverser: ReverseTransformer) -> None:
        for name in ("launcher", "pod_request_obj", "remote_pod"):  # they have been sent what they hold
            if vars(self).get(name) is not before.get(name):
                vars(self).pop(name, None)
        super()._forget(before, reverser)
