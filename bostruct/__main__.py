"""The command line: `python -m bostruct` is the same as `bostruct`."""

from bostruct.cli import main

if __name__ == "__main__":
    main(prog_name="bostruct")
