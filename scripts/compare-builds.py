#!/usr/bin/env python3
"""Compares what two builds of evforge make of the same packets, bit for bit.

    scripts/compare-builds.py OLD_BINARY NEW_BINARY [--only NAME]

OLD simulates a few seconds for every configuration in configs/, with a fixed seed, once as they should be and once with
faults. Both builds then form events from these captures, and from every capture and vector of the reference data in
$EVFORGE_SHARED (else ../shared), with a configuration that fits. Compared are

    events    the CSV files, byte for byte
    report    every key and value of --report. Keys of RENAMED are looked up under their new names; those of IGNORED
              differ from run to run. A key that only the new build has is listed as new; one that is gone is a difference.
    NeXus     the datasets of every event group, times since the epoch included. Where packets have no stamps, these
              times count from the wall clock, and are compared without it.
    monitor   the data of --monitor, for one detector of each kind
    samples   the mean values of sampled channels

Variants run the same packets with two threads, with vetoes, with monitor data, with one more setting. A line is
printed for each case and a summary at the end. The status is 1 if anything differs. It takes a few minutes.

Needs h5py and numpy: .venv/bin/python scripts/compare-builds.py …
"""

import argparse
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import h5py
import numpy as np

ROOT = Path(__file__).resolve().parent.parent
CONFIGS = ROOT / "configs"
SHARED = Path(os.environ.get("EVFORGE_SHARED", ROOT.parent / "shared"))
# Longest time for one run of a program, in seconds.
PATIENCE = 120

# Keys of the report that have other names now: old path -> new path, `*` for a number in a list. What lies below a path
# follows it: {"streams/*/counters/hits": "streams/*/counters/signals"}. Release 0.2 has renamed these counters.
RENAMED_COUNTERS = {
    "leaps": "forward_jumps",
    "unconfirmed_leap": "unconfirmed_jump",
    "idle_packets": "heartbeats",
    "packets_no_idle_time": "packets_no_heartbeat_time",
    "mean_values": "averages",
}
RENAMED = {
    f"streams/*/{part}/{old}": f"streams/*/{part}/{new}"
    for part in ("counters", "discarded", "packets/discarded")
    for old, new in RENAMED_COUNTERS.items()
}

# Texts of the report that are worded otherwise now: how they began, and begin now.
RENAMED_TEXTS = {"mean values in ": "averaged waveforms in "}

# Paths of the report, and what lies below them, that legitimately differ from run to run.
IGNORED = {"evforge", "elapsed_s", "sinks/*/latency"}

# What was 0 because nobody knew it: null now, or the number that is known.
ONCE_0 = {
    "streams/*/readouts", "streams/*/hits", "streams/*/markers", "streams/*/packets/lost", "streams/*/packets/received",
    "streams/*/packets/without_number", "streams/*/sources/*/packets/lost",
}
# An input of which nothing is used, or which is not whole, is told with its own status since release 0.3.
OF_INPUT = {3, 4}

# Datasets of an event group.
EVENT_DATASETS = ["event_id", "event_time_offset", "event_time_zero", "event_index", "event_veto"]

SIMULATED_PULSES = "42"
FAULTS = [
    "lose:probability=5e-3", "repeat:probability=5e-3,behind=2", "reorder:probability=5e-3,behind=2",
    "truncate:probability=3e-3,bytes=37", "corrupt:probability=1e-2,part=data",
    "corrupt:probability=3e-3,part=header", "clock-step:pulses=20,by=-5ms", "restart:pulses=30",
]
# What cannot be simulated; the reference data have packets for it.
NOT_SIMULATED = {"adc-readout", "beam-monitors"}
# Settings with which a configuration can be simulated.
SIMULATED_WITH = {"reference-2018/multiblade": ["multiblade.times=nanoseconds"]}

