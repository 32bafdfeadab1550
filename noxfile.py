"""The same checks as .ci/run, one session each, for daily work."""

import nox

nox.options.default_venv_backend = "venv"
nox.options.sessions = ["lint", "types", "contracts", "tests"]
CODE = ("codesign", "objectives", "constraints", "tests", "benchmarks", "scripts")


def _install(session: nox.Session) -> None:
    session.install("-e", ".[dev]")


@nox.session
def tests(session: nox.Session) -> None:
    """Run the tests with coverage."""
    _install(session)
    session.run("pytest", "-n", "2", "--cov", *session.posargs)


@nox.session
def oldest(session: nox.Session) -> None:
    """Run the tests with the oldest dependencies that pyproject.toml allows."""
    session.install("uv")
    extras = [f"--extra={name}" for name in ("cluster", "postgres", "dashboard", "parquet")]
    oldest = f"{session.create_tmp()}/oldest.txt"
    session.run(
        "uv", "pip", "compile", "--quiet", "--resolution=lowest-direct", "--output-file", oldest,
        *extras, "pyproject.toml", silent=True,
    )  # fmt: skip
    session.install("-e", ".[dev]", "--constraint", oldest)
    readme = "tests/docs/test_commands.py::test_commands_run_and_print_what_is_shown[README]"
    # An older Optuna's sampler tries other designs, of which README's output tells.
    session.run("pytest", "-n", "2", f"--deselect={readme}", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Check style and format."""
    session.install("ruff")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")


@nox.session
def types(session: nox.Session) -> None:
    """Check types."""
    _install(session)
    session.run("mypy", *CODE)


@nox.session
def contracts(session: nox.Session) -> None:
    """Check that imports go down only."""
    _install(session)
    session.run("lint-imports")


@nox.session
def benchmarks(session: nox.Session) -> None:
    """Measure speed; nothing is asserted."""
    _install(session)
    session.run("pytest", "benchmarks", "--benchmark-enable", "--benchmark-only", *session.posargs)
