"""Options for a JVM that lives for seconds, and should not spend them on becoming fast."""

from __future__ import annotations

from typing import Final

QUICK_JAVA: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"

ENVIRONMENT: Final = {
    "SPARK_SUBMIT_OPTS": QUICK_JAVA,
    "SPARK_LAUNCHER_OPTS": QUICK_JAVA,
    "SPARK_DAEMON_JAVA_OPTS": QUICK_JAVA,
}
"""For spark-submit and the driver it becomes, what makes its command, and the Master and the Worker."""
