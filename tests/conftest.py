"""Settings for all tests."""

import gc
import os

from hypothesis import settings

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # the workers of pytest share the cores as it is

settings.register_profile("ci", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("ci")


def pytest_collection_finish() -> None:
    """Look for garbage seldom, and not among rules and tests, as the command does."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 10, 10)
