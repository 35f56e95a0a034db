"""Writers, readers and a packer on one object store, some killed all the time: nothing is lost or doubled."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.faults.storm import storm

SECONDS = float(os.environ.get("OBJECT_STORM_S", "20"))


@pytest.mark.timeout(SECONDS + 280)
def test_what_writers_promise_is_seen_by_all_readers_once_whoever_is_killed(address: Path) -> None:
    done = (
        storm(SECONDS, writers=3, readers=1, root=address) if SECONDS < 60 else storm(SECONDS, root=address)
    )
    print(done)
    assert (done["lost"], done["doubled"], done["wrong"]) == (0, 0, 0), done
    assert done["looks"] > 0
    assert done["answers"] > 0
