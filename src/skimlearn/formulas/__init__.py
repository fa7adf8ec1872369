"""Scalar mathematics: what is minimised, one small class each."""
