"""A turn of a detector: its run is killed at a random moment and recovered, then runs again and is ended in good order."""

import json
import os
import random
import shutil
import socket
import time
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

from checks import (balances, csv_rows, events_of, finish_recording, formed_again, nexus_events, output, unaccounted)
from clients import Clients
from program import Electronics, Evforge, configuration, free_port
from sampling import Sampler

# Descriptors and threads come back to what they were within this time, in seconds: the program waits up to 30 s for some clients.
BACK_WITHIN = 45.0
# Of a run without a client, a moment more or less: a file that is synchronised, a connection to Graphite.
SLACK_DESCRIPTORS, SLACK_THREADS = 3, 2


@dataclass
class Context:
    """What all parts of a soak share."""

    program: Path
    folder: Path
    sampler: Sampler
    graphite_port: int
    broker_port: int | None
    neutrons: str
    judges_growth: bool
    findings: list[str] = field(default_factory=list)
    lives: list[dict] = field(default_factory=list)

    def find(self, said: str) -> None:
        """Something is wrong. On a host that is overloaded the host may be what is wrong: so its load is said."""
        said = f"{said} (at {self.sampler.now() / 60:.1f} min, {os.getloadavg()[0]:.0f} threads wanted {len(os.sched_getaffinity(0))} cores)"
        self.findings.append(said)
        print(f"FOUND  {said}", flush=True)


def tables(context: Context, name: str) -> str:
    """Outputs of every run: Graphite and, if there is a broker, Kafka; the others are named on the command line."""
    text = f'[outputs.graphite]\naddress = "127.0.0.1:{context.graphite_port}"\nregion = "soak"\n'
    if context.broker_port:
        text += (f'[outputs.kafka]\nbrokers = "127.0.0.1:{context.broker_port}"\ntopic = "{name}_detector"\n'
                 "create_topics = true\n")
    return text


def asked(program: Evforge, path: str = "/api/state.json") -> dict:
    with urllib.request.urlopen(program.view + path, timeout=20) as answer:
        return json.load(answer)


def committed(state: dict) -> dict[str, int]:
    """Events that each output says are where they belong, and packets that the recorder has written."""
    found = {each["id"]: each["events"].get("committed", 0) for each in state.get("outputs", [])}
    return found


class Life:
    """A run from its start to its end, however it ends."""

    def __init__(self, context: Context, detector: str, life: str, chance: random.Random, faults: list[str]):
        self.context, self.name, self.life = context, detector, life
        self.folder = context.folder / "turn"
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        self.config = configuration(detector, self.folder, tables(context, detector))
        (self.folder / "plain").mkdir()
        self.plain = configuration(detector, self.folder / "plain", "")
        self.command_port = free_port()
        self.port = free_port(socket.SOCK_DGRAM)
        words = ["run", "--config", self.config, "--set", f'receive.address="127.0.0.1:{self.port}"', "--view", "127.0.0.1:0",
                 "--nexus", "run.nxs", "--events", "run.csv", "--image", "run.png", "--record", "run.pcapng", "--report", "run.json",
                 "--command-port", f"127.0.0.1:{self.command_port}"]
        if chance.random() < 0.5:
            words += ["--set", "input.threads=2", "--set", "threads.receive.count=2", "--set", "receive.sockets=2"]
        self.program = Evforge(context.program, words, self.folder, "run")
        self.electronics: Electronics | None = None
        self.clients: Clients | None = None
        self.faults = faults

    def begin(self, seconds: float, seed: int) -> None:
        self.program.wait_until_ready()
        self.context.sampler.watch("turns", f"{self.name} {self.life}", self.program)
        # The electronics send on a while longer than anybody listens.
        self.electronics = Electronics(self.context.program, self.config, f"127.0.0.1:{self.port}", seconds + 30, seed,
                                       self.context.neutrons, self.faults)

    def let_clients_in(self, seed: int) -> None:
        self.clients = Clients(self.program.view, self.command_port, seed, 3)

    def note(self, **what) -> dict:
        entry = {"unit": "turns", "detector": self.name, "life": self.life, "ended_at_seconds": round(self.context.sampler.now(), 1),
                 "clients": dict(self.clients.done) if self.clients else {}, **what}
        self.context.lives.append(entry)
        return entry

    def wrong(self, said: str) -> None:
        self.context.find(f"{self.name}, {self.life}: {said}")

    def close(self) -> None:
        self.context.sampler.watch("turns", "", None)
        if self.clients:
            self.clients.stop()
        if self.electronics and (said := self.electronics.stop()):
            self.wrong(said)
        if self.program.process.poll() is None:
            self.program.process.kill()
            self.program.wait()


