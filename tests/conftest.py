"""Settings of all tests: random examples are judged by what comes out, never by how long a busy machine takes."""

import gc

from hypothesis import HealthCheck, settings

settings.register_profile("stepscope", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("stepscope")


def pytest_collection_finish():
    """What the tests are made of stays: to look through it after every test takes a third of a second."""
    gc.collect()
    gc.freeze()
