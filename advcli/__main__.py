"""Where the program begins: `advcli` and `python -m advcli`."""

import gc
import sys


def main() -> None:
    """Import the program and run it. Ctrl-C ends it without a word from Python also while it is imported."""
    try:
        # What is imported stays: looking for garbage meanwhile finds none and takes a tenth of the time.
        gc.disable()
        from advcli.cli import main as run
    except KeyboardInterrupt:
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
