"""Thin estimators: labels, validation, scikit-learn's contract."""
