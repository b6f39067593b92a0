"""Any command of Tacit under spark-submit, which says where the cluster is.

For example: ``spark-submit --master yarn src/tacit/cli/spark_submit.py randomize hdfs:///events --plan plan.toml``.
The option ``--engine spark`` is added, and ``--master`` left to spark-submit.
"""

from __future__ import annotations

import sys

from tacit.cli import main


def submit() -> None:
    """Run the command that was given, on Spark."""
    if "--engine" not in sys.argv:
        sys.argv += ["--engine", "spark"]
    main()


if __name__ == "__main__":
    submit()
