"""A Ray cluster for one command: the one that is there, or one that is started for it.

Invariant: only who started a cluster stops it. Ray is imported when a cluster is first needed.
"""

from __future__ import annotations

import os
from typing import Any

from gradetrail.errors import DependencyError, Fault, GradetrailError


class Cluster:
    """A Ray cluster: one that this process is part of, that $RAY_ADDRESS names, or a new one here."""

    def __init__(self, workers: int | None = None) -> None:
        """Connect or start; `workers` is the number of cores of a new one, None all of the machine.

        DependencyError if Ray is not installed; GradetrailError if the cluster cannot be reached.
        """
        try:
            import ray
        except ImportError:
            raise DependencyError(
                Fault("executor `ray` needs Ray", fix="pip install 'gradetrail[ray]'")
            ) from None
        self.ray: Any = ray
        self._is_own = not ray.is_initialized()
        if self._is_own:
            address = os.environ.get("RAY_ADDRESS")
            try:
                ray.init(
                    address=address, log_to_driver=False, include_dashboard=False, configure_logging=False,
                    num_cpus=None if address else workers,
                )  # fmt: skip
            except (ConnectionError, RuntimeError) as error:
                reason = str(error).strip().partition("\n")[0]
                fix = "see whether the cluster runs, and set RAY_AUTH_MODE=token if it asks for a token"
                raise GradetrailError(
                    Fault(
                        f"no cluster can be reached: {reason}", "RAY_ADDRESS" if address else "Ray", fix=fix
                    )
                ) from None

    @property
    def cores(self) -> int:
        """Cores of all its machines; at least 1."""
        return max(1, int(self.ray.cluster_resources().get("CPU", 1)))

    def close(self) -> None:
        """Stop it if it was started here."""
        if self._is_own:
            self._is_own = False
            self.ray.shutdown()
