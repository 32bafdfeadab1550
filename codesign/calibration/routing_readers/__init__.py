"""Readers of routed experts, one module per format."""
