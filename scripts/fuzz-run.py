#!/usr/bin/env python3
"""Runs fuzz targets that are built, one after the other or some at once, for a time in total: see fuzz/README.md.

    fuzz-run.py --programs fuzz/target/x86_64-unknown-linux-gnu/release [--minutes 30] [--jobs 1] [TARGET ...]

Without TARGET all of fuzz/fuzz_targets are run. Inputs that reach something new go to fuzz/target/grown/TARGET, the figures of each
target to fuzz/target/fuzz-results.jsonl, a line of JSON each, and what has broken something to fuzz/target/TARGET-crash-…. The
exit status is 1 if anything was found. `--self-test` checks the script.
"""

import argparse
import datetime
import json
import os
import pathlib
import re
import subprocess
import sys
import threading

FUZZ = pathlib.Path(__file__).resolve().parent.parent / "fuzz"
# No target of libFuzzer: it has no coverage, and makes its inputs itself.
WATCHED = {"hdf5_files"}
# Bytes of an input at most; streams and texts of several messages need more.
LONGEST = 4096
LONGEST_OF = {"configuration": 8192, "vmm_files": 8192, "http": 8192, "writer_modules": 16384, "capture": 16384}
# An input of these has so many comparisons in it that a fuzzer with a value profile does little else than sort them.
WITHOUT_PROFILE = {"ess_stream", "gdgem", "gdgem_panels", "multigrid", "multiblade", "sonde_stream", "adc_readout_stream", "writer_modules", "http"}
# With --plain: single packets that are short are read fast.
LONGEST_PLAIN = 256

# Detectors take and give back the same memory for every input: it stays with the process.
MEMORY = {"MALLOC_TRIM_THRESHOLD_": "1000000000", "MALLOC_MMAP_THRESHOLD_": "1000000000", "MALLOC_TOP_PAD_": "33554432"}

STATISTIC = re.compile(r"^stat::(\w+): +(\d+)$")
STATE = re.compile(r"^#\d+\s.*\bcov: (\d+) ft: (\d+) corp: (\d+)/")
ARTIFACT = re.compile(r"Test unit written to (\S+)")


def all_targets():
    """The names of the targets."""
    return sorted(path.stem for path in (FUZZ / "fuzz_targets").glob("*.rs"))


def figures(lines):
    """What a fuzzer has said of itself: statistics, coverage, and the inputs that have broken something."""
    found = {"runs": 0, "runs_per_second": 0, "new_inputs": 0, "peak_rss_mb": 0, "coverage": None, "features": None, "corpus": None}
    names = {"number_of_executed_units": "runs", "average_exec_per_sec": "runs_per_second",
             "new_units_added": "new_inputs", "peak_rss_mb": "peak_rss_mb"}
    crashes, outcomes = [], {}
    for line in lines:
        if state := STATE.match(line):
            found["coverage"], found["features"], found["corpus"] = map(int, state.groups())
        elif statistic := STATISTIC.match(line):
            if statistic[1] in names:
                found[names[statistic[1]]] = int(statistic[2])
            elif statistic[1].startswith("files_"):
                outcomes[statistic[1].removeprefix("files_")] = int(statistic[2])
        elif artifact := ARTIFACT.search(line):
            crashes.append(artifact[1])
    if outcomes:
        found["outcomes"] = outcomes
    return found | {"crashes": crashes}


def command(target, arguments, seconds, kept):
    """The command that runs a target."""
    program = [str(arguments.programs / target), f"-max_total_time={seconds}", f"-artifact_prefix={kept}"]
    program += [f"-runs={arguments.runs}"] if arguments.runs else []
    if target in WATCHED:
        return program + [f"-seed={arguments.seed}"]
    grown, corpus = FUZZ / "target/grown" / target, FUZZ / "corpus" / target
    grown.mkdir(parents=True, exist_ok=True)
    longest = LONGEST_PLAIN if arguments.plain else LONGEST_OF.get(target, LONGEST)
    program += [f"-max_len={longest}", "-timeout=25", "-rss_limit_mb=2048", "-print_final_stats=1", "-reload=0", f"-seed={arguments.seed}"]
    program += [] if arguments.plain or target in WITHOUT_PROFILE else ["-use_value_profile=1"]
    program += [] if arguments.plain else ["-len_control=0"]
    dictionary = FUZZ / "dictionaries" / f"{target}.dict"
    if dictionary.exists():
        program.append(f"-dict={dictionary}")
    return program + [str(grown), str(corpus)]


