"""Small data sets that come with the package: no download, no network."""

from skimlearn.datasets._spam import load_spam

__all__ = ["load_spam"]
