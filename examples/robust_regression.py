"""Regression that wrong targets do not lead astray.

    python examples/robust_regression.py

One target in ten is wrong by far. The squared loss follows it; Huber's and the absolute loss do
not. All of them are solved to a certified gap.
"""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from skimlearn import LinearRegressor, losses

rng = np.random.default_rng(0)
x = rng.uniform(0.0, 10.0, 300)
y = 2.0 + 0.5 * x + rng.normal(scale=0.3, size=300)
wrong = np.argsort(-x)[:60:2]  # a meter that fails when it is high
y[wrong] += rng.uniform(5.0, 15.0, 30)

figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
axes.plot(x, y, ".", color="lightgray", label="300 rows, 30 of them wrong")
for name, loss in {
    "squared": losses.Squared(),
    "Huber": losses.Huber(delta=0.5),
    "absolute": losses.Absolute(),
    "epsilon-insensitive": losses.EpsilonInsensitive(epsilon=0.2),
}.items():
    model = LinearRegressor(loss=loss, alpha=1e-6, tol=1e-6, random_state=0).fit(x[:, None], y)
    slope, start = float(model.coef_[0]), float(model.intercept_)
    gap = max(model.result_.certificate.relative_gap, 0.0)
    print(f"{name:20} slope {slope:.3f} (true 0.5), at 0: {start:.3f} (true 2), gap {gap:.0e}")
    axes.plot([0.0, 10.0], [start, start + 10.0 * slope], label=name)
axes.legend()
figure.savefig("robust_regression.png")
print("wrote robust_regression.png")
