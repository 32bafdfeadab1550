"""Readers of acceptance, one module per format."""
