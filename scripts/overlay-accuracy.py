#!/usr/bin/env python3
"""Real pulses, laid over one another: remakes the table of docs/accuracy-overlay.md and the figures of its plot.

The capture is gdgem/vmm3a_srs.pcapng of the reference data, in the folder that EVFORGE_SHARED names (../shared unless
told otherwise). Its isolated neutrons are copied 1 to 200 times; of each overlay events are formed with clusters
that are joined, as in 2018, and with those that are paired one to one. `make pictures` draws the plot from the figures.

    scripts/overlay-accuracy.py [--show [--copies 1 5 10]]

--show prints the tables and changes no file. Fails if less of what could be told apart is found at 1, 5 and 10 copies
than DEMANDED says.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
EVFORGE = os.environ.get("EVFORGE", str(ROOT / "target/release/evforge"))
DOCUMENT = ROOT / "docs/accuracy-overlay.md"
FIGURES = ROOT / "docs/pictures/accuracy-overlay.json"
SHIPPED = ROOT / "configs/gdgem-srs.toml"
# The shortest time between two readouts of one channel in the capture, as evforge overlay prints it.
DEAD_TIME = "277ns"
STRETCH = "20"
COPIES = [1, 2, 5, 10, 20, 50, 100, 200]
# What makes clusters be paired: left out, they are joined.
PAIRING = re.compile(r"^(ambiguous|usual|y_delay|time_gap_of)\s*=.*\n", re.MULTILINE)
GAPS = [f'gdgem.clustering.{plane}.max_time_gap="200ns"' for plane in "xy"]
JOINED = GAPS + ['gdgem.matching.by="end"', 'gdgem.matching.max_difference="200ns"']
# Least share of the resolvable neutrons found, in percent, by the shipped configuration.
DEMANDED = {1: 100.0, 5: 99.3, 10: 98.5}


def run(*arguments):
    """Runs evforge and returns what it prints."""
    done = subprocess.run([EVFORGE, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, arguments))}\n{done.stderr}")
    return done.stdout


def settings(overrides):
    """Overrides as arguments."""
    return [argument for override in overrides for argument in ("--set", override)]


def rate(hertz):
    """A rate with a prefix and three digits."""
    for unit, name in ((1e6, "MHz"), (1e3, "kHz")):
        if hertz >= unit:
            return f"{float(f'{hertz / unit:.3g}'):g} {name}"
    return f"{float(f'{hertz:.3g}'):g} Hz"


def percent(share):
    """A share in percent; a dash for a share of nothing."""
    return "–" if share is None else f"{100 * share:.2f} %"


def point(score):
    """What a plot shows of a score: crates/lab/src/plots/figures.rs has the meaning."""
    return {
        "neutrons_per_second": score["neutrons_per_second"],
        "neutrons": score["all"]["neutrons"],
        "found": score["all"]["found"],
        "resolvable": score["resolvable"]["neutrons"],
        "resolvable_found": score["resolvable"]["found"],
        "events": score["events"]["events"],
        "ghosts": score["events"]["ghosts"],
    }


def table(titles, rows):
    """A table in Markdown."""
    lines = [titles, ["---:"] * len(titles), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def put(document, name, text):
    """The document with this table between its two lines."""
    pattern = re.compile(rf"(<!-- {re.escape(name)} -->\n).*?(<!-- end -->)", re.DOTALL)
    document, count = pattern.subn(lambda found: found[1] + text + found[2], document)
    if count != 1:
        sys.exit(f"{DOCUMENT}: no line `<!-- {name} -->` with a line `<!-- end -->` behind it")
    return document


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--copies", type=int, nargs="+", default=COPIES)
    parser.add_argument("--show", action="store_true", help="print the tables and change no file")
    arguments = parser.parse_args()
    if not arguments.show and arguments.copies != COPIES:
        sys.exit("the tables of the document have all copies: leave out --copies, or give --show")
    shared = pathlib.Path(os.environ.get("EVFORGE_SHARED", ROOT.parent / "shared"))
    capture = shared / "captures/gdgem/vmm3a_srs.pcapng"
    if not capture.is_file():
        sys.exit(f"{capture} is not there: EVFORGE_SHARED must name the folder with the reference data")

    failed = []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        joining = folder / "joining.toml"
        joining.write_text(PAIRING.sub("", SHIPPED.read_text()))
        variants = {
            "joined": (joining, JOINED),
            "one to one": (SHIPPED, []),
        }
        runs = {name: [] for name in variants}
        for copies in arguments.copies:
            overlay, truth = folder / "overlay.pcapng", folder / f"truth-{copies}.csv"
            # What a label is does not depend on how clusters are paired that stand alone.
            run("overlay", "--config", joining, *settings(JOINED), "--input", capture, "--stretch", STRETCH,
                "--copies", copies, "--dead-time", DEAD_TIME, "--output", overlay, "--truth", truth)
            for name, (config, overrides) in variants.items():
                events, scored = folder / f"events-{copies}-{name[:3]}.csv", folder / "score.json"
                run("run", "--config", config, *settings(overrides), "--input", overlay, "--events", events)
                run("score", "--config", SHIPPED, "--time", "200ns", "--truth", truth, "--events", events,
                    "--report", scored, "--overwrite")
                score = json.loads(scored.read_text())["runs"][0]["score"]
                runs[name].append(score)
                found = 100 * score["resolvable"]["efficiency"]
                if name == "one to one" and found < DEMANDED.get(copies, 0.0):
                    failed.append(f"{copies} copies: {found:.2f} % of the resolvable neutrons found")
            overlay.unlink()
        rows = []
        for copies, joined, paired in zip(arguments.copies, *runs.values()):
            rows.append([
                str(copies),
                rate(joined["neutrons_per_second"]),
                str(joined["all"]["neutrons"]),
                percent(joined["ceiling"]),
                *(percent(score["all"]["efficiency"]) for score in (joined, paired)),
                *(percent(score["resolvable"]["efficiency"]) for score in (joined, paired)),
                *(percent(score["ghost_share"]) for score in (joined, paired)),
            ])
        titles = ["copies", "rate", "neutrons", "ceiling"]
        for figure in ("found of all", "found of resolvable", "ghosts"):
            titles += [f"{figure}: {name}" for name in variants]
        text = table(titles, rows)
        if arguments.show:
            print(text, end="")
        else:
            DOCUMENT.write_text(put(DOCUMENT.read_text(), "overlay", text))
            figures = {
                "title": "gdgem-srs: recorded pulses, laid over one another",
                "curves": [{"name": name, "points": list(map(point, scores))} for name, scores in runs.items()],
            }
            FIGURES.write_text(json.dumps(figures, indent=2) + "\n")
    for problem in failed:
        print(f"not as good as it has to be: {problem}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
