"""One self-contained HTML page about runs, with its style and script."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Sequence
from typing import TypeAlias

from bostruct.analysis.fronts import find_corner
from bostruct.analysis.report import tables
from bostruct.analysis.report.facts import Run, read_run
from bostruct.analysis.report.pictures import draw_pictures
from bostruct.analysis.report.story import STATUSES, cut_end, tell_story
from bostruct.analysis.tables import format_corner, format_number
from bostruct.display import Html, element
from bostruct.output_files import check_page_ending, write_output
from bostruct.study.result import Result
from bostruct.study.study import Study

Sections: TypeAlias = list[tuple[str, list[Html]]]  # title and parts of each section
SHORT = frozenset({"Best points", "Model", "Importances", "Limits", "Failures", "Time"})  # shown side by side
MOST_RUNS = 12  # described in full in one page


def write_report(study_or_result: Study | Result, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write an HTML report of a run, with text, plots and tables.

    The page needs no network and no other file. Without matplotlib it has no plots. Tables of very many trials contain
    only the best and the last trials.

    Parameters
    ----------
    study_or_result : Study or Result
        The run. A `Study` also gives the name, the version and the file.
    path : str or path-like
        The file to write, which ends in ``.html`` or ``.htm``. An earlier report is replaced.
    overwrite : bool, default False
        If True, a file that bostruct did not write is replaced too, but never a database.

    Raises
    ------
    TypeError, ValueError
        If an argument is invalid.
    OutputRefused
        A FileExistsError, if the file must not be replaced.
    OSError
        If the file cannot be written.
    """
    check_page_ending(path)
    write_output(path, render_page([read_run(study_or_result)]), "page", overwrite=overwrite)


