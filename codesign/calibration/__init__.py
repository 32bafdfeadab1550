"""Fits of the calibration sections from the files that engines and training runs write."""