TWO_THREADS = "input.threads=2"
VETOES = (
    'veto=[{name="first",time_of_flight=["0s","20ms"]},{name="second",time_of_flight=["10ms","40ms"]},'
    '{name="begin",time=["0s","500ms"]}]'
)
# One detector of each kind, whose monitor data are compared.
MONITORED = {"gdgem-srs", "multiblade", "multigrid", "sonde", "nmx", "freia", "trex", "adc-readout", "beam-monitors"}
# Further settings for simulated captures.
FURTHER_SETTINGS = {
    "gdgem-srs": ["gdgem.partition={regions=2,overlap=16,threads=2}"],
    "multiblade": ["multiblade.order=arrival"],
    "multigrid": ["multigrid.order=arrival"],
    "sonde": ["sonde.order=arrival"],
    "freia": ["input.packets_per_slab=7", "input.events_per_batch=100"],
    "nmx": ["input.events_per_batch=1"],
}

# What fits a capture, by its path below captures/: configurations, each with settings.
CAPTURES = {
    "sonde/generated_255.pkts": [("sonde",), ("reference-2018/sonde",)],
    "multigrid/recorded_ws1to4.pkts": [("multigrid",), ("reference-2018/multigrid",)],
    "multigrid/generated_jumbo.pkts": [("multigrid",), ("reference-2018/multigrid",)],
    "multiblade/recorded_2018.pkts": [("multiblade",), ("reference-2018/multiblade",)],
    "multiblade/recorded_2018.h5": [
        ("reference-2018/multiblade",), ("reference-2018/multiblade", "multiblade.readout=jadaq-1.3"),
    ],
    "multiblade/generated.pkts": [("multiblade",), ("reference-2018/multiblade",)],
    "gdgem/vmm2_run16.pkts": [("reference-2018/gdgem-run16",)],
    "gdgem/vmm2_recorded_2018.pkts": [("reference-2018/gdgem-recorded-vmm2",)],
    "gdgem/vmm3_recorded_2018.pkts": [("reference-2018/gdgem-recorded-vmm3",)],
    "gdgem/vmm3_recorded_2018.h5": [("reference-2018/gdgem-recorded-vmm3",)],
    "gdgem/vmm3a_srs.pcapng": [
        ("gdgem-srs",), ("reference-2018/gdgem-vmm3a",),
        ("gdgem-srs", f"gdgem.calibration='{SHARED}/captures/gdgem/example_calib.json'"),
    ],
    "ess/nmx_monitoring.pcapng": [("nmx",)],
    "ess/integrating_monitors.pcapng": [("beam-monitors",)],
}

# What the reference's unit tests have: beam monitors, a panel.
TEST_CONFIGS = {
    "TEST_MONITORS": """
name = "vectors"
[ess]
type = "cbm"
max_time_of_flight = "1428571420ns"
[ess_beam_monitors]
monitor = [
    { name = "zero_a", fen = 0, channel = 0, kind = "event_0d" },
    { name = "zero_b", fen = 0, channel = 1, kind = "event_0d" },
    { name = "zero_c", fen = 3, channel = 3, kind = "event_0d" },
    { name = "flat", fen = 3, channel = 0, kind = "event_2d", nx = 512, ny = 512 },
    { name = "sum_a", fen = 1, channel = 1, kind = "integrating" },
    { name = "sum_b", fen = 2, channel = 1, kind = "integrating" },
    { name = "sum_c", fen = 3, channel = 4, kind = "integrating" },
]
""",
    "TEST_PANEL": """
name = "vectors"
[ess]
type = "nmx"
[ess_gdgem]
geometry = { nx = 1280, ny = 1280, panels = 4 }
hybrid = [
    { ring = 0, fen = 0, hybrid = 0, plane = "x", offset = 0 },
    { ring = 0, fen = 0, hybrid = 1, plane = "y", offset = 0 },
]
position.spans = { max_x = 3, min_x = 2, max_y = 3, min_y = 1 }
""",
}

