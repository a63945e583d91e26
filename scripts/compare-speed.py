#!/usr/bin/env python3
"""Compares how fast two builds of evforge form events, in pairs, on one core.

    scripts/compare-speed.py OLD NEW [--pairs 15] [--seconds 1] [--only NAME] [--keep]

OLD and NEW are each a commit, which is built in a folder below target/compare, or the folder of a clone with a release build
(target/release/evforge). Each build reads its own configs/, so that each has what was shipped with it; the packets are
captures of the reference data in $EVFORGE_SHARED (else ../shared), or the load that `evforge bench` simulates by the configuration:
where that has changed (NMX got its wiring, FREIA its planes), each build has its own packets, of the same neutrons.

A pair is one pass of each build right after the other, by turns OLD or NEW first. The ratio is time per readout of OLD over that
of NEW: above 1, NEW is faster. Printed are the median and the order statistics that hold it in 95 % of all cases.
With --keep a row for each case is added to docs/benchmarks/pairs.csv, or to the table that is named after it; its columns are
declared in docs/benchmarks/columns.json, and docs/benchmarks/README.md says how to read it.
"""

import argparse
import csv
import datetime
import json
import math
import os
import re
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("EVFORGE_SHARED", ROOT.parent / "shared"))
CAPTURES = SHARED / "captures"
FOLDER = ROOT / "target" / "compare"
HISTORY = ROOT / "docs" / "benchmarks"

# Name, configuration, capture (none: simulated), keys that are set. The order of time first: it is what is shipped.
# shuffled/ before a capture: with its times out of order by up to 1000 ticks (shuffle-sonde.py).
CASES = [
    ("SoNDe, 400 modules", "sonde", None, []),
    ("SoNDe, one module", "sonde-module", "sonde/generated_255.pkts", ["sonde.sorting.restart=60s"]),
    (
        "SoNDe, one module, shuffled",
        "sonde-module",
        "shuffled/sonde/generated_255.pkts",
        ["sonde.sorting.restart=60s"],
    ),
    ("Multi-Blade, recorded", "multiblade", "multiblade/recorded_2018.pkts", []),
    ("Multi-Blade, generated", "multiblade", "multiblade/generated.pkts", []),
    ("Multi-Grid, recorded", "multigrid", "multigrid/recorded_ws1to4.pkts", []),
    ("Multi-Grid, generated", "multigrid", "multigrid/generated_jumbo.pkts", []),
    ("Gd-GEM, VMM3a", "gdgem-srs", "gdgem/vmm3a_srs.pcapng", []),
    ("FREIA", "freia", None, []),
    ("ESTIA", "estia", None, []),
    ("TREX", "trex", None, []),
    ("LET", "let", None, []),
    ("NMX", "nmx", None, []),
    ("Multi-Blade, as it comes", "multiblade", "multiblade/generated.pkts", ["multiblade.order=arrival"]),
    ("ISIS, LVDS", "isis-lvds", None, []),
    ("Sampled channels", "adc-readout", "data/adc-readout.pcapng", []),
    ("2018: SoNDe", "reference-2018/sonde", "sonde/generated_255.pkts", []),
    ("2018: Multi-Blade, recorded", "reference-2018/multiblade", "multiblade/recorded_2018.pkts", []),
    ("2018: Multi-Blade, generated", "reference-2018/multiblade", "multiblade/generated.pkts", []),
    ("2018: Multi-Grid, recorded", "reference-2018/multigrid", "multigrid/recorded_ws1to4.pkts", []),
    ("2018: Multi-Grid, generated", "reference-2018/multigrid", "multigrid/generated_jumbo.pkts", []),
    ("2018: Gd-GEM, VMM2", "reference-2018/gdgem-recorded-vmm2", "gdgem/vmm2_recorded_2018.pkts", []),
    ("2018: Gd-GEM, VMM3a", "reference-2018/gdgem-vmm3a", "gdgem/vmm3a_srs.pcapng", []),
]


class Build:
    """A build: where it is, and which commit."""

    def __init__(self, said: str):
        self.folder = Path(said)
        if not (self.folder / "target/release/evforge").is_file():
            self.folder = made(said)
        self.program = self.folder / "target/release/evforge"
        head = ["git", "-C", self.folder, "rev-parse", "--short", "HEAD"]
        self.commit = subprocess.run(head, check=True, capture_output=True, text=True).stdout.strip()
        help_text = subprocess.run([self.program, "bench", "--help"], capture_output=True, text=True).stdout
        self.for_option = "--for" if "--for <" in help_text else "--seconds"

    def ns_per_readout(self, case: tuple, capture: Path | None, seconds: float) -> tuple[float, float]:
        """Nanoseconds for a readout, and the yardstick, in millions of keys a second."""
        _, config, _, keys = case
        command = [self.program, "bench", "--config", self.folder / f"configs/{config}.toml"]
        command += ["--input", capture] if capture else []
        command += [self.for_option, str(seconds)]
        command += [word for key in keys for word in ("--set", key)]
        done = subprocess.run(command, capture_output=True, text=True)
        found = re.search(r"([\d.]+) ns per readout", done.stdout)
        yardstick = re.search(r"yardstick ([\d.]+) M keys/s", done.stdout)
        if not found or not yardstick:
            sys.exit(f"{' '.join(map(str, command))}: {done.stdout}{done.stderr}")
        return float(found[1]), float(yardstick[1])


