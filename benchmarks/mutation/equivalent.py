"""Mutants without an observable effect, by `Mutant.key`, each with the reason."""

EQUIVALENT: dict[str, str] = {
    "bostruct/domains/joint.py Joint.check: True -> False": "zip(strict=): the lengths were compared before",
    "bostruct/analysis/slices.py _lay_line: True -> False": "zip(strict=): one is made of the other",
    "bostruct/kernels/otmann/distance.py plot_transport: right[-1][0] - left[0][0] -> right[-1][0] + left[0][0]": (
        "the input is alone at its depth, and so at 0"
    ),
    "bostruct/comparison/statistics.py method_rows: True -> False": "zip(strict=): both are made of one list",
}
