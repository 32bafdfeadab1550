"""Settings of every test."""

from hypothesis import settings

settings.register_profile("codesign", deadline=None)  # no test depends on how busy a machine is
settings.load_profile("codesign")
