"""One default answer for all tests of reports, and a browser where there is one."""

import shutil
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from codesign.records import Record
from codesign.report.html import report_html
from codesign.report.report import Report
from codesign.search.engines import Run
from codesign.search.storage import JOURNAL
from codesign.spec.study import Study
from codesign.study import optimize

if TYPE_CHECKING:
    from playwright.sync_api import Browser

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
QUIET = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
)  # fmt: skip


@pytest.fixture(scope="session")
def _answered(tmp_path_factory: pytest.TempPathFactory) -> tuple[Record, Path]:
    """The default study's result, and the folder with its journal."""
    folder = tmp_path_factory.mktemp("answer")
    study = Study.from_data({"hardware": "h100", "workload": {"target_batch_size": 32}})
    return optimize(study, run=Run(folder=folder)).to_dict(), folder


@pytest.fixture
def result(_answered: tuple[Record, Path]) -> Record:
    """The default study's result, the test's own copy."""
    return deepcopy(_answered[0])


@pytest.fixture(scope="session")
def journal(_answered: tuple[Record, Path]) -> Path:
    """Where the default study kept its trials."""
    return _answered[1] / JOURNAL


@pytest.fixture(scope="session")
def report(_answered: tuple[Record, Path], journal: Path) -> Report:
    """The default study's report; read, never changed."""
    return Report(deepcopy(_answered[0]), journal=journal)


@pytest.fixture(scope="session")
def page(report: Report) -> str:
    """The default study's page."""
    return report_html(report)


@pytest.fixture(scope="session")
def browser() -> Iterator["Browser"]:
    """A headless Chromium of the system."""
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip("no Chromium: apt-get install chromium")
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=path, args=list(QUIET))
        yield opened
        opened.close()
