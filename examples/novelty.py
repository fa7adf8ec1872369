"""What has never been seen before.

    python examples/novelty.py

A ball around pictures of a zero says that other digits are new. It is the smallest one, up to a
certified part; with a kernel it may have any shape.
"""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score

from skimlearn import EnclosingBall

X, digit = load_digits(return_X_y=True)
X = X / 16.0
zeros, others = X[digit == 0], X[digit != 0]
known, held = zeros[::2], zeros[1::2]

scores = {}
for name, settings in {"ball": {}, "ball with a kernel": {"kernel": "rbf"}}.items():
    model = EnclosingBall(contamination=0.05, eps=1e-3, random_state=0, **settings).fit(known)
    certificate = model.result_.certificate
    values = np.concatenate([model.score_samples(held), model.score_samples(others)])
    is_zero = np.arange(len(values)) < len(held)
    print(f"{name}: within {certificate.shortfall:.2%} of the smallest,", end=" ")
    print(f"{np.mean(model.predict(others) == -1):.1%} of other digits are new,", end=" ")
    print(f"{np.mean(model.predict(held) == -1):.1%} of other zeros;", end=" ")
    print(f"area under the ROC curve {roc_auc_score(is_zero, values):.3f}.")
    scores[name] = values - model.offset_

figure, axes = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
for place, (name, values) in zip(axes, scores.items(), strict=True):
    place.hist(
        [values[: len(held)], values[len(held) :]], 30, density=True, label=["zeros", "others"]
    )
    place.axvline(0.0, color="black", lw=1)
    place.set(title=name, xlabel="inside of the ball, or out of it (negative)")
    place.legend()
figure.savefig("novelty.png")
print("wrote novelty.png")
