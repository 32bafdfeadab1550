"""Making report.html: the default study's, and one with a front of 1,000 in a space of 80,000.

Run with ``pytest benchmarks/bench_report.py --benchmark-enable --benchmark-only``; the size of each
page stands under ``extra_info`` (``--benchmark-json FILE``) and is printed with ``-s``.
"""

from functools import cache
from typing import Any

import pytest

from codesign.records import Record
from codesign.report.html import report_html
from codesign.report.report import Report
from codesign.spec.study import Study
from codesign.study import optimize
from tests.report.large_result import enlarged


@cache
def default_result() -> Record:
    return optimize(
        Study.from_data({"hardware": "h100", "workload": {"target_batch_size": 32}})
    ).to_dict()


@pytest.mark.parametrize("size", ["default", "large"])
def bench_report(benchmark: Any, size: str) -> None:
    if benchmark.disabled:
        pytest.skip("tests/report makes the same pages")
    result = default_result() if size == "default" else enlarged(default_result())
    page = benchmark.pedantic(lambda: report_html(Report(result)), rounds=3)
    megabytes = len(page.encode()) / 1e6
    benchmark.extra_info["megabytes"] = megabytes
    print(f"{size}: {megabytes:.2f} MB, {len(result['front'])} designs on the front")
