"""What a set of latency points says: ratios, curves, kernels, fitted constants."""

from collections.abc import Sequence
from typing import Any, Final

from codesign.calibration.kernel_fit import fit_kernel
from codesign.calibration.latency_fit import ConstantsFit, fit_constants
from codesign.calibration.latency_points import STEP_TIMES, LatencyPoint
from codesign.calibration.latency_setting import expert_bytes, expert_shape, setting_of, single
from codesign.calibration.latency_tables import (
    comparison_tables,
    kernel_table,
    points_table,
    ratios_table,
    residuals_table,
)
from codesign.calibration.moesd_fit import fit_moesd
from codesign.calibration.notes import Notes
from codesign.calibration.observation import KernelTime
from codesign.calibration.options import CalibrationOptions
from codesign.calibration.step_constants import Constant, constants_of
from codesign.calibration.width_curves import WidthCurve, width_curves
from codesign.calibration.width_tables import verdict, width_tables
from codesign.errors import CalibrationError
from codesign.hardware.constants import compute_format
from codesign.spec.architecture import Architecture
from codesign.spec.hardware import Hardware
from codesign.spec.section import Correlation, Parameter, Residual, Table

FEWEST_POINTS: Final = 2

SURPRISING: Final = 3.0
"""Prior spreads from which a fitted constant is doubted."""


