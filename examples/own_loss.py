"""A loss of one's own.

    python examples/own_loss.py

The pinball loss makes a regression of a quantile instead of the mean. Two methods in plain Python
are enough; they are compiled, every solver takes them, and the answer has a certificate.
"""

from dataclasses import dataclass

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from skimlearn import LinearRegressor, losses


@dataclass(frozen=True)
class Pinball(losses.Loss):
    """A prediction that is too low costs q for each unit, one that is too high 1 - q."""

    q: float = 0.5

    def value(self, z, y):
        """What the prediction z costs."""
        return max(self.q * (y - z), (self.q - 1.0) * (y - z))

    def slope(self, z, y):
        """The derivative in z."""
        return -self.q if z < y else 1.0 - self.q


rng = np.random.default_rng(0)
x = rng.uniform(0.0, 10.0, 1000)
y = 1.0 + 0.3 * x + rng.normal(size=1000) * (0.2 + 0.15 * x)  # the spread grows

figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
axes.plot(x, y, ".", ms=3, color="lightgray")
for q in (0.1, 0.5, 0.9):
    model = LinearRegressor(loss=Pinball(q), alpha=1e-6, random_state=0).fit(x[:, None], y)
    line = model.predict([[0.0], [10.0]])
    below = np.mean(y < model.predict(x[:, None]))
    print(f"q={q}: {below:.1%} of the targets are below the line;", model.result_.status.value)
    axes.plot([0.0, 10.0], line, lw=2, label=f"quantile {q}")
axes.legend()
figure.savefig("own_loss.png")
print("wrote own_loss.png")