def render_page(runs: Sequence[Run], title: str = "", note: Html | None = None, script: str = "") -> str:
    """Return the page of some runs.

    note: content above the runs, if any.
    """
    title = title or (runs[0].name if runs else "No study")
    contents = [_list_sections(run) for run in runs[:MOST_RUNS]]
    main = element("main", note or "", *_write_runs(runs, contents), id="main", tabindex="-1")
    header = element("header", element("h1", title), _write_links(runs, contents))
    scripts = Html(SORT + script)
    source = "'self'" if script else "'none'"
    policy = f"default-src 'none'; img-src data:; style-src {_hash_text(STYLE)}; script-src {_hash_text(scripts)}; "
    policy += f"connect-src {source}; base-uri 'none'; form-action 'none'"
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="generator", content="bostruct"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", f"{title} – bostruct"),
        element("link", rel="icon", href="data:,"),
        element("noscript", element("meta", http_equiv="refresh", content="30")) if script else "",
        element("style", Html(STYLE)),
    )
    skip = element("a", "Skip to the report", href="#main", class_="skip")
    footer = element("footer", element("p", "Written by bostruct. Trials are counted from 0; times are in UTC."))
    body = element("body", skip, header, main, footer, element("script", scripts))
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def _hash_text(text: str) -> str:
    """Return the source expression of a Content-Security-Policy that allows only this inline text."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _write_links(runs: Sequence[Run], contents: Sequence[Sections]) -> Html:
    """Return links to the sections of a single run, or to the runs."""
    links = [(run.name, f"#run-{i}") for i, run in enumerate(runs[:MOST_RUNS])]
    if len(runs) == 1:
        links = [(title, f"#{_anchor(0, title)}") for title, _ in contents[0]]
    items = (element("li", element("a", cut_end(title, 60), href=href)) for title, href in links)
    return element("nav", element("ul", *items), aria_label="Contents") if links else Html("")


def _anchor(position: int, title: str) -> str:
    return f"run-{position}-{title.lower().replace(' ', '-')}"


def _write_runs(runs: Sequence[Run], contents: Sequence[Sections]) -> list[Html]:
    if not runs:
        return [element("p", "The file contains no study.")]
    if len(runs) == 1:
        return _write_sections(0, contents[0], "h2")
    pages = [_tabulate_runs(runs)]
    for i, (run, sections) in enumerate(zip(runs, contents, strict=False)):
        title = element("h2", run.name, id=f"run-{i}")
        pages.append(element("section", title, *_write_sections(i, sections, "h3"), aria_labelledby=f"run-{i}"))
    return pages


def _write_sections(position: int, sections: Sections, heading: str) -> list[Html]:
    written = []
    for title, parts in sections:
        anchor = _anchor(position, title)
        inside = element(heading, title, id=anchor), *parts
        written.append(element("section", *inside, aria_labelledby=anchor, class_="short" if title in SHORT else None))
    return written


def _tabulate_runs(runs: Sequence[Run]) -> Html:
    """Return a table with one row for each run: its method, goals, trials and best value."""
    cut = f" The first {MOST_RUNS} are described below; --name shows another." if len(runs) > MOST_RUNS else ""
    rows = []
    for run in runs:
        best = tables.format_value(run.result.best_value) if run.has_best else f"{len(run.front)} on the front"
        best = best if run.has_best or run.front else "–"
        rows.append([run.name, run.result.method, str(run.result.goals), *(run.counts[one] for one in STATUSES), best])
    header = ["study", "method", "goals", *STATUSES, "best value"]
    return tables.write_table(
        f"The studies of the file.{cut}", header, rows, numeric=range(3, 3 + len(STATUSES) + 1), sort=True
    )


def _list_sections(run: Run) -> Sections:
    """Return the sections of a run with their titles; sections without parts are left out."""
    result = run.result
    model, modules = tables.tabulate_model(run), tables.tabulate_modules(run)
    sections: Sections = [
        ("Story", tell_story(run)),
        ("Pictures", [element("div", *drawn, class_="figures")] if (drawn := draw_pictures(run)) else []),
        ("Best points", [tables.tabulate_best(run)] if run.has_best else []),
        ("Pareto front", [_write_volume(run), tables.tabulate_front(run)] if run.front else []),
        ("Program", [modules] if modules is not None else []),
        ("Model", [model] if model is not None else []),
        ("Importances", _write_effects(run)),
        ("Limits", [tables.tabulate_limits(run)] if result.goals.limits and result.list_completed() else []),
        ("Failures", [tables.tabulate_reasons(run)] if any(trial.reason for trial in result.trials) else []),
        ("Time", [tables.tabulate_time(run)] if run.busy is not None else []),
        ("Trials", [tables.tabulate_trials(run)] if result.trials else []),
        ("Settings", [tables.tabulate_origin(run), tables.tabulate_space(run)]),
    ]
    return [(title, parts) for title, parts in sections if parts]


def _write_volume(run: Run) -> Html:
    corner = find_corner([run.result])
    assert corner is not None  # there is a front
    volume = format_number(run.result.hypervolume(corner))
    return element("p", f"The front dominates a hypervolume of {volume} {format_corner(corner)}.")


def _write_effects(run: Run) -> list[Html]:
    several, parts = len(run.importances) > 1, []
    for k, found in enumerate(map(tables.clean_names, run.importances)):
        if found.main:
            title = f"Share of the variance{f' of objective {k}' if several else ''} that each explains"
            parts += [element("p", f"{line[0].upper()}{line[1:]}.", class_="note") for line in found.remarks]
            parts.append(tables.tabulate_effects(found, title))
    return parts


STYLE = """
:root{color-scheme:light dark;--page:#fff;--ink:#1b2530;--soft:#50606f;--line:#d5dce3;--tint:#f3f6f8;--link:#0a5a91;
--bad:#a32300}
@media (prefers-color-scheme:dark){:root{--page:#12171c;--ink:#e6ebf0;--soft:#a9b6c2;--line:#35414c;--tint:#1b2229;
--link:#7cc0f0;--bad:#ff9d80}img{filter:invert(1) hue-rotate(180deg) brightness(1.1)}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);font:16px/1.55 system-ui,"Segoe UI",Roboto,sans-serif}
header,main,footer{max-width:66rem;margin:0 auto;padding:0 1.25rem}
header{padding-top:1.5rem}footer{padding-bottom:2rem;color:var(--soft);font-size:.9rem}
h1{font-size:1.75rem;line-height:1.2;margin:0 0 .25rem}
h2{font-size:1.3rem;margin:2.2rem 0 .6rem;border-top:1px solid var(--line);padding-top:1.2rem}
h3{font-size:1.08rem;margin:1.8rem 0 .5rem}
h1,h2,h3,p,li,figcaption{overflow-wrap:anywhere}td,th,caption{overflow-wrap:break-word}
p{margin:.5rem 0;max-width:48rem}
a{color:var(--link)}nav ul{display:flex;flex-wrap:wrap;gap:.2rem 1.1rem;list-style:none;margin:.75rem 0 0;padding:0}
.skip{position:absolute;left:-99rem}.skip:focus{left:1rem;top:.5rem;
background:var(--page);padding:.4rem .8rem;z-index:2}
:focus-visible{outline:3px solid var(--link);outline-offset:2px}
.note,figcaption,caption{color:var(--soft)}
.alert{border-left:4px solid var(--bad);padding:.3rem .8rem;color:var(--bad)}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,27rem),1fr));gap:1.5rem;align-items:start}
figure{margin:0;min-width:0}figure:has(.wide){grid-column:1/-1}.wide{overflow-x:auto}
.wide img{width:100%;min-width:40rem;max-height:none}
img{display:block;max-width:100%;max-height:90rem;height:auto;margin:0 auto}figcaption{font-size:.88rem}
.scroll{overflow:auto;max-width:100%;max-height:40rem;margin:.8rem 0 1.4rem;
background:linear-gradient(to left,var(--page) 40%,transparent) 100% 0/3rem 100% no-repeat local,
linear-gradient(to left,rgba(128,128,128,.5),transparent) 100% 0/.9rem 100% no-repeat scroll}
table{border-collapse:collapse;font-size:.9rem;font-variant-numeric:tabular-nums}
caption{text-align:left;padding:.2rem 0 .4rem;position:sticky;left:0}
th,td{text-align:left;vertical-align:top;padding:.28rem .7rem;border-bottom:1px solid var(--line);
min-width:3.5rem;max-width:26rem}
th{font-weight:600}thead th{background:var(--tint);position:sticky;top:0;white-space:nowrap}
.w,.n{white-space:nowrap}.s{min-width:9rem}.n{text-align:right}
.facts td{max-width:46rem}
code{font:.88em ui-monospace,Consolas,monospace}
th button{font:inherit;color:inherit;background:none;border:0;padding:0;cursor:pointer;text-decoration:underline dotted}
[aria-sort=ascending] button::after{content:" \\2191"}[aria-sort=descending] button::after{content:" \\2193"}
@media (min-width:62rem){.short{display:inline-block;vertical-align:top;width:calc(50% - 1rem);margin-right:.9rem}}
@media print{.scroll{max-height:none;overflow:visible}.skip,nav{display:none}figure,tr{break-inside:avoid}
body{font-size:11pt}thead th{position:static}}
@media print and (prefers-color-scheme:dark){:root{--page:#fff;--ink:#000;--soft:#333;--line:#999;--tint:#eee;
--link:#000;--bad:#000}img{filter:none}}
"""


SORT = """
function addSorting(root){
  const read = (row, column) => row.cells[column].textContent;
  for (const table of root.querySelectorAll('table.sortable')) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      if (!head.textContent) return;
      const button = document.createElement('button');
      button.type = 'button';
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener('click', () => {
        const down = head.getAttribute('aria-sort') === 'ascending';
        heads.forEach(other => other.removeAttribute('aria-sort'));
        head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
        const body = table.tBodies[0];
        const rows = [...body.rows].map(row => [row, read(row, column), Number(read(row, column))]);
        rows.sort(([, a, x], [, b, y]) => {
          if (isNaN(x) !== isNaN(y)) return isNaN(x) ? 1 : -1;
          return (down ? -1 : 1) * (isNaN(x) ? a.localeCompare(b) : x - y);
        });
        body.append(...rows.map(([row]) => row));
      });
    });
  }
}
addSorting(document);
"""
