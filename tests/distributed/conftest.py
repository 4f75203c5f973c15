"""One small Ray for all of these tests; without Ray they are skipped."""

import importlib.util
import os
from collections.abc import Iterator

import pytest

HAS_RAY = all(importlib.util.find_spec(name) for name in ("ray", "datasketches"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that need Ray say why they do not run."""
    if HAS_RAY:
        return
    for item in items:
        if item.get_closest_marker("ray"):
            item.add_marker(pytest.mark.skip(reason="Ray is not installed: pip install 'advcli[ray]'"))


@pytest.fixture(scope="session")
def on_ray() -> Iterator[None]:
    """A Ray of two workers that all commands of this process find running."""
    from advcli.distributed import cluster

    os.environ |= {"ADVCLI_RAY_CPUS": "2", "ADVCLI_RAY_OBJECT_STORE": str(200 << 20)}
    # The local S3 server answers several requests at a time and mixes up their headers: then it leaves in an object the
    # framing that a checksum behind the body needs. No checksum, no framing.
    os.environ["AWS_REQUEST_CHECKSUM_CALCULATION"] = "when_required"
    with cluster.running(None):
        yield


@pytest.fixture
def inline_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands on Ray, without Ray, in this process: three workers."""
    from distributed import inline

    from advcli.distributed import cluster

    for name, value in {
        "running": inline.running,
        "workers": lambda: 3,
        "memory_per_worker": lambda: 2 << 30,
    }.items():
        monkeypatch.setattr(cluster, name, value)
