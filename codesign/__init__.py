"""Co-design Mixture-of-Experts architectures and draft length for speculative decoding."""
