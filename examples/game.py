"""A game with half a million payoffs that nobody has computed.

    python examples/game.py

Two sides of Colonel Blotto divide ten soldiers among five fields; a field goes to the larger troop.
A payoff is worked out when it is asked for. The value of the game is bracketed from a few rows and
columns, and the mixed strategies that prove it are short lists.
"""

from itertools import combinations

import numpy as np

from skimlearn import Oracle, matrix_game

SOLDIERS, FIELDS = 10, 5


def plans(soldiers, fields):
    """All ways to divide the soldiers among the fields."""
    bars = combinations(range(soldiers + fields - 1), fields - 1)
    cuts = np.array([(-1, *cut, soldiers + fields - 1) for cut in bars])
    return np.diff(cuts) - 1


mine, theirs = plans(SOLDIERS, FIELDS), plans(SOLDIERS - 1, FIELDS)  # they have one soldier less


def won(ours, others):
    """Fields won minus fields lost."""
    return np.sign(ours - others).sum(axis=1).astype(float)


game = Oracle(
    (len(theirs), len(mine)),  # the rows are what we have to fear
    row=lambda i: -won(mine, theirs[i]),
    column=lambda j: -won(mine[j], theirs),
)
answer = matrix_game(game, eps=0.02, random_state=0)
low, high = -answer.certificate.primal, -answer.certificate.dual
print(f"{len(mine):,} plans against {len(theirs):,}: {game.shape[0] * game.shape[1]:,} payoffs.")
print(
    f"With one soldier more we win {low:.2f} to {high:.2f} fields on average, proven from", end=" "
)
print(f"{answer.reads.nnz / (game.shape[0] * game.shape[1]):.0%} of them.")
print("What to play:")
for j in np.argsort(-answer.x)[:5]:
    print(f"  {answer.x[j]:5.1%}  {mine[j]}")
