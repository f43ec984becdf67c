"""Figures of the words: functions named by a participle, British spellings.

A function is named by a participle if the last word of its name ends in -ed or is in `IRREGULAR`. Predicates are
exempt: functions named `is_` or `has_`, and functions that return a bool, which read as adjectives (`study.stopped`).
"""

from __future__ import annotations

import ast
import re

from benchmarks.house.figures import Figure
from benchmarks.house.source import File, Function

# Participles with other endings, except forms that equal the verb (put, set, cut, read, run, become, split).
_FORMS = """
    arisen awoken beaten been begotten begun bent bidden bitten blown born borne bought bound bred broken brought
    built burnt caught chosen clad clung crept dealt done drawn dreamt driven drunk dug eaten fallen fed felt fled
    flown forbidden foreseen forgiven forgone forgotten fought found frozen given gone got gotten graven grown heard
    held hewn hidden hung kept knelt known laid lain leant learnt led left lent lit lost made meant met mistaken mown
    outdone outgrown overgrown overridden overseen overthrown paid proven rebound rebuilt redone redrawn
    remade retaken rewritten ridden risen rung said sat sawn seen sent sewn shaken shaven shod shone shorn shot shown
    shrunk slept slid slung sold sought sown spelt spent spilt spoilt spoken spun stolen stood strewn stricken striven
    struck stuck stung sung sunk swept swollen sworn swum swung taken taught thought thriven thrown told torn trodden
    unbound unbroken unbuilt unchosen undergone underlain understood undertaken undone undrawn unfound ungiven unheld
    unkept unknown unmade unmet unsaid unseen unsent unshown unspent untaken untold unwound unwritten upheld wept
    withdrawn withheld won worn wound woven written wrung
"""
IRREGULAR = frozenset(_FORMS.split())
# Words that end in -ed and are not participles.
_WORDS = "bed bleed breed creed deed embed exceed feed heed need proceed red reed seed shed sled speed succeed weed"
PLAIN = frozenset(_WORDS.split())

STORED = {"Labelled"}  # names in stored studies
CITED = re.compile(r"Bayesian\s+optimisation and optimal transport")  # the title of Kandasamy et al. 2018
BRITISH = re.compile(
    r"(?<![a-z])(?:re|un|de|non|pre)?(?:"
    r"(?:capital|categor|character|custom|diagonal|discret|emphas|equal|factor|final|formal|general|hypothes|initial"
    r"|linear|local|marginal|maxim|memor|minim|neutral|normal|optim|organ|parallel|penal|priorit|quant|random|real"
    r"|recogn|regular|serial|special|stabil|standard|summar|symbol|synchron|token|util|vector|visual|winsor)"
    r"is(?:e|ed|es|er|ers|ing|ation|ations|able)"
    r"|(?:neighbour|colour|behaviour|favour|honour|labour|flavour)[a-z]*"
    r"|analys(?:e|ed|er|ing)|centre[ds]?|metres?|(?:cancell|labell|levell|modell|signall|travell)(?:ed|ing|er|ers)"
    r"|artefacts?|amongst|catalogues?|defence|fulfil|grey|learnt|licences?|programmes?|whilst"
    r")(?![a-z])",
    re.IGNORECASE,
)


def participles(files: list[File]) -> Figure:
    """Return the percentage of functions that are named by a participle."""
    everything = [(file, node) for file in files for node in file.functions]
    named = [f"{file.place(node.lineno)} {node.name}" for file, node in everything if is_participle(node)]
    share = 100 * len(named) / max(len(everything), 1)
    return Figure("functions named by a participle, %", round(share, 1), tuple(named))


def is_participle(node: Function) -> bool:
    """Return whether a function is named by a participle and is not a predicate."""
    words = node.name.strip("_").split("_")
    last = words[-1].lower()
    if words[0] in ("is", "has") or (node.returns is not None and ast.unparse(node.returns) == "bool"):
        return False
    return (last.endswith("ed") and last not in PLAIN) or last in IRREGULAR


def british(texts: dict[str, str]) -> Figure:
    """Count words with British spelling. texts: texts by file name."""
    own = {name: CITED.sub("", text) for name, text in texts.items()}
    found = {name: [word for word in BRITISH.findall(text) if word not in STORED] for name, text in own.items()}
    places = [f"{name}: {len(words)} ({_most_frequent(words)})" for name, words in found.items() if words]
    return Figure("British spellings", sum(map(len, found.values())), tuple(places))


def _most_frequent(words: list[str]) -> str:
    kinds = sorted({word.lower() for word in words}, key=lambda kind: -sum(word.lower() == kind for word in words))
    return ", ".join(kinds[:4])
