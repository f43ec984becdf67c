"""Draw the pictures of docs/plots.md into docs/images/plots, by running its lines: python docs/plot_pictures.py."""

import re
import sys
import tempfile
from contextlib import chdir
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

PAGE = Path(__file__).parent / "plots.md"
STYLE: Any = {"font.size": 10, "svg.hashsalt": "bostruct", "svg.fonttype": "path"}  # the same file every time
PART = re.compile(r"```python\n(.*?)```|\]\(images/plots/([\w-]+)\.svg\)", re.DOTALL)


def draw_pictures(folder: Path) -> None:
    """Run the code of the page, and save `axes` wherever the page shows a picture.

    folder: where the pictures are written; it exists.
    """
    names: dict[str, Any] = {}
    folder = folder.resolve()
    with mpl.rc_context(STYLE), tempfile.TemporaryDirectory() as elsewhere, chdir(elsewhere):  # the page writes a report
        for code, picture in PART.findall(PAGE.read_text(encoding="utf-8")):
            if code:
                exec(code, names)
            else:
                figure = np.ravel(names["axes"])[0].figure
                path = folder / f"{picture}.svg"
                figure.savefig(path, bbox_inches="tight", facecolor="white", metadata={"Date": None})


if __name__ == "__main__":
    draw_pictures(Path(sys.argv[1]) if sys.argv[1:] else PAGE.parent / "images" / "plots")
