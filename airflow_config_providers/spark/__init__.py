"""How a resolved configuration reaches Spark, and how a driver resolves one itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_config_providers import lazy

if TYPE_CHECKING:
    from airflow_config_providers.spark.driver import session as session
    from airflow_config_providers.spark.driver_configs import configs as configs
    from airflow_config_providers.spark.driver_configs import reload_on_change as reload_on_change

__getattr__, __dir__, __all__ = lazy.names(
    __name__, {"driver": "session", "driver_configs": "configs reload_on_change"}
)
