"""Estimators: scikit-learn's contract around the solvers."""

CONTRACT = True  # whether it is asked for; the command line is quicker without (`_contract`)
