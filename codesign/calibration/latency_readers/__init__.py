"""One module per format of latency files."""