def run(target, arguments, seconds):
    """Runs a target and returns what came of it."""
    kept = f"{FUZZ / 'target'}/{target}-"
    before = set(pathlib.Path(FUZZ / "target").glob(f"{target}-*"))
    began = datetime.datetime.now(datetime.timezone.utc)
    log = FUZZ / "target" / "logs" / f"{target}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with open(log, "w", encoding="utf-8", errors="replace") as said:
        fuzzer = subprocess.Popen(command(target, arguments, seconds, kept), stdout=said, stderr=subprocess.STDOUT, env=os.environ | MEMORY)
        _, status, used = os.wait4(fuzzer.pid, 0)
    fuzzer.returncode = os.waitstatus_to_exitcode(status)
    with open(log, encoding="utf-8", errors="replace") as said:
        found = figures(said.read().splitlines())
    # Crashes of a library are kept, and are no finding of ours.
    files = {str(path) for path in set(pathlib.Path(FUZZ / "target").glob(f"{target}-*")) - before if "-library-" not in path.name}
    found["crashes"] = sorted(files | set(found["crashes"]))
    if fuzzer.returncode != 0 and not found["crashes"]:
        found["crashes"] = [str(log)]
    cpu = used.ru_utime + used.ru_stime
    found["cpu_seconds"], found["runs_per_cpu_second"] = round(cpu, 1), round(found["runs"] / max(cpu, 0.01))
    took = (datetime.datetime.now(datetime.timezone.utc) - began).total_seconds()
    about = {"date": began.strftime("%Y-%m-%d"), "target": target, "seconds": round(took, 1), "sanitizer": arguments.sanitizer}
    return about | found


def table(results):
    """The table at the end."""
    head = ("target", "runs", "runs/s", "per CPU s", "coverage", "features", "new inputs", "crashes")
    rows = [head]
    for result in sorted(results, key=lambda result: result["target"]):
        number = lambda value: "-" if value is None else f"{value:,}".replace(",", " ")
        rows.append((result["target"], *(number(result[key]) for key in ("runs", "runs_per_second", "runs_per_cpu_second", "coverage", "features", "new_inputs")),
                     str(len(result["crashes"]))))
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    return "\n".join("  ".join(text.ljust(width) if column == 0 else text.rjust(width)
                               for column, (text, width) in enumerate(zip(row, widths))).rstrip() for row in rows)


def run_all(targets, arguments):
    """Runs all targets, so many at once as wanted, and writes down what came of each as soon as it is there."""
    seconds = max(1, int(arguments.minutes * 60 * arguments.jobs / len(targets)))
    left, results, lock = list(targets), [], threading.Lock()

    def work():
        while True:
            with lock:
                if not left:
                    return
                target = left.pop(0)
            print(f"{target}: {seconds} s", flush=True)
            result = run(target, arguments, seconds)
            with lock, open(FUZZ / "target" / "fuzz-results.jsonl", "a", encoding="utf-8") as kept:
                results.append(result)
                kept.write(json.dumps(result) + "\n")

    threads = [threading.Thread(target=work) for _ in range(arguments.jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def self_test():
    """The figures of what libFuzzer says, and the table."""
    said = """#2\tINITED cov: 10 ft: 11 corp: 2/9b exec/s: 0 rss: 40Mb
#100\tNEW    cov: 12 ft: 15 corp: 3/12b lim: 4 exec/s: 0 rss: 41Mb L: 3/4 MS: 1 EraseBytes-
artifact_prefix='x/'; Test unit written to x/crash-1
stat::number_of_executed_units: 1200
stat::average_exec_per_sec:     600
stat::new_units_added:          1
stat::peak_rss_mb:              41""".splitlines()
    found = figures(said)
    assert (found["coverage"], found["features"], found["corpus"]) == (12, 15, 3), found
    assert (found["runs"], found["runs_per_second"], found["new_inputs"]) == (1200, 600, 1), found
    assert found["crashes"] == ["x/crash-1"] and "outcomes" not in found, found
    assert figures(["stat::files_read: 3"])["outcomes"] == {"read": 3}
    result = found | {"target": "isis", "runs_per_cpu_second": 800}
    assert table([result]).splitlines()[1].split() == ["isis", "1", "200", "600", "800", "12", "15", "1", "1"], table([result])
    assert all_targets() and WATCHED <= set(all_targets())
    print("fuzz-run.py: fine")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("--programs", type=pathlib.Path, help="the folder of the programs")
    parser.add_argument("--minutes", type=float, default=30, help="for all of them together")
    parser.add_argument("--runs", type=int, help="of each target at most")
    parser.add_argument("--jobs", type=int, default=1, help="so many at once")
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(3), "big"), help="of the fuzzers; by chance if none is given")
    parser.add_argument("--sanitizer", help="what the programs are built with, for the figures")
    parser.add_argument("--plain", action="store_true", help="as many runs of short inputs as possible")
    parser.add_argument("targets", nargs="*", metavar="TARGET")
    arguments = parser.parse_args()
    if arguments.self_test:
        return self_test()
    known = all_targets()
    if unknown := set(arguments.targets) - set(known):
        sys.exit(f"there is no target {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    if arguments.programs is None or arguments.jobs < 1 or arguments.minutes <= 0:
        sys.exit("expected --programs FOLDER, --jobs from 1 and --minutes above 0")
    results = run_all(arguments.targets or known, arguments)
    print(f"\n{table(results)}\n")
    print(f"{sum(result['runs'] for result in results):,} runs; figures: {FUZZ / 'target/fuzz-results.jsonl'}".replace(",", " "))
    crashes = [path for result in results for path in result["crashes"]]
    for path in crashes:
        print(f"FOUND: {path}")
    sys.exit(1 if crashes else 0)


if __name__ == "__main__":
    main()
