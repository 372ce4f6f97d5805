"""One browser for all tests of reports; without one they are skipped, and say so."""

import pytest
from tests.results.report.browser import Browser, missing


@pytest.fixture(scope="session")
def chromium():
    if reason := missing():
        pytest.skip(reason)
    started = Browser()
    yield started
    started.close()
