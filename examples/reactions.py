"""Which ligand, base and solvent give the largest yield: parts of a reaction that are alike as their molecules are.

    python examples/reactions.py [TABLE]

TABLE is a file of comma-separated values, which may be packed as .xz: one reaction a row, the SMILES strings of its
parts, the yield last. Without one a table is generated. The picture is reactions.svg.
"""

import csv
import hashlib
import lzma
import sys

import numpy as np

import bostruct as bo

N_TRIALS, SEEDS = 40, range(3)
PARTS = {  # of the generated table
    "ligand": ["CP(C)C", "CCP(CC)CC", "CCCP(CCC)CCC", "CCCCP(CCCC)CCCC", "CC(C)P(C(C)C)C(C)C", "CC(C)(C)P(C)C",
        "CC(C)(C)P(C(C)(C)C)C", "CC(C)(C)P(C(C)(C)C)C(C)(C)C", "COP(OC)OC", "CCOP(OCC)OCC",
        "CC(C)OP(OC(C)C)OC(C)C", "CP(C)c1ccccc1", "CP(c1ccccc1)c1ccccc1", "c1ccc(P(c2ccccc2)c2ccccc2)cc1",
        "COc1ccc(P(C)C)cc1"],
    "base": ["CCN(CC)CC", "CCN(C(C)C)C(C)C", "CN(C)C", "CC(=O)[O-].[K+]", "CC(=O)[O-].[Na+]",
        "C(=O)([O-])[O-].[K+].[K+]", "C(=O)([O-])[O-].[Cs+].[Cs+]", "[OH-].[Na+]", "[OH-].[K+]",
        "CC(C)(C)[O-].[Na+]", "CC(C)(C)[O-].[K+]"],
    "solvent": ["CO", "CCO", "CCCO", "CC(C)O", "CC#N", "CCC#N", "CN(C)C=O", "CC(=O)N(C)C", "C1CCOC1",
        "C1COCCO1", "COCCOC", "Cc1ccccc1", "CCc1ccccc1", "Cc1ccccc1C", "CS(C)=O"],
}  # fmt: skip


def read(path):
    """Return the parts of a table and the yields of their combinations, as shares of the largest one."""
    opened = lzma.open if path.endswith(".xz") else open
    with opened(path, "rt", encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    columns = [sorted({row[i] for row in rows}) for i in range(len(head) - 1)]
    parts = {name: column for name, column in zip(head, columns, strict=False) if len(column) > 1}
    own = [head.index(name) for name in parts]
    most = max(float(row[-1]) for row in rows)
    return parts, {tuple(row[i] for i in own): float(row[-1]) / most for row in rows}


def generate():
    """Return the parts above and yields that depend on fragments of their molecules, and on which meet."""
    rng = np.random.default_rng(0)
    features = {name: fingerprints(molecules) @ rng.normal(size=(256, 2)) for name, molecules in PARTS.items()}
    ligand, base, solvent = ((one - one.mean(axis=0)) / one.std(axis=0) for one in features.values())
    worth = ligand[:, None, None, 0] + base[:, None, 0] + solvent[:, 0] + ligand[:, None, None, 1] * solvent[:, 1]
    worth = worth + 0.3 * rng.normal(size=worth.shape)
    shares = 1.0 / (1.0 + np.exp(worth.max() - worth))
    names = list(PARTS.values())
    return PARTS, {
        tuple(own[k] for own, k in zip(names, at, strict=True)): share / shares.max()
        for at, share in np.ndenumerate(shares)
    }


def fingerprints(molecules):
    """Tell which fragments of up to 4 characters the SMILES strings have, hashed to 256 bits."""
    bits = np.zeros((len(molecules), 256), dtype=int)
    for row, text in zip(bits, molecules, strict=True):
        for length in range(1, 5):
            for start in range(len(text) - length + 1):
                row[hashlib.blake2b(text[start : start + length].encode(), digest_size=1).digest()[0]] = 1
    return bits


parts, yields = read(sys.argv[1]) if len(sys.argv) > 1 else generate()
is_whole = len(yields) == np.prod([len(column) for column in parts.values()])
measured = () if is_whole else (lambda point: tuple(point.values()) in yields,)
alike = {name: bo.Categorical(column, descriptors=fingerprints(column)) for name, column in parts.items()}
SEARCHES = {
    "auto, parts with fingerprints": (alike, "auto"),
    "auto, parts without": (parts, "auto"),
    "random": (parts, "random"),
}

curves = {}
for label, (variables, method) in SEARCHES.items():
    space = bo.Space(variables, measured)
    runs = [
        bo.maximize(lambda point: yields[tuple(point.values())], space, N_TRIALS, method=method, seed=seed)
        for seed in SEEDS
    ]
    curves[label] = np.mean([np.maximum.accumulate([trial.value for trial in run.trials]) for run in runs], axis=0)
    print(f"{label}: {curves[label][-1]:.1%} of the largest yield after {N_TRIALS} of {len(yields)} reactions")
    print("  the best of the last run:", runs[-1].best_point)

try:
    from matplotlib.figure import Figure
except ModuleNotFoundError:
    print("no picture: pip install matplotlib")
else:
    figure = Figure(figsize=(6, 3.5), layout="constrained")
    axes = figure.subplots()
    for label, curve in curves.items():
        axes.step(np.arange(1, N_TRIALS + 1), 100.0 * curve, where="post", label=label)
    axes.set(xlabel="reactions tried", ylabel="best yield, % of the largest")
    axes.legend()
    figure.savefig("reactions.svg")
