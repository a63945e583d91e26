#!/usr/bin/env python3
"""Sums what campaigns of fuzzing have run: `fuzz-table.py RESULTS… [--totals FILE]`.

RESULTS are files of scripts/fuzz-run.py, a line of JSON for each target and campaign. With `--totals FILE` the sums are added to
those in FILE (docs/development/fuzzing-results.json), each line of RESULTS once, and docs/fuzzing.md is written from it. Without, the
table goes to standard output. `--self-test` checks the script.
"""

import argparse
import hashlib
import json
import pathlib
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Runs that every parser of single packets and messages is to have had.
WANTED = 100_000_000
PARSERS = [
    "adc_readout", "caen", "cncs", "drop", "ess_beam_monitor", "ess_header_vmm3a", "ess_r5560", "isis", "later", "messages", "mesytec", "numbered",
    "recognise", "sonde", "srs_vmm", "train", "capture", "commands", "kernel_texts", "helper",
]


def add(totals, lines):
    """Adds lines of results to the totals; a line that was added before is not added a second time."""
    seen = set(totals.setdefault("lines", []))
    targets = totals.setdefault("targets", {})
    for line in lines:
        mark = hashlib.sha256(line.encode()).hexdigest()[:16]
        if not line.strip() or mark in seen:
            continue
        seen.add(mark)
        result = json.loads(line)
        total = targets.setdefault(result["target"], {"runs": 0, "seconds": 0.0, "cpu_seconds": 0.0, "first": result["date"], "last": result["date"], "coverage": None, "features": None})
        total["runs"] += result["runs"]
        total["seconds"] = round(total["seconds"] + result["seconds"], 1)
        # A fuzzer has one thread: it has not used more than the time that it took.
        total["cpu_seconds"] = round(total["cpu_seconds"] + result.get("cpu_seconds", result["seconds"]), 1)
        total["first"], total["last"] = min(total["first"], result["date"]), max(total["last"], result["date"])
        for key in ("coverage", "features"):
            total[key] = max((value for value in (total[key], result[key]) if value is not None), default=None)
    totals["lines"] = sorted(seen)
    return totals


def spaced(value):
    """A number with blanks between thousands."""
    return "–" if value is None else f"{value:,}".replace(",", " ")


def rows(totals):
    """The rows of the table."""
    yield "| target | runs | per second of a processor | edges reached | features | dates |"
    yield "|---|---:|---:|---:|---:|---|"
    for target, total in sorted(totals["targets"].items()):
        rate = round(total["runs"] / total["cpu_seconds"]) if total["cpu_seconds"] else None
        dates = total["first"] if total["first"] == total["last"] else f"{total['first']} to {total['last']}"
        yield f"| `{target}` | {spaced(total['runs'])} | {spaced(rate)} | {spaced(total['coverage'])} | {spaced(total['features'])} | {dates} |"


def document(totals):
    """docs/fuzzing.md."""
    reached = [name for name in PARSERS if totals["targets"].get(name, {}).get("runs", 0) >= WANTED]
    missing = [name for name in PARSERS if name not in reached]
    runs = sum(total["runs"] for total in totals["targets"].values())
    name = lambda names: textwrap.fill(", ".join(f"`{name}`" for name in names) or "none", 120, subsequent_indent="  ")
    return "\n".join([
        "# What was fuzzed",
        "",
        "How many inputs each fuzz target has had so far ([how to fuzz](../fuzz/README.md)). This file is made by",
        "`scripts/fuzz-table.py` from `docs/development/fuzzing-results.json`, where the campaigns that are counted are summed.",
        "",
        f"In all {spaced(runs)} inputs. What they have found is in `fuzz/corpus` as `found-…`, and is replayed by every `cargo test`.",
        "",
        *rows(totals),
        "",
        "Edges are places in the code that the compiler has marked, with those of everything that a target links; features are edges",
        "with how often they were passed. Both are the most of any campaign.",
        "",
        "**At least 10⁸ inputs** is what every parser of single packets, messages and short texts is to have had.",
        "",
        f"- Reached: {name(reached)}.",
        f"- Not yet: {name(missing)}.",
        "",
    ])


def self_test():
    """A line counts once, and the most of the coverage is kept."""
    line = json.dumps({"date": "2026-11-26", "target": "isis", "runs": WANTED, "seconds": 10.0, "coverage": 5, "features": None})
    later = json.dumps({"date": "2026-11-27", "target": "isis", "runs": 1, "seconds": 10.0, "coverage": 3, "features": 9})
    totals = add(add({}, [line, "", line]), [line, later])
    isis = totals["targets"]["isis"]
    assert (isis["runs"], isis["coverage"], isis["features"], isis["last"]) == (WANTED + 1, 5, 9, "2026-11-27"), isis
    assert "| `isis` | 100 000 001 | 5 000 000 | 5 | 9 | 2026-11-26 to 2026-11-27 |" in list(rows(totals)), list(rows(totals))
    assert "Reached: `isis`." in document(totals)
    print("fuzz-table.py: fine")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("--totals", type=pathlib.Path)
    parser.add_argument("results", nargs="*", type=pathlib.Path)
    arguments = parser.parse_args()
    if arguments.self_test:
        return self_test()
    kept = arguments.totals
    totals = json.loads(kept.read_text(encoding="utf-8")) if kept and kept.exists() else {}
    totals = add(totals, (line for path in arguments.results for line in path.read_text(encoding="utf-8").splitlines()))
    if kept is None:
        print("\n".join(rows(totals)))
        return
    kept.write_text(json.dumps(totals, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    (ROOT / "docs/fuzzing.md").write_text(document(totals), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
