"""Checks the files that the deployment names."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_config_providers import settings
from airflow_config_providers.core.diagnosis import Diagnosis, fine, of_problem
from airflow_config_providers.core.text import counted, is_template, printable
from airflow_config_providers.core.variable import scan
from airflow_config_providers.doctor.examination import Site
from airflow_config_providers.exceptions import ConfigProvidersError
from airflow_config_providers.job.chosen_paths import bounds_of_deployment
from airflow_config_providers.job.policies import open_policies
from airflow_config_providers.providers.real_path import rights_of
from airflow_config_providers.spark.layer_files import ConfigFile, file_layer


def check(site: Site) -> Iterator[Diagnosis]:
    """Yield what is found about the layer files and the policies: whether they load, and who else can change them."""
    for path in settings.config_files():
        if not (scan(path) or is_template(path)):
            yield from _layer_file(path)
    if path := settings.policies_file():
        yield from _policies(path)
    for path in settings.config_paths():
        yield from rights_of(path)


def _layer_file(path: str) -> Iterator[Diagnosis]:
    try:
        layer = file_layer(ConfigFile(path, path, bounds=bounds_of_deployment(settings.config_paths())))
    except ConfigProvidersError as error:
        yield from map(of_problem, error.problems)
        return
    yield fine(f"The layer file '{printable(path)}' sets {counted(len(layer.configs), 'key')}.")
    yield from rights_of(path)


def _policies(path: str) -> Iterator[Diagnosis]:
    try:
        with open_policies(path) as policies:
            count = len(policies)
    except ConfigProvidersError as error:
        yield from map(of_problem, error.problems)
        return
    yield fine(f"The policies file '{printable(path)}' loads, with {counted(count, 'policy', 'policies')}.")
    yield from rights_of(path)
