"""Search a space of designs: an Optuna study and its certificate by exact enumeration."""
