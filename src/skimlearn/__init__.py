"""Linear models in time that does not grow with the data, each answer with a certificate.

Names are loaded when they are first used, so that the import itself is light.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from skimlearn import datasets, report
    from skimlearn.data.columns import Matrix
    from skimlearn.data.features import fourier_features, sketch_features
    from skimlearn.data.oracle import Oracle
    from skimlearn.data.store import Store, StoreError, open_store
    from skimlearn.data.stream import RowStream
    from skimlearn.data.svmlight import (
        SvmlightError,
        iter_svmlight,
        read_svmlight,
        write_svmlight,
    )
    from skimlearn.data.tables import Table, TableError, read_table
    from skimlearn.data.tensors import ModelError
    from skimlearn.estimators.ball import EnclosingBall
    from skimlearn.estimators.classifier import LinearClassifier
    from skimlearn.estimators.cv import LinearClassifierCV, LinearRegressorCV
    from skimlearn.estimators.kernel import KernelClassifier
    from skimlearn.estimators.path import regularization_path
    from skimlearn.estimators.regressor import LinearRegressor
    from skimlearn.estimators.saving import load
    from skimlearn.estimators.sublinear import SublinearSVC
    from skimlearn.exchange.liblinear import read_liblinear, write_liblinear
    from skimlearn.exchange.onnx import export_onnx
    from skimlearn.exchange.sklearn import from_sklearn, to_sklearn
    from skimlearn.formulas import kernels, losses, regularizers
    from skimlearn.result import Budget, Certificate, Result, Status
    from skimlearn.solvers.ball import enclosing_ball
    from skimlearn.solvers.game import matrix_game
    from skimlearn.solvers.kernel_simplex_qp import kernel_simplex_qp
    from skimlearn.solvers.margin import max_margin
    from skimlearn.solvers.one_pass_ball import one_pass_ball
    from skimlearn.solvers.primal_dual import LowRegret, Sampler, primal_dual
    from skimlearn.solvers.reductions import hard_margin, l2_svm, shortest_vector
    from skimlearn.solvers.simplex_qp import simplex_qp
    from skimlearn.solvers.soft_ball import soft_ball
    from skimlearn.solvers.soft_margin import SoftMargin, soft_margin, soft_margin_path
    from skimlearn.solvers.stream_ball import stream_ball
    from skimlearn.solvers.stream_margin import stream_margin

_HOMES = {
    "Budget": "skimlearn.result",
    "Certificate": "skimlearn.result",
    "EnclosingBall": "skimlearn.estimators.ball",
    "KernelClassifier": "skimlearn.estimators.kernel",
    "LinearClassifier": "skimlearn.estimators.classifier",
    "LinearClassifierCV": "skimlearn.estimators.cv",
    "LinearRegressor": "skimlearn.estimators.regressor",
    "LinearRegressorCV": "skimlearn.estimators.cv",
    "LowRegret": "skimlearn.solvers.primal_dual",
    "Matrix": "skimlearn.data.columns",
    "ModelError": "skimlearn.data.tensors",
    "Oracle": "skimlearn.data.oracle",
    "Result": "skimlearn.result",
    "RowStream": "skimlearn.data.stream",
    "Sampler": "skimlearn.solvers.primal_dual",
    "SoftMargin": "skimlearn.solvers.soft_margin",
    "Status": "skimlearn.result",
    "Store": "skimlearn.data.store",
    "StoreError": "skimlearn.data.store",
    "SublinearSVC": "skimlearn.estimators.sublinear",
    "SvmlightError": "skimlearn.data.svmlight",
    "Table": "skimlearn.data.tables",
    "TableError": "skimlearn.data.tables",
    "enclosing_ball": "skimlearn.solvers.ball",
    "export_onnx": "skimlearn.exchange.onnx",
    "fourier_features": "skimlearn.data.features",
    "from_sklearn": "skimlearn.exchange.sklearn",
    "hard_margin": "skimlearn.solvers.reductions",
    "iter_svmlight": "skimlearn.data.svmlight",
    "kernel_simplex_qp": "skimlearn.solvers.kernel_simplex_qp",
    "l2_svm": "skimlearn.solvers.reductions",
    "load": "skimlearn.estimators.saving",
    "matrix_game": "skimlearn.solvers.game",
    "max_margin": "skimlearn.solvers.margin",
    "one_pass_ball": "skimlearn.solvers.one_pass_ball",
    "open_store": "skimlearn.data.store",
    "primal_dual": "skimlearn.solvers.primal_dual",
    "read_liblinear": "skimlearn.exchange.liblinear",
    "read_svmlight": "skimlearn.data.svmlight",
    "read_table": "skimlearn.data.tables",
    "regularization_path": "skimlearn.estimators.path",
    "shortest_vector": "skimlearn.solvers.reductions",
    "simplex_qp": "skimlearn.solvers.simplex_qp",
    "sketch_features": "skimlearn.data.features",
    "soft_ball": "skimlearn.solvers.soft_ball",
    "soft_margin": "skimlearn.solvers.soft_margin",
    "soft_margin_path": "skimlearn.solvers.soft_margin",
    "stream_ball": "skimlearn.solvers.stream_ball",
    "stream_margin": "skimlearn.solvers.stream_margin",
    "to_sklearn": "skimlearn.exchange.sklearn",
    "write_liblinear": "skimlearn.exchange.liblinear",
    "write_svmlight": "skimlearn.data.svmlight",
}
_MODULES = {
    "datasets": "skimlearn.datasets",
    "kernels": "skimlearn.formulas.kernels",
    "losses": "skimlearn.formulas.losses",
    "regularizers": "skimlearn.formulas.regularizers",
    "report": "skimlearn.report",
}

__all__ = [
    "Budget",
    "Certificate",
    "EnclosingBall",
    "KernelClassifier",
    "LinearClassifier",
    "LinearClassifierCV",
    "LinearRegressor",
    "LinearRegressorCV",
    "LowRegret",
    "Matrix",
    "ModelError",
    "Oracle",
    "Result",
    "RowStream",
    "Sampler",
    "SoftMargin",
    "Status",
    "Store",
    "StoreError",
    "SublinearSVC",
    "SvmlightError",
    "Table",
    "TableError",
    "datasets",
    "enclosing_ball",
    "export_onnx",
    "fourier_features",
    "from_sklearn",
    "hard_margin",
    "iter_svmlight",
    "kernel_simplex_qp",
    "kernels",
    "l2_svm",
    "load",
    "losses",
    "matrix_game",
    "max_margin",
    "one_pass_ball",
    "open_store",
    "primal_dual",
    "read_liblinear",
    "read_svmlight",
    "read_table",
    "regularization_path",
    "regularizers",
    "report",
    "shortest_vector",
    "simplex_qp",
    "sketch_features",
    "soft_ball",
    "soft_margin",
    "soft_margin_path",
    "stream_ball",
    "stream_margin",
    "to_sklearn",
    "write_liblinear",
    "write_svmlight",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(importlib.import_module(_HOMES[name]), name)
    elif name in _MODULES:
        value = importlib.import_module(_MODULES[name])
    else:
        raise AttributeError(f"module 'skimlearn' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
