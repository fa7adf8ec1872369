"""A folder for a store, a quick disk, and no store that is known to be sound."""

import os

import pytest

from skimlearn.data import _store_check


@pytest.fixture
def path(tmp_path):
    return tmp_path / "data"


@pytest.fixture(autouse=True)
def quick_disk(monkeypatch):
    """The tests need not wait for the disk."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)


@pytest.fixture
def unknown(monkeypatch):
    """No store is known to be sound, as if all came from elsewhere."""
    monkeypatch.setattr(_store_check, "_known", set())
    monkeypatch.setattr(_store_check, "_mark", lambda key: None)
