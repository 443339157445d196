"""What a deployment without numpy is told; in a file of its own, because the test starts a program."""

from __future__ import annotations

import subprocess
import sys


def test_without_numpy_the_way_out_is_named() -> None:
    script = (
        "import sys; sys.modules['numpy'] = None\n"
        "from airflow_config_providers.spark.audit.leaks.fingerprint import Fingerprint, FingerprintKey\n"
        "from airflow_config_providers.spark.audit.leaks.fingerprint_finder import FingerprintFinder\n"
        "FingerprintFinder([Fingerprint('r', 'plain', 8, 1, '00')], FingerprintKey(b'k'))\n"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)

    assert "numpy, which is not installed. Install the extra 'audit'" in done.stderr
