"""Write the reference of the package's public names from their docstrings, a page for each module."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from textwrap import dedent, indent
from types import GenericAlias, ModuleType

from bostruct.domains.space.variable import Variable

MODULES = {  # page by page: the module, and its content
    "bostruct": "Spaces, variables, studies, and everything else that most users need; `import bostruct as bo`.",
    "bostruct.methods": "Optimization methods with your own settings, for `method=`.",
    "bostruct.domains": "Clauses of constraints, families of layers, and the parts of a new kind of variable.",
    "bostruct.study": "Callbacks and stopping rules of `optimize`, and the outcomes that an objective may return.",
    "bostruct.problems": "Benchmark problems by name.",
    "bostruct.problems.maxsat": "Weighted MaxSAT: read and write formulas, generate problems, prove optima.",
    "bostruct.problems.landscape": "A benchmark over architectures whose value is a formula, without training.",
    "bostruct.problems.pest": "Pest control: a noisy benchmark over 25 choices.",
    "bostruct.language": "Search spaces written as programs.",
    "bostruct.nas": "Build and train networks in torch, and use them as objectives.",
    "bostruct.nas.ops": (
        "Layers of networks for `bostruct.language`. Each function but `padding` returns the inputs and outputs of a "
        "module: the input `in`, or `in0`, `in1`, ... for `concat` and `add`, and the output `out`. torch is loaded "
        "only when a program is compiled."
    ),
    "bostruct.integrations.configspace": "Read and write search spaces of ConfigSpace.",
    "bostruct.integrations.gpytorch": "Use kernels of bostruct in GPyTorch and BoTorch.",
    "bostruct.integrations.holo": "Use black boxes of poli and test functions of pytorch-holo as problems.",
    "bostruct.integrations.hyperopt": "Read trials of Hyperopt.",
    "bostruct.integrations.kernel_tuner": "Read search spaces, caches and results of Kernel Tuner.",
    "bostruct.integrations.optuna": "A sampler for Optuna, and copies of studies in Optuna's storage.",
    "bostruct.integrations.sklearn": "A hyperparameter search for scikit-learn.",
    "bostruct.contracts": "Base classes for your own domains, kernels, models, methods and storage back ends.",
    "bostruct.kernels": "Kernels, and the factors from which the kernel of a new kind of variable is built.",
    "bostruct.kernels.otmann": "Settings of OTMANN, the distance between architectures.",
    "bostruct.surrogates": "Gaussian process models, and priors for their hyperparameters.",
    "bostruct.acquisition": "Acquisition functions, and algorithms that maximize them.",
    "bostruct.searchers": "Parts of searchers with a model: the score of a candidate, and exploration.",
    "bostruct.storage": "Storage back ends, and the rows that they store.",
    "bostruct.execution": "Worker pools that evaluate trials.",
    "bostruct.testing": "Checks for your own parts.",
}
_SECTION = re.compile(r"^([A-Z]\w+(?: \w+)?)\n-{4,}$", re.MULTILINE)


def write_page(name: str, about: str) -> str:
    """Return the page of a module as Markdown.

    name: of the module.
    about: what it is for, a sentence.
    """
    module = importlib.import_module(name)
    entries = [format_entry(name, member, value) for member, value in list_public(module)]
    return "\n\n".join([f"# {name}", about, *entries]) + "\n"


def list_public(module: ModuleType) -> Iterator[tuple[str, object]]:
    """Yield the public names of a module and what they are: those of `__all__`, else what it or its files define."""
    names = getattr(module, "__all__", None) or [
        name
        for name, value in vars(module).items()
        if f"{getattr(value, '__module__', '')}.".startswith(f"{module.__name__}.") and not name.startswith("_")
    ]
    for name in sorted(names, key=str.lower):
        yield name, getattr(module, name)


def format_entry(module: str, name: str, value: object) -> str:
    """Return what the reference says of a class or function, with the public members of a class; of a value, its type.

    module: that the name is in.
    name: of the value.
    value: a class, a function or any other value.
    """
    head = f"## {name} {{ #{module}.{name} }}"
    if not inspect.isclass(value) and not inspect.isroutine(value):
        is_alias = isinstance(value, GenericAlias)
        return f"{head}\n\n" + (f"An alias of `{value}`." if is_alias else f"A value of type `{type(value).__name__}`.")
    parts = [head, format_signature(name, value), format_docstring(inspect.getdoc(value) or "")]
    if inspect.isclass(value):
        parts += [_format_member(module, value, member, one) for member, one in _list_members(value)]
    return "\n\n".join(part for part in parts if part)


def format_signature(name: str, value: object) -> str:
    """Return the signature as a block of code, a parameter a line where it is long; empty where there is none."""
    try:
        signature = inspect.signature(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return ""
    named = list(signature.parameters.values())
    if named and named[0].name == "self":
        signature = signature.replace(parameters=named[1:])
    if inspect.isclass(value):
        signature = signature.replace(return_annotation=signature.empty)
    text = f"{name}{_unquote(str(signature))}"
    if len(text) > 88 and signature.parameters:
        marks = _unquote(str(signature.replace(return_annotation=signature.empty)))[1:-1]
        returned = _unquote(str(signature))[len(marks) + 2 :]
        text = f"{name}(\n    " + ",\n    ".join(_split(marks)) + f",\n){returned}"
    return f"```python\n{text}\n```"


def _unquote(text: str) -> str:
    """Return a signature without the quotes of its annotations, which named tuples wrap."""
    text = re.sub(r"ForwardRef\(('[^']*'|\"[^\"]*\")\)", r"\1", text)
    return re.sub(r"(: |-> )'([^']*)'", r"\1\2", re.sub(r"(: |-> )\"([^\"]*)\"", r"\1\2", text))


def _split(parameters: str) -> list[str]:
    """Return the parameters of a signature, which are parted by the commas outside of all brackets."""
    parts, depth = [""], 0
    for character in parameters:
        depth += (character in "([{") - (character in ")]}")
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


def format_docstring(text: str) -> str:
    """Return a numpydoc docstring as Markdown: the entries of its sections become lists of definitions.

    text: without the indent.
    """
    return "\n\n".join(_format_section(title, body) for title, body in split_sections(text) if body)


def split_sections(text: str) -> list[tuple[str, str]]:
    """Return the title and the body of each section of a numpydoc docstring; what comes before them has no title.

    text: without the indent.
    """
    head, *rest = _SECTION.split(text.strip())
    return [("", head.strip()), *zip(rest[::2], (body.strip("\n") for body in rest[1::2]), strict=True)]


def list_parameters(text: str) -> set[str]:
    """Return the parameters or attributes that a numpydoc docstring describes.

    text: without the indent.
    """
    bodies = [body for title, body in split_sections(text) if title in ("Parameters", "Attributes")]
    return {
        name.strip("*")
        for body in bodies
        for names, _, text in list_entries(body)
        if text
        for name in names.split(", ")
    }


def list_entries(body: str) -> list[tuple[str, str, str]]:
    """Return the names, the type and the text of each entry of a section, such as of Parameters.

    body: of the section.
    """
    found = []
    for entry in re.split(r"\n(?=\S)", body):
        first, _, text = entry.partition("\n")
        names, _, kind = first.partition(" : ")
        found.append((names, kind, dedent(text)))
    return found


def _format_section(title: str, body: str) -> str:
    if title in ("", "Notes", "References", "See Also"):
        return f"**{title}**\n\n{body}" if title else body
    if title == "Examples":
        return f"**{title}**\n\n```pycon\n{body}\n```"
    items = []
    for names, kind, text in list_entries(body):
        name = ", ".join(f"`{one}`" for one in names.split(", "))
        items.append(
            (f"{name} : *{kind}*" if kind else name) + (f"\n:   {indent(text, '    ').lstrip()}" if text else "")
        )
    return f"**{title}**\n\n" + "\n\n".join(items)


def _list_members(value: type) -> Iterator[tuple[str, object]]:
    """Yield the public methods and properties of a class of this package, in the order of its source.

    A kind of variable has none: its methods are for the package, and the contract `Variable` has them.
    """
    if issubclass(value, Variable):
        return
    seen: set[str] = set()
    for base in (base for base in value.__mro__ if base.__module__.startswith("bostruct")):
        for name, one in vars(base).items():
            is_own = inspect.isfunction(one) or isinstance(one, property | classmethod | staticmethod)
            if is_own and not name.startswith("_") and name not in seen:
                yield name, one
            seen.add(name)


def read_docstring(owner: type, name: str) -> str:
    """Return the docstring of a member; an override without sections has those of its base.

    owner: a class with the member.
    name: of the member.
    """
    held = [vars(base)[name] for base in owner.__mro__ if name in vars(base)]
    texts = [text for one in held if (text := inspect.getdoc(getattr(one, "__func__", one)))]
    if not texts or _SECTION.search(texts[0]):
        return "".join(texts[:1])
    inherited = next((text[found.start() :] for text in texts[1:] if (found := _SECTION.search(text))), "")
    return f"{texts[0]}\n\n{inherited}".strip()


def _format_member(module: str, owner: type, name: str, value: object) -> str:
    text = read_docstring(owner, name)
    if not text:
        return ""
    head = f"### {owner.__name__}.{name} {{ #{module}.{owner.__name__}.{name} }}"
    signature = "" if isinstance(value, property) else format_signature(name, getattr(owner, name))
    return "\n\n".join(part for part in (head, signature, format_docstring(text)) if part)
