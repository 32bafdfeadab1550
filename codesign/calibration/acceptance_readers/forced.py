"""Configurations of engines: what a user asked for, nothing that was measured."""

from typing import Final, NoReturn

from codesign.calibration.acceptance_readers.counts import objects
from codesign.calibration.detect import Reader
from codesign.calibration.options import CalibrationOptions
from codesign.calibration.sample import Sample
from codesign.errors import DataError


def _lacks(sample: Sample) -> str | None:
    if sample.container != "json":
        return "is not JSON"
    if any("num_speculative_tokens" in item and "method" in item for item in objects(sample)):
        return None
    return "has no method and num_speculative_tokens"


def _refuse(sample: Sample, _: CalibrationOptions) -> NoReturn:
    forced = any("synthetic_acceptance_rates" in item for item in objects(sample))
    raise DataError(
        f"{sample.path}: a vLLM speculative config says what to run, not what was accepted"
        + (
            "; its acceptance is synthetic: a run with it gives step times, nothing of the draft"
            if forced
            else ""
        )
    )


READER: Final = Reader("speculative-config", "vLLM speculative config", _lacks, _refuse)
