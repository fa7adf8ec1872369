"""What a solver may read."""
