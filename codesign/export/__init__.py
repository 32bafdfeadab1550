"""Hand an answer back: flags and draft lengths for engines, a config.json for training."""

from codesign.export.handover import Handover
from codesign.export.served import Served, load_served

__all__ = ["Handover", "Served", "load_served"]
