"""``python -m skimlearn`` is the command ``skim``."""

from skimlearn.cli import main

if __name__ == "__main__":
    main()