# What fits vectors: the beginning of their path below vectors/, and configurations as above. The first line that fits
# counts. ESS vectors have the type of detector of the configuration; those without a header are given one.
VECTORS = [
    ("adc_readout/", [("adc-readout",), ("adc-readout", "adc_readout.averaging={samples=4,time_stamp='end'}")]),
    ("gdgem_vmm2/", [("reference-2018/gdgem-run16",)]),
    ("gdgem_vmm3/", [("reference-2018/gdgem-recorded-vmm3",)]),
    ("multiblade_jadaq_2018-06/", [("multiblade", "multiblade.readout=jadaq-2018-06")]),
    ("multiblade_records/", [("multiblade",), ("reference-2018/multiblade",)]),
    ("multigrid_cncs/", [("multigrid-cncs",)]),
    ("multigrid_mesytec/", [("multigrid",), ("reference-2018/multigrid",)]),
    ("sonde/", [("reference-2018/sonde",), ("sonde-module",)]),
    ("ess/cbm_", [("TEST_MONITORS",), ("beam-monitors",)]),
    ("ess/freia_", [("freia",)]),
    ("ess/trex_", [("trex",), ("let",)]),
    ("ess/nmx_", [("TEST_PANEL",), ("nmx",)]),
    ("ess/vmm3_", [("nmx",), ("freia",), ("trex",)]),
    ("ess/esshdr_", [("freia",)]),
]
ESS_TYPES = {
    "freia": 0x48, "trex": 0x40, "let": 0x40, "nmx": 0x44, "TEST_PANEL": 0x44, "beam-monitors": 0x10,
    "TEST_MONITORS": 0x10,
}
# Seconds and ticks of the pulses that records without a header are given, with those of the pulse before.
ESS_PULSES = [((0, 0), (0, 0)), ((0, 1), (0, 1)), ((0, 16), (0, 0)), ((1, 100_000), (0, 82_000_000))]


class Failed(Exception):
    """A program that has not done what it should."""


@dataclass
class Case:
    name: str
    config: str
    source: Path
    settings: list = field(default_factory=list)
    monitor: bool = False


