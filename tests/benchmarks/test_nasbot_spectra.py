"""Spectra of NASBOT's Gram matrices: what the command prints."""

from __future__ import annotations

import re

from benchmarks import nasbot_spectra


def test_the_command_tells_shares_and_eigenvalues(capsys):
    nasbot_spectra.main(["--seeds", "1", "--trials", "14"])
    shares, told = capsys.readouterr().out.splitlines()
    assert shares.startswith("shares of the terms: 0.09 0.10 0.13 0.18 0.09 0.10 0.13 0.18")
    assert re.fullmatch(r"seed 0: 0% of 2 indefinite, down to \d\S*", told)
