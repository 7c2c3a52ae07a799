"""Settings of all tests: random examples are judged by what comes out, never by how long a busy machine takes."""

from hypothesis import HealthCheck, settings

settings.register_profile("stepscope", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("stepscope")
