"""Fits of the latent-Gaussian router to traces of routed experts."""
