"""`python -m bostruct` is `bostruct`."""

from bostruct.cli import main

if __name__ == "__main__":
    main(prog_name="bostruct")
