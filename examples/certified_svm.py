"""A support vector machine, and how good it is.

    python examples/certified_svm.py

Spam or not: the fit stops when its answer is certified to be within 0.1 % of the optimum. The
picture shows how value and bound close in on it.
"""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from sklearn.model_selection import train_test_split

from skimlearn import LinearClassifier
from skimlearn.datasets import load_spam
from skimlearn.report import ConvergenceDisplay, MarginDisplay

X, y = load_spam()
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

model = LinearClassifier(loss="hinge", alpha=1e-4, tol=1e-3, random_state=0)
model.fit(X_train, y_train)
result = model.result_

print(result.certificate.words)
print(f"Accuracy on other mails: {model.score(X_test, y_test):.1%}.")
print(f"Read to learn: {result.reads.nnz / X_train.nnz:.1f} times the data.")

# A budget instead: twelve epochs, whatever comes out, with a proof of how good that is.
quick = LinearClassifier(loss="hinge", alpha=1e-4, max_epochs=12, tol=None, random_state=0)
quick.fit(X_train, y_train)
print(f"After twelve epochs it is within {quick.result_.certificate.relative_gap:.1%},", end=" ")
print(f"with an accuracy of {quick.score(X_test, y_test):.1%}.")

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
ConvergenceDisplay.from_estimator(model, ax=left, x="epochs", y="objective")
MarginDisplay.from_estimator(model, X_test, y_test, ax=right)
figure.savefig("certified_svm.png")
print("wrote certified_svm.png")
