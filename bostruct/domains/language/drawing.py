"""Render spaces as text, Graphviz drawings and HTML pages, like Negrinho et al. 2019, figure 5."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from html import escape
from pathlib import Path
from typing import NamedTuple

from bostruct.checks import short_repr
from bostruct.domains.language.graph import DependentHyperparameter, Hyperparameter
from bostruct.domains.language.values import Value
from bostruct.domains.language.walk import MISSING, Walk
from bostruct.output_files import write_output

NEW, ASSIGNED, WAITING, PLAIN = "#cfe8cf", "#f4b6b0", "#eeeeee", "#ffffff"
VALUES_SHOWN = 6


class Port(NamedTuple):
    """The source of an input: an output of a module, or an input of the space.

    module: path of the module, None for an input of the space.
    """

    module: str | None
    name: str


class Box(NamedTuple):
    """A module in a drawing.

    waits: bool, True if it is an unexpanded substitution module.
    """

    inputs: dict[str, Port]
    outputs: tuple[str, ...]
    hyperparameters: dict[str, str]
    constants: Mapping[str, object]
    waits: bool


class Ellipse(NamedTuple):
    """A hyperparameter in a drawing.

    is_assigned: bool, True if it has a value.
    """

    text: str
    is_assigned: bool
    parents: tuple[str, ...]


class View(NamedTuple):
    """The visible part of a space."""

    boxes: dict[str, Box]
    ellipses: dict[str, Ellipse]
    outputs: dict[str, Port]
    gone: dict[str, Value]


def view(walk: Walk) -> View:
    """Return the visible part of a space after the choices of a walk."""
    boxes: dict[str, Box] = {}
    ellipses: dict[str, Ellipse] = {}
    for module in walk.reading_order():
        inputs = {}
        for name, port in module.inputs.items():
            output = walk.source(port)
            inputs[name] = (
                Port(None, walk.root_input_name(port)) if output is None else Port(output.module.path, output.name)
            )
        places = {name: h.path for name, h in module.hyperparameters.items()}
        waits = module.substitution is not None
        boxes[module.path] = Box(inputs, tuple(module.outputs), places, module.constants, waits)
        for h in module.hyperparameters.values():
            _add_ellipse(ellipses, h, walk)
    outputs = {}
    for name in sorted(walk.root.outputs):
        output = walk.resolve(walk.root.outputs[name], None)
        outputs[name] = Port(output.module.path, output.name)
    gone = {place: value for place, value in walk.values.items() if place not in ellipses}
    return View(boxes, ellipses, outputs, gone)


def _add_ellipse(ellipses: dict[str, Ellipse], h: Hyperparameter, walk: Walk) -> None:
    """Add a hyperparameter and all hyperparameters that it depends on."""
    if h.path in ellipses:
        return
    value = walk.value(h)
    if isinstance(h, DependentHyperparameter):
        parents = tuple(parent.path for parent in h.parents.values())
        text = f"a function of {', '.join(parents)}"
        for parent in h.parents.values():
            _add_ellipse(ellipses, parent, walk)
    else:
        shown = [_format_value(one) for one in h.values[:VALUES_SHOWN]]
        shown += [f"... {_format_value(h.values[-1])}"] if len(h.values) > VALUES_SHOWN else []
        parents, text = (), f"{{{', '.join(shown)}}}"
    ellipses[h.path] = Ellipse(text if value is MISSING else _format_value(value), value is not MISSING, parents)


def _format_value(value: Value) -> str:
    return short_repr(value, 30)


def view_text(seen: View) -> str:
    """Return one paragraph per module, from the inputs to the outputs."""
    lines: list[str] = []
    for place, box in seen.boxes.items():
        lines.append(f"{place} ..." if box.waits else place)
        lines += [f"  {name} <- {_describe_source(port)}" for name, port in box.inputs.items()]
        lines += [f"  {name} = {_format_value(value)}" for name, value in box.constants.items()]
        for name, h in box.hyperparameters.items():
            own = "" if h == f"{place}.{name}" else f"  ({h})"
            lines.append(f"  {name} = {seen.ellipses[h].text}{own}")
    lines += [f"{name} <- {_describe_source(port)}" for name, port in seen.outputs.items()]
    lines += [f"chosen: {place} = {_format_value(value)}" for place, value in seen.gone.items()]
    return "\n".join(lines)


def _describe_source(port: Port) -> str:
    return f"the input {port.name}" if port.module is None else f"{port.module}.{port.name}"


def view_dot(seen: View, before: View | None = None) -> str:
    """Draw modules as boxes and hyperparameters as ellipses, in the DOT language; unexpanded modules are gray."""
    lines = [
        "digraph space {",
        '  node [fontname="Helvetica", fontsize=11]; edge [fontname="Helvetica", fontsize=9, arrowsize=0.7];',
    ]
    names: dict[str, str] = {}
    for i, (place, box) in enumerate(seen.boxes.items()):
        names[place] = f"m{i}"
        is_new = before is not None and place not in before.boxes
        lines.append(f"  m{i} [shape=plain, label=<{_box_table(place, box, is_new)}>];")
    ends = dict.fromkeys(one.name for box in seen.boxes.values() for one in box.inputs.values() if one.module is None)
    lines += [f"  i{i} [shape=plaintext, label={_quote(name)}];" for i, name in enumerate(ends)]
    sources = {Port(None, name): f"i{i}" for i, name in enumerate(ends)}
    for place, box in seen.boxes.items():
        sources |= {Port(place, name): f"{names[place]}:o{i}:s" for i, name in enumerate(box.outputs)}
    for place, box in seen.boxes.items():
        lines += [f"  {sources[port]} -> {names[place]}:i{i}:n;" for i, port in enumerate(box.inputs.values())]
    for i, (name, port) in enumerate(seen.outputs.items()):
        lines += [f"  e{i} [shape=plaintext, label={_quote(name)}];", f"  {sources[port]} -> e{i};"]
    return "\n".join([*lines, *_ellipses(seen, before, names), "}", ""])


def _box_table(place: str, box: Box, is_new: bool) -> str:
    color = NEW if is_new else WAITING if box.waits else PLAIN
    rows = [_port_row("i", box.inputs), f'<TD BGCOLOR="{color}"><B>{escape(place)}</B></TD>']
    rows += [f'<TD ALIGN="LEFT">{escape(f"{k} = {_format_value(value)}")}</TD>' for k, value in box.constants.items()]
    rows += [f'<TD ALIGN="LEFT" PORT="p{i}">{escape(name)}</TD>' for i, name in enumerate(box.hyperparameters)]
    rows.append(_port_row("o", box.outputs))
    joined = "".join(f"<TR>{row}</TR>" for row in rows if row)
    return f'<TABLE BORDER="0" CELLBORDER="1" CELLSPACING="0" CELLPADDING="3">{joined}</TABLE>'


def _port_row(kind: str, names: Iterable[str]) -> str:
    cells = "".join(f'<TD PORT="{kind}{i}">{escape(name)}</TD>' for i, name in enumerate(names))
    table = f'<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0"><TR>{cells}</TR></TABLE>'
    return f'<TD CELLPADDING="0">{table}</TD>' if cells else ""


def _ellipses(seen: View, before: View | None, modules: Mapping[str, str]) -> Iterator[str]:
    drawn = dict(seen.ellipses)
    if before is not None:  # a value that was just assigned is shown once more, even if its module is gone
        late = {place: value for place, value in seen.gone.items() if place not in before.gone}
        late = {place: value for place, value in late.items() if not _is_assigned_in(before, place)}
        drawn |= {place: Ellipse(_format_value(value), True, ()) for place, value in late.items()}
    names = {place: f"h{i}" for i, place in enumerate(drawn)}
    for place, one in drawn.items():
        color = PLAIN
        if before is not None and one.is_assigned and not _is_assigned_in(before, place):
            color = ASSIGNED
        elif before is not None and place not in before.ellipses:
            color = NEW
        label = _quote(f"{place}\n{one.text}")
        yield f'  {names[place]} [shape=ellipse, style=filled, fillcolor="{color}", label={label}];'
        for parent in one.parents:
            yield f"  {names[parent]} -> {names[place]} [style=dotted];"
    placed: set[str] = set()
    for place, box in seen.boxes.items():
        for i, h in enumerate(box.hyperparameters.values()):
            style = "style=dashed, dir=none"
            if h in placed:  # only the first module fixes its position
                style += ", constraint=false"
            else:
                placed.add(h)
                yield f"  {{rank=same; {modules[place]}; {names[h]};}}"
            yield f"  {modules[place]}:p{i}:e -> {names[h]}:w [{style}];"


def _is_assigned_in(before: View, place: str) -> bool:
    return place in before.gone or (place in before.ellipses and before.ellipses[place].is_assigned)


def _quote(label: str) -> str:
    return '"' + label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


class Frame(NamedTuple):
    """One drawing of a page."""

    caption: str
    dot: str


def frames(walk: Walk, trace: Mapping[str, Value]) -> Iterator[Frame]:
    """Yield drawings of a space: the initial state, then the state after each choice of a trace."""
    walk = walk.copy()
    seen = view(walk)
    yield Frame("The space", view_dot(seen))
    while (h := walk.next()) is not None:
        walk.assign(h, trace[h.path])
        before, seen = seen, view(walk)
        yield Frame(f"{h.path} = {_format_value(trace[h.path])}", view_dot(seen, before))


def write_page(
    path: str | Path, title: str, drawn: Iterator[Frame], render: Callable[[str], str], *, overwrite: bool = False
) -> Path:
    """Write an HTML page with one figure per frame.

    overwrite: True also replaces a file that bostruct did not write, but never a database.

    With JavaScript, the page shows one figure at a time, with buttons or arrow keys. Raises OutputRefused, a
    FileExistsError, if the file must not be replaced; OSError.
    """
    figures = []
    for number, frame in enumerate(drawn):
        svg = render(frame.dot)
        caption = f"{number}. {escape(frame.caption)}"
        figures.append(f"<figure><figcaption>{caption}</figcaption>{svg[svg.index('<svg') :]}</figure>")
    page = PAGE.replace("TITLE", escape(title)).replace("FIGURES", "\n".join(figures))
    write_output(path, page, "page", overwrite=overwrite)
    return Path(path).expanduser()


PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="generator" content="bostruct">
<title>TITLE</title>
<style>
body { font-family: Helvetica, Arial, sans-serif; margin: 1.5rem; }
figure { margin: 0 0 2rem; }
figcaption { font-weight: bold; margin-bottom: 1rem; }
svg { max-width: 100%; height: auto; }
.stepped figure { display: none; }
.stepped figure.current { display: block; }
nav { display: none; margin-bottom: 1rem; }
.stepped nav { display: block; }
.new, .assigned { padding: 0 0.4em; border: 1px solid #888; }
.new { background: #cfe8cf; }
.assigned { background: #f4b6b0; }
</style>
<body>
<h1>TITLE</h1>
<p><span class="new">new</span> <span class="assigned">just given a value</span> since the frame before</p>
<nav><button data-by="-1">&larr;</button> <button data-by="1">&rarr;</button></nav>
FIGURES
<script>
const figures = [...document.querySelectorAll("figure")];
let at = 0;
function go(by) {
  at = Math.min(Math.max(at + by, 0), figures.length - 1);
  figures.forEach((figure, i) => figure.classList.toggle("current", i === at));
}
document.body.classList.add("stepped");
document.querySelectorAll("button").forEach(b => b.addEventListener("click", () => go(Number(b.dataset.by))));
document.addEventListener("keydown", e => go({ ArrowLeft: -1, ArrowRight: 1 }[e.key] || 0));
go(0);
</script>
</body>
</html>
"""
