"""Time to a target, side by side with other libraries on the same objective. See cli.py."""