def call(arguments, folder):
    """Runs a program; only the environment could make two runs differ, so what evforge reads of it is left out."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("EVFORGE_")}
    try:
        done = subprocess.run(
            [str(argument) for argument in arguments], cwd=folder, env=environment, capture_output=True,
            text=True, errors="replace", timeout=PATIENCE, check=False,
        )
    except subprocess.TimeoutExpired:
        raise Failed(f"has not ended within {PATIENCE} s") from None
    if done.returncode not in {0, *OF_INPUT}:
        said = (done.stderr.strip() or done.stdout.strip() or "nothing said").splitlines()[-1]
        raise Failed(f"status {done.returncode}: {said}")


# --- the cases -----------------------------------------------------------------------------------------------------


def config_path(name, folder, configs=CONFIGS):
    if name in TEST_CONFIGS:
        path = folder / f"{name}.toml"
        path.write_text(TEST_CONFIGS[name])
        return path
    return configs / f"{name}.toml"


def write_packets(path, packets):
    path.write_bytes(b"".join(struct.pack("<I", len(packet)) + packet for packet in packets))


def vector_packets(path, config):
    """The packets of a vector, for the detector of a configuration."""
    content = path.read_bytes()
    detector_type = ESS_TYPES.get(config)
    if path.parent.name != "ess" or detector_type is None:
        return [content]
    if path.name.startswith("esshdr_") or content[2:5] == b"ESS":
        return [content[:5] + bytes([detector_type]) + content[6:]] if len(content) > 5 else [content]

    def with_header(sequence, pulses):
        times = [number for time in pulses for number in time]
        begin = struct.pack("<BB3sBHBB", 0, 1, b"ESS", detector_type, 32 + len(content), 0, 0)
        return begin + struct.pack("<IIIIIxx", *times, sequence) + content

    return [with_header(sequence, pulses) for sequence, pulses in enumerate(ESS_PULSES)]


def simulated_cases(old, old_configs, folder, wanted):
    names = sorted(path.relative_to(CONFIGS).with_suffix("").as_posix() for path in CONFIGS.rglob("*.toml"))
    for name in names:
        if name in NOT_SIMULATED or not wanted(f"simulated {name}"):
            continue
        for kind, faults in [("", []), (" with faults", FAULTS)]:
            capture = folder / f"{name.replace('/', '-')}{'-faults' if faults else ''}.pcapng"
            settings = [part for setting in SIMULATED_WITH.get(name, []) for part in ("--set", setting)]
            given = [part for fault in faults for part in ("--fault", fault)]
            config = config_path(name, folder, old_configs)
            call(
                [old, "simulate", "--config", config, "--pulses", SIMULATED_PULSES, "--seed", "7", "--output", capture]
                + settings + given,
                folder,
            )
            title = f"simulated {name}{kind}"
            yield Case(title, name, capture)
            yield Case(f"{title}, two threads", name, capture, [TWO_THREADS])
            if faults:
                continue
            yield Case(f"{title}, vetoes", name, capture, [VETOES])
            if name in MONITORED:
                yield Case(f"{title}, monitor", name, capture, monitor=True)
            for setting in FURTHER_SETTINGS.get(name, []):
                yield Case(f"{title}, {setting}", name, capture, [setting])


def capture_cases():
    for path in sorted((SHARED / "captures").rglob("*")):
        name = path.relative_to(SHARED / "captures").as_posix()
        if path.suffix not in {".pkts", ".pcap", ".pcapng", ".h5"}:
            continue
        fitting = CAPTURES.get(name)
        if fitting is None:
            yield f"capture {name}"
            continue
        for config, *settings in fitting:
            title = " ".join([f"capture {name}: {config}", *settings])
            yield Case(title, config, path, settings)
            yield Case(f"{title}, two threads", config, path, [*settings, TWO_THREADS])
            yield Case(f"{title}, vetoes", config, path, [*settings, VETOES])
            if config in MONITORED:
                yield Case(f"{title}, monitor", config, path, settings, monitor=True)


def vector_cases(folder):
    together = {}
    for path in sorted((SHARED / "vectors").rglob("*")):
        name = path.relative_to(SHARED / "vectors").as_posix()
        if path.suffix not in {".bin", ".csv"}:
            continue
        beginning, fitting = next((line for line in VECTORS if name.startswith(line[0])), (None, None))
        if fitting is None or path.suffix == ".csv":
            yield f"vector {name}"
            continue
        for number, (config, *settings) in enumerate(fitting):
            packets = vector_packets(path, config)
            source = folder / f"{name.replace('/', '-')}-{number}.pkts"
            write_packets(source, packets)
            yield Case(" ".join([f"vector {name}: {config}", *settings]), config, source, settings)
            together.setdefault((beginning, number, config, *settings), []).extend(packets)
    # All of a kind one after the other, again and again: sequences, clocks and windows meet what is damaged.
    for (beginning, number, config, *settings), packets in together.items():
        source = folder / f"{beginning.replace('/', '-')}all-{number}.pkts"
        write_packets(source, packets * 20)
        title = " ".join([f"vectors {beginning}* together: {config}", *settings])
        yield Case(title, config, source, settings)
        yield Case(f"{title}, two threads", config, source, [*settings, TWO_THREADS])
        if config in MONITORED:
            yield Case(f"{title}, monitor", config, source, settings, monitor=True)


# --- the comparison ------------------------------------------------------------------------------------------------


def run(binary, case, config, folder, further):
    """Forms the events of a case in a folder of its own."""
    arguments = [binary, "run", "--quiet", "--config", config, "--input", case.source, "--events", "events.csv"]
    arguments += ["--report", "report.json", "--nexus", "run.nxs", "--if-exists", "overwrite"]
    arguments += ["--monitor", "monitor.json"] if case.monitor else []
    arguments += ["--samples", "samples.csv"] if any("averaging" in text for text in case.settings) else []
    arguments += [part for setting in [*case.settings, *further] for part in ("--set", setting)]
    call(arguments, folder)


def flat(value, path=()):
    """All values below a JSON value, by their paths; numbers of a list are integers."""
    if isinstance(value, dict):
        for key, below in value.items():
            yield from flat(below, (*path, key))
    elif isinstance(value, list):
        yield (*path, "(length)"), len(value)
        for number, below in enumerate(value):
            yield from flat(below, (*path, number))
    else:
        yield path, value


def pattern(path):
    return "/".join("*" if isinstance(part, int) else part for part in path)


def is_below(name, above):
    return name == above or name.startswith(f"{above}/")


def renamed(path):
    """The path of the new build for one of the old build."""
    for end in range(len(path), 0, -1):
        new = RENAMED.get(pattern(path[:end]))
        if new is not None:
            numbers = iter(part for part in path[:end] if isinstance(part, int))
            parts = [next(numbers) if part == "*" else part for part in new.split("/")]
            return (*parts, *path[end:])
    return path


def reworded(value):
    for before, now in RENAMED_TEXTS.items():
        if isinstance(value, str) and value.startswith(before):
            return now + value[len(before):]
    return value


def without_wall_clock(report):
    """A report without the date that it has from the computer's clock, where packets have no stamps."""
    calendar = report.get("calendar") if isinstance(report, dict) else None
    if calendar and calendar["origin"].startswith("wall clock"):
        del calendar["anchor_ns"]
    return report