class LatencyAnalysis:
    """Gathers what a section says, analysis by analysis."""

    def __init__(
        self,
        points: list[LatencyPoint],
        model: Architecture | None,
        options: CalibrationOptions,
        notes: Notes,
    ) -> None:
        self.points = points
        self.model = model
        self.options = options
        self.notes = notes
        self.shape = expert_shape(model, options)
        self.residual: Residual | None = None
        self.parameters: dict[str, Parameter] = {}
        self.correlations: list[Correlation] = []
        self.defaults: dict[str, str] = {}
        self.measured_on: dict[str, Any] = {}
        self.tables: list[Table] = [points_table(points)] if points else []
        self._curves: list[WidthCurve] = []

    def curves(self) -> None:
        """Ratios to the plain step, and growth with width."""
        if (ratios := ratios_table(self.points)) is not None:
            self.tables.append(ratios)
        self._curves = width_curves(self.points, self.shape)
        self.tables += width_tables(self._curves, self.shape)
        for curve in self._curves:
            if told := verdict(curve):
                self.notes.add(f"batch size {curve.batch_size:g}: {told}")
            if curve.curve is not None and self.shape is not None:
                crossing = curve.curve.crossing(*self.shape)
                if crossing is not None and crossing <= 4 * curve.widths[-1] * curve.batch_size:
                    self.parameters["compute_crossing"] = Parameter(value=crossing, unit="token")

    def kernels(self, times: Sequence[KernelTime]) -> None:
        """Floor, time per expert and per token of a routed-expert kernel."""
        if not times:
            return
        if self.shape is None:
            raise CalibrationError(
                f"{times[0].source}: kernel times need the number of experts and top-k: give "
                "--arch, or --experts and --top-k"
            )
        fit = fit_kernel(times, *self.shape)
        names = (("kernel.floor", "us"), ("kernel.per_expert", "us"), ("kernel.per_token", "us"))
        for (name, unit), value, error in zip(
            names, fit.fit.coefficients, fit.fit.errors, strict=True
        ):
            known = None if error != error else float(error) * 1e6
            self.parameters[name] = Parameter(
                value=float(value) * 1e6, standard_error=known, unit=unit
            )
        crossing = fit.fit.crossing(*self.shape)
        if crossing is not None:
            self.parameters["kernel.compute_crossing"] = Parameter(value=crossing, unit="token")
        self.residual = Residual(
            value=fit.fit.rms,
            meaning=(
                f"relative, root mean square over {len(times)} kernel times with independent "
                f"routing; with min(N, m k) experts it is {fit.reading_every_pair.rms:.3g}"
            ),
        )
        self.tables.append(kernel_table(fit))
        if self.options.architecture is not None and self.model is not None:
            self._weight_bandwidth(self.model, float(fit.fit.coefficients[1]))

    def _weight_bandwidth(self, model: Architecture, per_expert: float) -> None:
        """Implied by the time per expert; a plausibility check."""
        if per_expert > 0 and model.moe is not None:
            bandwidth = expert_bytes(model, self.options) / per_expert
            found = Parameter(value=bandwidth / 1e12, unit="TB/s")
            self.parameters["kernel.weight_bandwidth"] = found

    def constants(self) -> None:
        """Constants of the step time, where the device is known."""
        usable = self._usable()
        if self.options.hardware is None or self.model is None:
            if usable:
                self.notes.add("no --hw is given: the step time's constants are not fitted")
            return
        engine = single(self.points, "backend", "engines")
        setting = setting_of(self.model, engine, self.options)
        replica = setting.replica
        self.measured_on = {
            "hardware": replica.hardware.name,
            "backend": self.options.backend or engine or "vllm",
            "dtype": replica.precision.of("routed_experts"),
            "architecture": self.model.name,
            "gpus": replica.gpus,
        }
        if len(usable) < FEWEST_POINTS:
            self._too_few(len(usable), constants_of(replica))
            return
        fit = fit_constants(setting, usable)
        self._report(fit, usable)
        self._beyond_peak(fit, replica.hardware)
        if self.shape is not None:
            hardware = replica.hardware
            ridge = hardware.peak_compute["bf16"].value / hardware.memory_bandwidth.value
            self.tables += comparison_tables(fit, fit_moesd(usable, *self.shape, ridge))

    def _beyond_peak(self, fit: ConstantsFit, hardware: Hardware) -> None:
        """Warn of rates that the device cannot have: they stand in for something else."""
        for position, index in enumerate(fit.choice.fitted):
            constant = fit.coordinates.constants[index]
            kind, _, rate = constant.name.rpartition(".")
            peak = {"bandwidth": hardware.memory_bandwidth}.get(rate)
            if rate == "compute":
                dtype: Any = kind.rpartition(".")[2]
                peak = hardware.peak_compute.get(compute_format(hardware, dtype))
            if peak is not None and fit.value(position) > peak.value:
                self.notes.add(
                    f"{constant.name} is above the datasheet's peak of "
                    f"{peak.value / constant.si:.4g} {constant.unit}: it stands in for something "
                    "the points cannot tell from it"
                )

    def _usable(self) -> list[LatencyPoint]:
        """Step times with a known load, less decode steps with a kernel of their own."""
        apart = {
            (curve.batch_size, curve.context) for curve in self._curves if curve.separate_decode
        }
        usable = []
        for point in self.points:
            if point.missing or point.meaning not in STEP_TIMES:
                continue
            own = (point.batch_size, point.context) in apart and point.draft_tokens == 0
            if own and point.meaning != "cycle":
                self.notes.add(
                    "decode steps with a kernel of their own are shown but left out of the fit; "
                    "decode steps predicted with these constants follow the wider passes' kernel",
                )
                continue
            usable.append(point)
        return usable

    def _too_few(self, count: int, constants: Sequence[Constant]) -> None:
        absent = sorted({flag for point in self.points for flag in point.missing})
        needed = f"; give {', '.join(absent)}" if absent else ""
        for constant in constants:
            self.defaults[constant.name] = f"{count} points with a known load{needed}"

    def _report(self, fit: ConstantsFit, points: Sequence[LatencyPoint]) -> None:
        constants, fitted = fit.coordinates.constants, fit.choice.fitted
        for position, index in enumerate(fitted):
            constant, error = constants[index], fit.standard_error(position)
            self.parameters[constant.name] = Parameter(
                value=fit.value(position) / constant.si,
                standard_error=None if error is None else error / constant.si,
                unit=constant.unit,
            )
            if fit.on_limit(position):
                self.notes.add(f"{constant.name} ended on a limit; its error is unknown")
            if fit.surprise(position) > SURPRISING:
                self.notes.add(_surprise(fit, position))
            for earlier in range(position):
                value = float(fit.correlations[earlier, position])
                if value == value:
                    names = (constants[fitted[earlier]].name, constant.name)
                    held = min(max(value, -1.0), 1.0)  # but for rounding
                    pair = Correlation(first=names[0], second=names[1], value=held)
                    self.correlations.append(pair)
        self.defaults |= {constants[j].name: why for j, why in fit.choice.reasons.items()}
        self.residual = Residual(
            value=fit.rms,
            meaning=(
                f"relative, root mean square over {len(points)} step times; each point left out of "
                f"its fit: {fit.left_out_rms:.3g}"
            ),
        )
        self.tables.append(residuals_table(points, fit))


def _surprise(fit: ConstantsFit, position: int) -> str:
    """A constant far off the profile's value may stand in for one that the points cannot tell."""
    constants = fit.coordinates.constants
    name = constants[fit.choice.fitted[position]].name
    alike = [
        constants[i].name for i, why in fit.choice.reasons.items() if f"told from {name}" in why
    ]
    doubt = f"; the points cannot tell it from {', '.join(alike)}" if alike else ""
    return (
        f"{name} lies {fit.surprise(position):.2g} prior spreads off the profile's value, so it "
        f"may stand in for something else{doubt}"
    )
