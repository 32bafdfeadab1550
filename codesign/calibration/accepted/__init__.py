"""Fits of acceptance to what engines count, log and print."""
