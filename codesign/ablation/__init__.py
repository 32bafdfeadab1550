"""Scripted ablations: factors of a study, variants of it, and terms of the model taken out."""

from codesign.ablation.driver import ablate, load_ablation
from codesign.ablation.outcome import AblationResult

__all__ = ["AblationResult", "ablate", "load_ablation"]
