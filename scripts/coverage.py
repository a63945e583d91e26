#!/usr/bin/env python3
"""Line coverage of all tests, per crate: what the programs that they start execute counts, too, unless it is killed.

    scripts/coverage.py [--output FILE] [--before FILE]

Everything is built once more in target/coverage, instrumented by the compiler, and all tests run (some 40 minutes on 2 cores).
--output keeps the result as JSON; --before compares it with one that was kept, and fails if a crate has lost more than 0.5 points.
"""

import argparse
import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "target/coverage"
PROFILES = FOLDER / "profiles"
# Points that a crate may lose without being named.
TOLERANCE = 0.5


def tool(name):
    """A program of LLVM, of the version of the compiler."""
    folder = subprocess.run(["rustc", "--print", "target-libdir"], check=True, capture_output=True, text=True).stdout.strip()
    path = Path(folder).parent / "bin" / name
    if not path.is_file():
        sys.exit(f"{path} is missing: rustup component add llvm-tools")
    return str(path)


def run_tests():
    """Runs all tests, instrumented. A failure is printed, and its lines count all the same."""
    PROFILES.mkdir(parents=True, exist_ok=True)
    for profile in PROFILES.glob("*.profraw"):
        profile.unlink()
    environment = {
        **os.environ,
        "RUSTFLAGS": "-C instrument-coverage",
        "CARGO_INCREMENTAL": "0",
        "CARGO_TARGET_DIR": str(FOLDER),
        # Build scripts and the compiler's own plugins write theirs, too, and are not asked for; processes of one program share four files.
        "LLVM_PROFILE_FILE": str(PROFILES / "%4m.profraw"),
    }
    return subprocess.run([ROOT / "scripts/run-programs.py"], env=environment, check=False).returncode


def objects():
    """All programs and libraries that were built."""
    found = [path for path in (FOLDER / "debug/deps").iterdir() if path.is_file() and (path.suffix == ".so" or (path.suffix == "" and os.access(path, os.X_OK)))]
    return sorted(found)


def lines_by_crate():
    """(lines, lines executed) of each crate, without its tests/."""
    merged = FOLDER / "all.profdata"
    profiles = FOLDER / "profiles.txt"
    profiles.write_text("\n".join(str(path) for path in PROFILES.glob("*.profraw")))
    subprocess.run([tool("llvm-profdata"), "merge", "--sparse", "--failure-mode=all", f"--input-files={profiles}", "-o", merged], check=True)
    first, *others = objects()
    command = [tool("llvm-cov"), "export", "--summary-only", "--format=text", f"--instr-profile={merged}", first]
    command += [f"--object={path}" for path in others]
    exported = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    crates = defaultdict(lambda: [0, 0])
    for file in exported["data"][0]["files"]:
        parts = Path(file["filename"]).parts
        if "crates" in parts and "registry" not in parts and "src" in parts:
            crate = crates[parts[parts.index("crates") + 1]]
            crate[0] += file["summary"]["lines"]["count"]
            crate[1] += file["summary"]["lines"]["covered"]
    return dict(crates)


def percent(lines):
    return 100 * lines[1] / lines[0] if lines[0] else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--before", type=Path)
    arguments = parser.parse_args()
    status = run_tests()
    crates = lines_by_crate()
    if arguments.output:
        arguments.output.write_text(json.dumps(crates, indent=1, sort_keys=True) + "\n")
    before = json.loads(arguments.before.read_text()) if arguments.before else {}
    for name, lines in sorted(crates.items()):
        change = percent(lines) - percent(before[name]) if name in before else 0
        mark = "  LOWER" if change < -TOLERANCE else ""
        status = status or (1 if mark else 0)
        compared = f"  before {percent(before[name]):5.1f} %{mark}" if name in before else ""
        print(f"{name:16} {percent(lines):5.1f} % of {lines[0]} lines{compared}")
    return status


if __name__ == "__main__":
    sys.exit(main())
