"""Spaces as text, drawings and pages: what is there is shown, and what is new or just chosen stands out."""

import re
import shutil
from html.parser import HTMLParser

import numpy as np
import pytest

from bostruct import language as lang
from bostruct.contracts import MissingExtra
from bostruct.domains.language import drawing
from bostruct.language import SearchSpace, TraceError
from tests.domains.language.programs import enas_space, figure_4, lstm_space

BUILDERS = [figure_4, lstm_space, enas_space]


def drawn(builder, seed=0):
    space = SearchSpace(builder)
    return space, space.sample(1, np.random.default_rng(seed))[0]


def test_figure_5_frame_a_as_text():
    def builder():
        def conv():
            return lang.siso_module("Conv2D", {"filters": lang.D([64, 128])})

        h_n = lang.D([1, 2, 4])
        twice = lang.DependentHyperparameter(lambda dh: 2 * dh["x"], {"x": h_n})
        first, end = conv(), lang.combiner(2, "Concat")
        for i, h in enumerate((h_n, twice)):
            inputs, outputs = lang.siso_repeat(conv, h)
            inputs["in"].connect(first[1]["out"])
            end[0][f"in{i}"].connect(outputs["out"])
        return first[0], end[1]

    assert SearchSpace(builder).to_text().splitlines() == [
        "Conv2D-0",
        "  in <- the input in",
        "  filters = {64, 128}",
        "SISORepeat-0 ...",
        "  in <- Conv2D-0.out",
        "  num_reps = {1, 2, 4}",
        "SISORepeat-1 ...",
        "  in <- Conv2D-0.out",
        "  num_reps = a function of SISORepeat-0.num_reps",
        "Concat-0",
        "  in0 <- SISORepeat-0.out",
        "  in1 <- SISORepeat-1.out",
        "out <- Concat-0.out",
    ]
    chosen = SearchSpace(builder).assign("SISORepeat-0.num_reps", 1).to_text().splitlines()
    assert chosen[-2:] == ["out <- Concat-0.out", "chosen: SISORepeat-0.num_reps = 1"]
    places = [line for line in chosen if line.startswith("SISORepeat-1")]
    assert places == ["SISORepeat-1/Conv2D-0", "SISORepeat-1/Conv2D-1"]


@pytest.mark.parametrize("builder", BUILDERS)
def test_text_shows_every_module_choice_and_edge_once_and_in_reading_order(builder):
    space, trace = drawn(builder)
    program = space.present(trace)
    lines = program.to_text().splitlines()
    places = [line for line in lines if not line.startswith(" ") and "<-" not in line and not line.startswith("chosen")]
    assert len(set(places)) == len(places)
    assert {node.path for node in program.nodes} <= set(places)
    for i, line in enumerate(lines):
        if line.startswith("  ") and "<-" in line and "the input" not in line:
            source = line.split("<- ")[1].rpartition(".")[0]
            assert lines.index(source) < i
    for place, value in trace.items():
        local = place.rpartition(".")[2]
        assert any(place in line or line.startswith(f"  {local} = {value!r}") for line in lines)


def nodes_and_edges(dot):
    nodes = re.findall(r"^  (\w+) \[", dot, re.MULTILINE)
    edges = re.findall(r"^  (\w+)(?::([iop]\d+))?(?::[nesw])? -> (\w+)(?::([iop]\d+))?", dot, re.MULTILINE)
    tables = [line for line in dot.splitlines() if "shape=plain," in line]
    ports = {line.split()[0]: set(re.findall(r'PORT="(\w+)"', line)) for line in tables}
    return nodes, edges, ports


@pytest.mark.parametrize("builder", BUILDERS)
@pytest.mark.parametrize("is_open", [True, False])
def test_drawings_connect_only_what_they_draw(builder, is_open):
    space, trace = drawn(builder)
    shown = space if is_open else space.replay(trace)
    nodes, edges, ports = nodes_and_edges(shown.to_dot())
    assert len(set(nodes)) == len(nodes)
    for source, source_port, target, target_port in edges:
        assert {source, target} <= set(nodes)
        assert not source_port or source_port in ports[source]
        assert not target_port or target_port in ports[target]
    seen = drawing.view(shown._walk)
    reads = sum(len(box.inputs) for box in seen.boxes.values())
    uses = sum(len(box.hyperparameters) for box in seen.boxes.values())
    depends = sum(len(one.parents) for one in seen.ellipses.values())
    assert len(edges) == reads + uses + depends + len(seen.outputs)