def killed(life: Life, seconds: float, chance: random.Random) -> None:
    """A life that ends by kill -9, and what is recovered of it: at least what was committed."""
    context = life.context
    life.begin(seconds, chance.randrange(1 << 31))
    life.let_clients_in(chance.randrange(1 << 31))
    until = time.monotonic() + chance.uniform(0.15, 1.0) * seconds
    promised: dict[str, int] = {}
    while (left := until - time.monotonic()) > 0:
        if life.program.process.poll() is not None:
            life.wrong(f"ended by itself with status {life.program.process.returncode}: {list(life.program.said)[-3:]}")
            return
        try:
            promised = committed(asked(life.program))
        except OSError as error:
            life.wrong(f"its state cannot be asked for: {error}")
        time.sleep(min(1.0, max(0.0, left)))
    life.program.send("KILL")
    life.program.wait()
    recovered: dict[str, int] = {}
    if (life.folder / "run.nxs").is_file():
        recovered["nexus"], _ = nexus_events(context.program, life.folder / "run.nxs")
        again, said = nexus_events(context.program, life.folder / "run.nxs")
        if again != recovered["nexus"] or "untouched" not in said:
            life.wrong(f"what was recovered is not whole: {said}")
    for partial in life.folder.glob("run.csv.partial-*"):
        recovered["csv"] = csv_rows(partial)
    for partial in life.folder.glob("run.pcapng.partial-*"):
        recording, recovered["packets"] = finish_recording(context.program, partial)
        if recovered["packets"]:
            formed_again(context.program, life.plain, recording, life.folder)
    for name, count in promised.items():
        if name in ("nexus", "csv") and recovered.get(name, 0) < count:
            life.wrong(f"{name}: {count} events were committed, {recovered.get(name, 0)} are recovered")
    life.note(end="KILL", committed={name: promised.get(name, 0) for name in ("nexus", "csv")}, recovered=recovered)


def weight_at_work(life: Life, seconds: float):
    """What it takes when events have come and files are open, before anybody looks at it."""
    until = time.monotonic() + max(5.0, seconds / 4)
    while time.monotonic() < until:
        state = asked(life.program)
        if any(each["id"] == "nexus" and each["events"].get("accepted", 0) > 0 for each in state["outputs"]):
            break
        time.sleep(0.2)
    time.sleep(min(2.0, seconds / 10))
    return life.program.weight()


def back_to_base(life: Life, base) -> None:
    """Descriptors and threads are back where they were when nobody was there."""
    deadline = time.monotonic() + BACK_WITHIN
    while True:
        now = life.program.weight()
        if now is None:
            return
        is_back = now.descriptors <= base.descriptors + SLACK_DESCRIPTORS and now.threads <= base.threads + SLACK_THREADS
        if is_back:
            return
        if time.monotonic() > deadline:
            life.wrong(f"when all clients have left there are {now.descriptors} descriptors and {now.threads} threads; "
                       f"before there were {base.descriptors} and {base.threads}")
            return
        time.sleep(0.5)


def ended(life: Life, seconds: float, chance: random.Random) -> None:
    """A life that ends by a signal that asks, when its clients have left: balances, files and recording fit one another."""
    life.begin(seconds, chance.randrange(1 << 31))
    base = weight_at_work(life, seconds)
    life.let_clients_in(chance.randrange(1 << 31))
    time.sleep(max(0.5, seconds * 0.6))
    if said := unaccounted(asked(life.program)):
        life.wrong(f"while it goes on: {said}")
    life.clients.stop()
    back_to_base(life, base)
    end = chance.choice(["TERM", "INT", "HUP"])
    life.program.send(end)
    status = life.program.wait()
    if status != 0:
        life.wrong(f"after SIG{end} it ended with status {status}: {list(life.program.said)[-3:]}")
    report = json.loads((life.folder / "run.json").read_text(encoding="utf-8"))
    check_report(life, report)
    life.note(end=end, status=status, events=events_of(report), lost=report["streams"][0]["packets"].get("lost"),
              balances=balances(report), latency=latency(report), unaccounted=len(unaccounted(report)))


def latency(report: dict) -> dict:
    """Of the report: from the arrival of packets to their events, and to each output, in seconds."""
    outputs = {each["id"]: each.get("latency") for each in report.get("outputs", []) if each["id"] in ("nexus", "kafka", "view")}
    found = {"events": report["streams"][0].get("latency"), **outputs}
    return {what: {key: value[key] for key in ("p50_s", "p99_s", "largest_s")} for what, value in found.items() if value}


def check_report(life: Life, report: dict) -> None:
    """Against what is in the files."""
    context = life.context
    if said := unaccounted(report):
        life.wrong(f"balances: {said}")
    if not balances(report):
        life.wrong("the report has no balances")
    if report.get("alarms"):
        life.wrong(f"alarms: {report['alarms']}")
    nexus = output(report, "nexus")
    if nexus and nexus["events"]["committed"] > 0:
        found, said = nexus_events(context.program, life.folder / "run.nxs")
        if found != nexus["events"]["committed"] or "untouched" not in said:
            life.wrong(f"run.nxs has {found} events, {nexus['events']['committed']} were committed: {said}")
    if (csv := output(report, "csv")) and (rows := csv_rows(life.folder / "run.csv")) != csv["events"]["committed"]:
        life.wrong(f"run.csv has {rows} events, {csv['events']['committed']} were committed")
    if not (life.folder / "run.png").read_bytes().startswith(b"\x89PNG"):
        life.wrong("run.png is no picture")
    again = formed_again(context.program, life.plain, life.folder / "run.pcapng", life.folder)
    recording = report.get("recording") or {}
    dropped = recording.get("packets", {}).get("dropped", 0)
    if not dropped and events_of(again) != events_of(report):
        life.wrong(f"{events_of(report)} events were formed, and {events_of(again)} of the recording")
