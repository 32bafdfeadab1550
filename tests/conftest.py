"""Settings of every test.

The same questions are asked each time, so that a change is judged by what it changed;
CODESIGN_EXAMPLES asks new ones, and more (`tests/properties/any_question.py`).
"""

import os

from hypothesis import settings

settings.register_profile(
    "codesign",
    deadline=None,  # no test depends on how busy a machine is
    derandomize="CODESIGN_EXAMPLES" not in os.environ,
)
settings.load_profile("codesign")