def made(commit: str) -> Path:
    """A clone with this commit, built."""
    folder = FOLDER / commit
    if not folder.is_dir():
        subprocess.run(["git", "clone", "--quiet", ROOT, folder], check=True)
    subprocess.run(["git", "-C", folder, "checkout", "--quiet", commit], check=True)
    build = ["cargo", "build", "--release", "--locked", "--package", "evforge", "--bin", "evforge"]
    # The place of a build is in its own folder, whatever CARGO_TARGET_DIR says.
    environment = os.environ | {"CARGO_TARGET_DIR": str(folder / "target")}
    subprocess.run(build, check=True, cwd=folder, env=environment)
    return folder


def capture_of(said: str) -> Path:
    """The file of a capture, made if need be; one below data/ is of the repository."""
    if said.startswith("data/"):
        return ROOT / said
    original = said.removeprefix("shuffled/")
    if original == said or not (CAPTURES / original).is_file():
        return CAPTURES / original
    FOLDER.mkdir(parents=True, exist_ok=True)
    to = FOLDER / f"shuffled-{Path(original).name}"
    subprocess.run([sys.executable, ROOT / "scripts/shuffle-sonde.py", CAPTURES / original, to], check=True)
    return to


def spread(values: list[float]) -> tuple[float, float, float]:
    """Median, and the order statistics that hold it in 95 % of all cases."""
    values = sorted(values)
    reach = math.ceil(0.98 * math.sqrt(len(values)))
    middle = len(values) // 2
    low, high = max(middle - reach, 0), min(middle + reach, len(values) - 1)
    return statistics.median(values), values[low], values[high]


def add(path: Path, row: dict) -> None:
    """Adds a row to a table of ratios, which begins with the declared columns."""
    columns = [name for name, _ in json.loads((HISTORY / "columns.json").read_text())["pairs.csv"]]
    is_new = not path.is_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a", newline="") as table:
        writer = csv.DictWriter(table, columns, lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerow(row)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=1.0, help="of each pass")
    parser.add_argument("--only", help="cases with this in their names")
    parser.add_argument("--keep", type=Path, nargs="?", const=HISTORY / "pairs.csv", help="add the result to this table")
    arguments = parser.parse_args()
    old, new = Build(arguments.old), Build(arguments.new)
    print(f"{old.commit} -> {new.commit}, {arguments.pairs} pairs of {arguments.seconds} s")
    print(f"{'case':<30} {'ratio':>7} {'95 % interval':>16} {'old ns':>8} {'new ns':>8} {'yardstick':>10}")
    for case in CASES:
        if arguments.only and arguments.only not in case[0]:
            continue
        capture = capture_of(case[2]) if case[2] else None
        if capture and not capture.is_file():
            print(f"{case[0]:<30} skipped: no {case[2]} in {CAPTURES}")
            continue
        ratios, times, keys = [], ([], []), []
        for number in range(arguments.pairs):
            both = [(0, old), (1, new)]
            pair = [0.0, 0.0]
            for place, build in both if number % 2 == 0 else reversed(both):
                pair[place], yardstick = build.ns_per_readout(case, capture, arguments.seconds)
                times[place].append(pair[place])
                keys.append(yardstick)
            ratios.append(pair[0] / pair[1])
        ratio, low, high = spread(ratios)
        ns = [statistics.median(part) for part in times]
        yardstick = statistics.median(keys)
        interval = f"{low:.3f} to {high:.3f}"
        print(f"{case[0]:<30} {ratio:>7.3f} {interval:>16} {ns[0]:>8.2f} {ns[1]:>8.2f} {yardstick:>10.1f}", flush=True)
        if arguments.keep:
            row = {
                "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
                "old": old.commit,
                "new": new.commit,
                "case": case[0],
                "pairs": arguments.pairs,
            }
            for name, value in zip(("ratio", "low", "high"), (ratio, low, high)):
                row[name] = f"{value:.3f}"
            for name, value in zip(("old_ns", "new_ns"), ns):
                row[name] = f"{value:.2f}"
            add(arguments.keep, row | {"yardstick_mkeys": f"{yardstick:.1f}"})


if __name__ == "__main__":
    main()
