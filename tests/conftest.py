"""Makes every test independent of the machine: UTC, no keys, no network beyond loopback."""

import ipaddress
import os
import sys
import time

import hypothesis
import pytest

os.environ["TZ"] = "UTC"
time.tzset()

# a time limit per example would make a busy machine fail; a fixed seed makes a failure repeatable in CI
hypothesis.settings.register_profile("here", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, database=None)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "here")


def _is_loopback(host: object) -> bool:
    try:
        return ipaddress.ip_address(str(host)).is_loopback
    except ValueError:
        return host == "localhost"


def _refuse_internet(event: str, args: tuple[object, ...]) -> None:
    if event == "socket.connect":
        address = args[1]
        if isinstance(address, tuple) and not _is_loopback(address[0]):
            raise RuntimeError(f"a test tried to connect to {address[0]}: tests stay on loopback")


sys.addaudithook(_refuse_internet)


@pytest.fixture(autouse=True)
def _no_keys_and_no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the developer's API keys and GRADETRAIL_ settings, so that a test says which it uses."""
    for name in list(os.environ):
        if name.startswith("GRADETRAIL_") or name.endswith("_API_KEY"):
            monkeypatch.delenv(name)
