"""The analytic model: pure functions of arrays that broadcast; no spec, no files."""