def compare_json(old, new):
    """The first difference, or none, and the paths that only the new one has."""
    old, new = (without_wall_clock(json.loads(text)) for text in (old, new))
    old = {renamed(path): (path, reworded(value)) for path, value in flat(old)}
    new = dict(flat(new))

    def is_ignored(path):
        return any(is_below(pattern(path), ignored) for ignored in IGNORED)

    difference = None
    for path, (before, value) in old.items():
        if is_ignored(path) or is_ignored(before):
            continue
        name = "/".join(map(str, path))
        # Whatever is wrong with the input is told there, too.
        is_told = is_below(pattern(path), "streams/*/alarms")
        if path in new and (is_told or pattern(path) in ONCE_0 and value == 0):
            continue
        if path not in new:
            difference = difference or f"{'/'.join(map(str, before))} is gone"
        elif new[path] != value or type(new[path]) is not type(value):
            difference = difference or f"{name} is {new[path]!r}, was {value!r}"
    return difference, {pattern(path) for path in new if path not in old and not is_ignored(path)}


def compare_text(old, new):
    if old == new:
        return None
    old, new = old.split(b"\n"), new.split(b"\n")
    line = next((number for number, pair in enumerate(zip(old, new)) if pair[0] != pair[1]), min(len(old), len(new)))
    of = [lines[line].decode(errors="replace") if line < len(lines) else "the end" for lines in (old, new)]
    return f"line {line + 1} is {of[1]}, was {of[0]}"


def event_groups(file):
    groups = {}

    def visit(name, item):
        if isinstance(item, h5py.Group) and item.attrs.get("NX_class") == "NXevent_data":
            groups[name] = {key: item[key][()] for key in EVENT_DATASETS if key in item}

    file.visititems(visit)
    return groups


def compare_nexus(old, new):
    with h5py.File(old) as old, h5py.File(new) as new:
        groups, others = event_groups(old), event_groups(new)
        # Where nothing else is known, the wall clock of the run is what times count from.
        anchors = [0, 0]
        if old["entry/recording/clock"][()].startswith(b"wall clock"):
            anchors = [int(file["entry/recording/clock_anchor"][()]) for file in (old, new)]
    if groups.keys() != others.keys():
        return f"event groups are {sorted(others)}, were {sorted(groups)}"
    if not groups:
        return "there is no event group"
    for name, datasets in groups.items():
        if datasets.keys() != others[name].keys():
            return f"{name} has {sorted(others[name])}, had {sorted(datasets)}"
        for key, values in datasets.items():
            found = others[name][key]
            if values.dtype != found.dtype or values.shape != found.shape:
                return f"{name}/{key} is {found.dtype} {found.shape}, was {values.dtype} {values.shape}"
            if key == "event_time_zero":
                values, found = (column.astype(np.int64) - anchor for column, anchor in zip((values, found), anchors))
            places = np.flatnonzero(values != found)
            if places.size:
                place = places[0]
                return f"{name}/{key}[{place}] is {found[place]}, was {values[place]}"
    return None


