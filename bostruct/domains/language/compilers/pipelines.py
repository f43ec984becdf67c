"""Compile programs to scikit-learn pipelines."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from sklearn.base import BaseEstimator
from sklearn.pipeline import FeatureUnion, Pipeline

from bostruct.checks import short_repr
from bostruct.domains.language.compilers.flow import compile_program, describe_node, wrong_module
from bostruct.domains.language.compilers.implementations import UNION, SklearnStep
from bostruct.domains.language.errors import CompileError
from bostruct.domains.language.program import Backend, Node, Program


class PipelineStep(NamedTuple):
    """A step of a pipeline."""

    path: str
    name: str
    estimator: BaseEstimator


Branch: TypeAlias = tuple[PipelineStep, ...]  # the steps from the data to a node


def pipeline(program: Program) -> Pipeline:
    """Return the program as an unfitted pipeline.

    Raises CompileError if scikit-learn cannot express the program.
    """
    for what, names in (("input", program.inputs), ("output", tuple(program.outputs))):
        if len(names) != 1:
            raise CompileError(f"a pipeline has one {what}; the program has {', '.join(names) or 'none'}")
    branch = next(iter(compile_program(program, PipelineBackend(), {program.inputs[0]: ()}).values()))
    if not branch:
        raise CompileError("a pipeline needs at least one estimator; the program returns its input unchanged")
    return _pipeline(branch)


class PipelineBackend(Backend[Branch]):
    """The backend for pipelines: a node extends the branch that it reads."""

    def make(self, node: Node, inputs: dict[str, Branch]) -> Branch:
        for branch in inputs.values():
            if branch and not callable(getattr(branch[-1].estimator, "transform", None)):
                raise CompileError(f"{node.path} reads {branch[-1].path}, which does not transform its data")
        if node.implementation is UNION:
            return join_branches(node, inputs)
        if not isinstance(node.implementation, SklearnStep):
            raise wrong_module(node, "to_sklearn", "modules made by sklearn_module, and feature_union")
        return (*inputs["in"], PipelineStep(node.path, step_name(node.path), make_estimator(node)))


def make_estimator(node: Node) -> BaseEstimator:
    """Make the estimator of a node; raises CompileError."""
    try:
        made = node.implementation.make(**node.values)
    except Exception as error:
        raise CompileError(f"{describe_node(node)}: its estimator cannot be made: {error!r}") from error
    if not isinstance(made, BaseEstimator):
        raise CompileError(f"{describe_node(node)}: expected a scikit-learn estimator, got {short_repr(made)}")
    return made


def join_branches(node: Node, inputs: dict[str, Branch]) -> Branch:
    """Combine branches in parallel, after their common first steps."""
    branches = list(inputs.values())
    if len(branches) == 1:
        return branches[0]
    common = 0
    while all(len(b) > common for b in branches) and len({b[common].path for b in branches}) == 1:
        common += 1
    parts = [(name, _branch_estimator(branch[common:])) for name, branch in inputs.items()]
    return (*branches[0][:common], PipelineStep(node.path, step_name(node.path), FeatureUnion(parts)))


def _branch_estimator(branch: Branch) -> BaseEstimator | str:
    if len(branch) < 2:
        return branch[0].estimator if branch else "passthrough"
    return _pipeline(branch)


def _pipeline(branch: Branch) -> Pipeline:
    return Pipeline([(step.name, step.estimator) for step in branch])


def step_name(path: str) -> str:
    """Write a path as a step name that scikit-learn allows; it reads ``__`` as a parameter."""
    return path.replace("%", "%25").replace("__", "_%5F")
