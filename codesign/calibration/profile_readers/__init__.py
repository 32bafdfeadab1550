"""One module per format of profiles."""
