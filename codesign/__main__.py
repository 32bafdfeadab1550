"""`python -m codesign`, where no script is on the path."""

from codesign.cli import main

if __name__ == "__main__":
    main()
