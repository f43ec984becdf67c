"""Which molecule of a library is most like a drug: 1,000 molecules, told apart by fingerprints, of which 60 are tried.

The library is made of a few molecules by random changes of their SELFIES strings, each of which is a molecule (Krenn et
al. 2020). Their Morgan fingerprints say how alike they are, by Tanimoto. It needs: pip install rdkit selfies
"""

import sys

import numpy as np

import bostruct as bo

try:
    import selfies
    from rdkit import Chem, RDLogger
    from rdkit.Chem import QED
except ModuleNotFoundError as missing:
    print(f"skipped, because {missing.name} is not installed: pip install rdkit selfies")
    sys.exit()

SEEDS = ["CC(=O)Oc1ccccc1C(=O)O", "CN1C=NC2=C1C(=O)N(C)C(=O)N2C", "CC(C)Cc1ccc(cc1)C(C)C(=O)O", "c1ccc2[nH]ccc2c1"]
SIZE, N_TRIALS = 1_000, 60
RDLogger.DisableLog("rdApp.*")


def change(string, rng):
    """Replace, insert or delete a symbol of a SELFIES string."""
    symbols, alphabet = list(selfies.split_selfies(string)), sorted(selfies.get_semantic_robust_alphabet())
    at, symbol = int(rng.integers(len(symbols))), alphabet[int(rng.integers(len(alphabet)))]
    kind = rng.integers(3) if len(symbols) > 1 else 0
    symbols[at : at + (kind != 1)] = [symbol] if kind < 2 else []
    return "".join(symbols)


def make_library(rng):
    """Return molecules as SMILES strings, each of them a change of an earlier one."""
    library = {Chem.CanonSmiles(one): selfies.encoder(one) for one in SEEDS}
    while len(library) < SIZE:
        parents = list(library.values())
        child = change(parents[int(rng.integers(len(parents)))], rng)
        molecule = Chem.MolFromSmiles(selfies.decoder(child))
        if molecule is not None and 6 <= molecule.GetNumHeavyAtoms() <= 40:
            library.setdefault(Chem.MolToSmiles(molecule), child)
    return list(library)


def likeness_to_drugs(point):
    """The quantitative estimate of drug-likeness (Bickerton et al. 2012), a stand-in for an assay."""
    return QED.qed(Chem.MolFromSmiles(point["molecule"]))


rng = np.random.default_rng(0)
molecules = rng.permutation(make_library(rng)).tolist()
best = max(likeness_to_drugs({"molecule": one}) for one in molecules)
for name, variable in {
    "fingerprints": bo.Candidates.from_smiles(molecules),
    "names alone": bo.Categorical(molecules),
}.items():
    result = bo.maximize(likeness_to_drugs, {"molecule": variable}, N_TRIALS, seed=0)
    print(f"by {name}: {result.best_value:.3f} of {best:.3f} after {N_TRIALS} of {SIZE:,} molecules")
    print("  ", result.best_point["molecule"])