def test_values_that_mean_something_to_graphviz_or_html_are_escaped():
    odd = 'a<b> & "c\\d"'

    def builder():
        return lang.siso_module("Odd", {"constant": odd, "choice": lang.D([odd, "plain"])})

    space = SearchSpace(builder)
    dot = space.to_dot()
    assert "constant = &#x27;a&lt;b&gt; &amp; &quot;c" in dot
    label = next(line for line in dot.splitlines() if "ellipse" in line)
    assert r"\"c\\\\d\"" in label


def test_many_values_are_cut():
    space = SearchSpace(lambda: lang.siso_module("M", {"n": lang.D(range(1000))}))
    assert "n = {0, 1, 2, 3, 4, 5, ... 999}" in space.to_text()


@pytest.mark.parametrize("builder", BUILDERS)
def test_each_frame_marks_what_is_new_and_what_was_just_chosen(builder):
    space, trace = drawn(builder)
    frames = list(drawing.frames(space._walk, trace))
    assert len(frames) == 1 + len(trace)
    assert drawing.NEW not in frames[0].dot
    assert drawing.ASSIGNED not in frames[0].dot
    chosen = []
    for frame in frames[1:]:
        red = re.findall(rf'fillcolor="{drawing.ASSIGNED}", label="(.*?)\\n', frame.dot)
        place = frame.caption.partition(" = ")[0]
        assert place in red  # and what depends on it
        chosen.append(place)
    assert set(chosen) == set(trace)
    last = drawing.view(space.replay(trace)._walk)
    green = re.findall(rf'BGCOLOR="{drawing.NEW}"><B>(.*?)</B>', "".join(frame.dot for frame in frames))
    first = drawing.view(space._walk)
    assert set(last.boxes) - set(first.boxes) <= set(green)


def test_what_follows_from_a_choice_is_red_with_it():
    def builder():
        h = lang.D([1, 2])
        twice = lang.DependentHyperparameter(lambda dh: 2 * dh["x"], {"x": h})
        return lang.siso_module("M", {"a": h, "b": twice})

    first, second = drawing.frames(SearchSpace(builder)._walk, {"M-0.a": 2})
    assert (first.caption, second.caption) == ("The space", "M-0.a = 2")
    assert re.findall(rf'"{drawing.ASSIGNED}", label="(.*?)"', second.dot) == [r"M-0.a\n2", r"M-0.b\n4"]


class Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.links = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href")]


def test_a_page_holds_all_frames_and_needs_nothing_else(tmp_path):
    space, trace = drawn(figure_4)
    drawn_sources = []

    def render(dot):
        drawn_sources.append(dot)
        return f"<?xml version='1.0'?>\n<svg id='{len(drawn_sources)}'></svg>"

    path = space.transitions(trace, tmp_path / "page.html", render)
    page = path.read_text(encoding="utf-8")
    reader = Reader()
    reader.feed(page)
    assert reader.tags.count("figure") == reader.tags.count("svg") == len(drawn_sources) == 1 + len(trace)
    assert reader.links == []
    assert "<?xml" not in page
    assert all(f"{place} = {value}" in page for place, value in trace.items())


def test_a_trace_of_another_space_draws_nothing(tmp_path):
    space, _ = drawn(figure_4)
    with pytest.raises(TraceError):
        space.transitions({"nowhere": 1}, tmp_path / "page.html", str)
    assert not list(tmp_path.iterdir())


def test_a_drawing_is_an_svg_or_says_what_is_missing(tmp_path):
    pytest.importorskip("graphviz")
    space, trace = drawn(figure_4)
    if shutil.which("dot") is None:
        with pytest.raises(MissingExtra, match="Graphviz program 'dot'"):
            space.to_svg()
        return
    svg = space.to_svg()
    assert "<svg" in svg
    assert "Concat" in svg
    assert space.transitions(trace, tmp_path / "page.html").stat().st_size > 10_000
