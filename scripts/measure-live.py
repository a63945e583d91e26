#!/usr/bin/env python3
"""Finds the highest rate at which builds of evforge receive, form events and write NeXus without losing anything.

    sudo scripts/measure-live.py OLD NEW [--config freia] [--seconds 5] [--searches 3] [--set KEY=VALUE ...]

OLD and NEW are folders of clones with a release build (target/release/evforge). NEW sends for both: packets of the simulated
detector over a pair of virtual interfaces (MTU 9000) between two network namespaces, a second of data built once and
sent again and again. Each build reads its own configuration, and --set holds for NEW only. A rate holds if the report knows of no
loss of any kind and every event is in the file. Searches of both builds take turns; the median counts.

The sender has the same processor cores as the receiver, so that the rates are those of both ends together.
"""

import argparse
import json
import re
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

RECEIVER, SENDER = "evf-receiver", "evf-sender"
ADDRESS = "10.77.0.1"
PORT = 9000
# Rates are found to this ratio.
STEP = 1.06


def run(*words: str, **more) -> subprocess.CompletedProcess:
    return subprocess.run(words, check=True, capture_output=True, text=True, **more)


def connect() -> None:
    """Two namespaces and a wire between them."""
    disconnect()
    for name in (RECEIVER, SENDER):
        run("ip", "netns", "add", name)
    run("ip", "link", "add", "evf0", "mtu", "9000", "netns", RECEIVER, "type", "veth", "peer", "name", "evf1",
        "mtu", "9000", "netns", SENDER)
    for name, interface, address in ((RECEIVER, "evf0", ADDRESS), (SENDER, "evf1", "10.77.0.2")):
        run("ip", "-n", name, "address", "add", f"{address}/24", "dev", interface)
        run("ip", "-n", name, "link", "set", interface, "up")


def disconnect() -> None:
    for name in (RECEIVER, SENDER):
        subprocess.run(["ip", "netns", "delete", name], capture_output=True)


class Build:
    """A build and what it is told."""

    def __init__(self, folder: str, config: str, keys: list[str]):
        self.folder = Path(folder).resolve()
        self.program = self.folder / "target/release/evforge"
        head = run("git", "-C", str(self.folder), "rev-parse", "--short", "HEAD")
        self.name = head.stdout.strip()
        self.config = self.folder / f"configs/{config}.toml"
        self.keys = keys
        self.is_positional = "<CONFIG>" in run(str(self.program), "run", "--help").stdout.split("Options:")[0]

    def receive(self, folder: Path, seconds: float) -> subprocess.Popen:
        config = [self.config] if self.is_positional else ["--config", self.config]
        words = ["ip", "netns", "exec", RECEIVER, self.program, "run", *config, "--nexus", folder / "run.nxs"]
        words += ["--report", folder / "report.json", "--for", f"{seconds:.0f}s", "--quiet"]
        for key in [f'receive.address="{ADDRESS}:{PORT}"', *self.keys]:
            words += ["--set", key]
        return subprocess.Popen([str(word) for word in words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def sent(sender: Build, rate: float, seconds: int) -> int:
    """Sends at this rate of neutrons: how many packets."""
    words = ["ip", "netns", "exec", SENDER, sender.program, "simulate", "--config", sender.config, "--neutrons", f"{rate:.0f}Hz"]
    words += ["--pulses", "14", "--to", f"{ADDRESS}:{PORT}", "--repeat", str(seconds)]
    said = run(*(str(word) for word in words)).stdout
    packets = re.search(r"([\d  ,]+) packets", said)
    if not packets:
        raise SystemExit(f"{words}: {said}")
    return int(re.sub(r"\D", "", packets[1]))


def problem(build: Build, sender: Build, rate: float, seconds: int) -> str:
    """Why this rate does not hold; nothing if it does."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        # Building the load takes a while, which depends on the rate.
        receiver = build.receive(folder, 12 + seconds + rate / 2e5)
        time.sleep(1)
        count = sent(sender, rate, seconds)
        time.sleep(1)
        receiver.terminate()
        said = receiver.communicate()[1].decode()
        report = folder / "report.json"
        if not report.is_file():
            return said.strip().splitlines()[-1] if said.strip() else "no report"
        found = json.loads(report.read_text())
    stream = found["streams"][0]
    received = stream["packets"]["received"]
    if received < count:
        return f"{count - received} of {count} packets lost"
    # The report of 55cf9c5 calls outputs sinks, and has their counts one step further up.
    outputs = found["outputs"] if "outputs" in found else found["sinks"]
    [counts] = [output.get("events", output) for output in outputs if output["name"].startswith("NeXus")]
    if counts["dropped"] + counts["missed"] > 0:
        return f"{counts['dropped'] + counts['missed']} events not written"
    return ""


def search(build: Build, sender: Build, seconds: int, low: float) -> float:
    """The highest rate of neutrons that holds."""
    good, bad = 0.0, 0.0
    rate = low
    while not bad or not good or bad / good > STEP:
        why = problem(build, sender, rate, seconds)
        print(f"  {build.name} at {rate / 1e6:.3f} MHz: {why or 'nothing lost'}", flush=True)
        if not why:
            good = rate
            rate = rate * 1.5 if not bad else (rate * bad) ** 0.5
        else:
            bad = rate
            rate = rate / 1.5 if not good else (good * rate) ** 0.5
            if rate < 1e3:
                return 0.0
    return good


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--config", default="freia")
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--searches", type=int, default=3)
    parser.add_argument("--from", dest="low", type=float, default=1.0, help="MHz of neutrons to begin with")
    parser.add_argument("--set", dest="keys", action="append", default=[], help="of NEW only")
    arguments = parser.parse_args()
    old = Build(arguments.old, arguments.config, [])
    new = Build(arguments.new, arguments.config, arguments.keys)
    connect()
    try:
        found = {old: [], new: []}
        for _ in range(arguments.searches):
            for build in (old, new):
                found[build].append(search(build, new, arguments.seconds, arguments.low * 1e6))
        medians = [statistics.median(found[build]) for build in (old, new)]
        print(f"{arguments.config}: {old.name} {medians[0] / 1e6:.3f} MHz, {new.name} {medians[1] / 1e6:.3f} MHz, "
              f"ratio {medians[1] / max(medians[0], 1):.2f}")
    finally:
        disconnect()


if __name__ == "__main__":
    main()
