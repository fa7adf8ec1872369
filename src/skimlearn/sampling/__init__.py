"""Drawing at random from changing and from fixed weights, and estimating from draws."""
