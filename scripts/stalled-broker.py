#!/usr/bin/env python3
"""What forming events costs while a broker of Kafka stands still, and while it does not: processor time of the forming thread
per event, in pairs that take turns.

    scripts/stalled-broker.py [--pairs 15] [--program target/release/evforge]

The same packets are sent over UDP on loopback to two runs of a pair, each with [outputs.kafka] of little memory (1 MB, and 20 000
events before it), so that the broker that stands still is felt at once: the output drops what it has no room for. What is to be
shown is that the ratio is not above 1; it is met if the 95 % interval of the median excludes 1.2.
"""

import argparse
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CONFIG = ROOT / "configs/freia.toml"


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Broker:
    def __init__(self, folder):
        self.port = free_port()
        voters = f"1@127.0.0.1:{free_port()}"
        command = ["setpriv", "--pdeathsig", "KILL", ROOT / "scripts/kafka.sh", "serve", folder, "1", str(self.port), voters]
        self.log = open(folder / "log", "w")
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log)
        end = time.monotonic() + 60
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                if time.monotonic() > end or self.process.poll() is not None:
                    sys.exit("the broker does not start: " + (folder / "log").read_text()[-2000:])
                time.sleep(0.1)

    def signal(self, number):
        self.process.send_signal(number)

    def end(self):
        self.process.kill()
        self.process.wait()


def forming_ns(process):
    """Processor time of the threads that are neither an output's nor the client's."""
    total = 0
    for task in Path(f"/proc/{process.pid}/task").iterdir():
        name = (task / "comm").read_text().strip()
        if name == "output" or name.startswith("rdk:"):
            continue
        total += int((task / "schedstat").read_text().split()[0])
    return total


def measure(program, folder, broker, capture, number, is_stalled, speed):
    report = folder / "report.json"
    keys = {
        "brokers": f"127.0.0.1:{broker.port}",
        "topic": f"run_{number}",
        "create_topics": "true",
        "memory": "1MB",
        "queue_events": "20000",
        "finish_within": "20s",
    }
    command = [program, "run", "--overwrite", "--config", CONFIG, "--address", "127.0.0.1", "--port", "0", "--report", report]
    for key, value in keys.items():
        command += ["--set", f"outputs.kafka.{key}={value}"]
    run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    said, address = "", None
    for line in run.stderr:
        said += line
        if line.startswith("receiving at UDP "):
            address = line.split()[-1]
        if line.startswith("received by"):
            break
    if address is None:
        sys.exit(f"the program does not receive: {said}")
    try:
        time.sleep(0.3)
        if is_stalled:
            broker.signal(signal.SIGSTOP)
        before = forming_ns(run)
        replay = [program, "replay", "--overwrite", capture, "--to", address, "--speed", str(speed)]
        subprocess.run(replay, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(0.3)
        taken = forming_ns(run) - before
    finally:
        broker.signal(signal.SIGCONT)
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=60)
    state = json.loads(report.read_text())
    events = state["streams"][0]["events"]
    kafka = next(output for output in state["outputs"] if output["id"] == "kafka")
    assert kafka["unaccounted"] == 0, kafka
    return taken / events, events, kafka["events"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--program", type=Path, default=ROOT / "target/release/evforge")
    options = parser.parse_args()
    if not options.program.exists():
        sys.exit(f"{options.program} is not there: make build")
    program = options.program.resolve()
    with tempfile.TemporaryDirectory(prefix="evforge-stalled") as folder:
        folder = Path(folder)
        capture = folder / "run.pcapng"
        simulate = ["simulate", "freia", "--pulses", "28", "--neutrons", "200kHz", "--seed", "3", "--start", "fixed"]
        subprocess.run([program, *simulate, "--output", capture], check=True, stdout=subprocess.DEVNULL)
        broker = Broker(folder)
        try:
            ratios, costs = [], {False: [], True: []}
            for pair in range(options.pairs):
                for is_stalled in (pair % 2 == 0, pair % 2 == 1):
                    number = 2 * pair + is_stalled
                    cost, events, counts = measure(program, folder, broker, capture, number, is_stalled, 1)
                    # A pair in which nothing was dropped, or something though the broker was well, says nothing.
                    assert (counts["dropped"] > 0) == is_stalled, (is_stalled, counts)
                    costs[is_stalled].append(cost)
                ratios.append(costs[True][-1] / costs[False][-1])
                well, stalled = costs[False][-1], costs[True][-1]
                print(f"{pair + 1:3}  {events} events  {well:7.1f} ns/event  stalled {stalled:7.1f}  ratio {ratios[-1]:.3f}", flush=True)
        finally:
            broker.end()
    ratios.sort()
    # Ranks between which the median is with 95 % (binomial): 4 and 12 of 15.
    rank = max(0, round(len(ratios) / 2 - 0.98 * len(ratios) ** 0.5) - 1)
    low, high = ratios[rank], ratios[-1 - rank]
    print(f"median {statistics.median(ratios):.3f}, 95 % from {low:.3f} to {high:.3f}: " + ("met" if high < 1.2 else "NOT met"))
    print(f"processor time per event: {statistics.median(costs[False]):.1f} ns, stalled {statistics.median(costs[True]):.1f} ns")
    sys.exit(high >= 1.2)


if __name__ == "__main__":
    main()