def compare(case, binaries, old_configs, folder, doctored):
    """The number of events, the first difference or none, and the keys that are new."""
    configs = [config_path(case.config, folder, configs) for configs in (old_configs, CONFIGS)]
    folders = [folder / name for name in ("old", "new")]
    for below in folders:
        below.mkdir(exist_ok=True)
        for left in below.iterdir():
            left.unlink()
    with ThreadPoolExecutor(2) as pool:
        runs = [
            pool.submit(run, binary, case, config, below, further)
            for binary, config, below, further in zip(binaries, configs, folders, [[], doctored])
        ]
        failures = [failure and str(failure) for failure in (run.exception() for run in runs)]
    if any(failures):
        told = " - ".join(f"{which} {said}" for which, said in zip(("old", "new"), failures) if said)
        return 0, f"it fails: {told}", set()

    def contents(name):
        return [(below / name).read_bytes() for below in folders]

    events = contents("events.csv")
    difference, new_keys = None, set()
    for name in ("events.csv", "samples.csv"):
        if (folders[0] / name).exists():
            found = compare_text(*contents(name))
            difference = difference or (found and f"{name}: {found}")
    for name in ("report.json", "monitor.json"):
        if (folders[0] / name).exists():
            found, keys = compare_json(*contents(name))
            new_keys |= {f"{name}: {key}" for key in keys}
            difference = difference or (found and f"{name}: {found}")
    found = compare_nexus(*(below / "run.nxs" for below in folders))
    return events[0].count(b"\n") - 1, difference or (found and f"run.nxs: {found}"), new_keys


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path, metavar="OLD_BINARY", help="the build that is right")
    parser.add_argument("new", type=Path, metavar="NEW_BINARY", help="the build to be compared with it")
    parser.add_argument(
        "--only", metavar="NAME", default="",
        help="only cases whose names contain this: freia, 'vector ess/'",
    )
    parser.add_argument(
        "--doctor", metavar="KEY=VALUE", action="append", default=[],
        help="set this for the new build only, to see that the difference is noticed",
    )
    parser.add_argument(
        "--old-configs", metavar="FOLDER", type=Path, default=CONFIGS,
        help="configs/ of the old build's checkout, where a key of the configuration has another name now",
    )
    options = parser.parse_args()
    binaries = [options.old.resolve(), options.new.resolve()]
    for binary in binaries:
        if not os.access(binary, os.X_OK):
            parser.error(f"{binary} is no program that can be run")
    without, equal, differing, new_keys = [], 0, [], set()
    if not (SHARED / "captures").is_dir():
        print(f"the reference data are not at {SHARED} (EVFORGE_SHARED): simulated captures only")
    with tempfile.TemporaryDirectory(prefix="compare-builds-") as folder:
        folder = Path(folder)
        simulated = simulated_cases(binaries[0], options.old_configs.resolve(), folder, lambda name: options.only in name or name in options.only)
        for case in (case for cases in (simulated, capture_cases(), vector_cases(folder)) for case in cases):
            name = case if isinstance(case, str) else case.name
            if options.only not in name:
                continue
            if isinstance(case, str):
                without.append(name)
                print(f"{name}: no configuration", flush=True)
                continue
            events, difference, keys = compare(case, binaries, options.old_configs.resolve(), folder, options.doctor)
            new_keys |= keys
            if difference:
                differing.append(name)
            else:
                equal += 1
            print(f"{name}: {events} events, {f'DIFFERS: {difference}' if difference else 'equal'}", flush=True)
    for key in sorted(new_keys):
        print(f"new: {key}")
    print(f"{equal} cases are equal, {len(differing)} differ, {len(without)} have no configuration")
    for name in differing:
        print(f"  differs: {name}")
    if not equal and not differing:
        print(f"nothing was compared: no case has {options.only!r} in its name")
    return 1 if differing or not equal else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failed as failure:
        sys.exit(f"compare-builds: the old build cannot simulate: {failure}")
