"""Draw docs/images/report.png, the top of a report in a headless Chromium: python docs/report_page.py."""

import math
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import bostruct as bo

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
SPACE = {
    "scheduler": ["list", "modulo", "trace"],
    "unroll": bo.Ordinal([1, 2, 4, 8, 16]),
    "vectorize": bool,
    "tile": bo.Integer(1, 64, log=True),
}


def measure(point: dict) -> dict:
    """Return the seconds and the kilobytes of a program that is compiled so."""
    if point["scheduler"] == "trace" and point["unroll"] == 16:
        raise bo.Infeasible("out of registers: trace with unroll 16")
    scheduler = {"list": 3.0, "modulo": 1.0, "trace": 2.0}[point["scheduler"]]
    seconds = scheduler + 8 / point["unroll"] - point["vectorize"] + (math.log2(point["tile"]) - 4) ** 2 / 6
    return {"value": seconds, "constraints": {"kilobytes": point["unroll"] * point["tile"]}}


def main() -> None:
    """Run a study, write its report, and take a picture of the top of the page."""
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        sys.exit("docs/report_page.py: no Chromium is installed, and nothing was drawn")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        study = bo.Study(SPACE, seed=3, name="compiler flags", constraints={"kilobytes": ("<=", 128)})
        study.optimize(measure, 40, progress=False)
        page = Path(folder, "page.html")
        bo.write_report(study, page)
        out = Path(__file__).parent / "images" / "report.png"
        size = "--window-size=1100,1250"
        options = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", size, f"--screenshot={out}")
        subprocess.run([browser, *options, page.as_uri()], check=True, capture_output=True)


if __name__ == "__main__":
    main()
