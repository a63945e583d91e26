"""The service that stays up for the whole soak, with one run after the other and clients that come and go."""

import json
import random
import shutil
import socket
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

from checks import balances, csv_rows, events_of, nexus_events, output, unaccounted
from clients import Clients
from program import TOKEN, Electronics, Evforge, configuration, free_port
from sampling import growth_per_hour, second_half
from turn import BACK_WITHIN, SLACK_DESCRIPTORS, SLACK_THREADS, Context, asked, latency, tables

DETECTOR = "freia"
UNIT = "service"
# What the resident memory may grow by in the later half, in bytes per hour, and what it may grow by in any case: HDF5, the allocator and
# the outputs of each run take and give back pieces of some megabytes, so that a few minutes say nothing of an hour.
GROWTH_PER_HOUR = 8e6
GROWTH_AT_ALL = 20e6
# In the first minutes buffers are used for the first time.
GROWTH_OF_MINUTES, MINUTES = 80e6, 600.0


class Service:
    """`evforge serve` with a thread that starts and stops runs."""

    def __init__(self, context: Context, seconds: float, period: float, seed: int):
        self.context, self.period = context, period
        self.chance = random.Random(seed)
        self.folder = context.folder / "service"
        self.folder.mkdir()
        command_port, port = free_port(), free_port(socket.SOCK_DGRAM)
        config = configuration(DETECTOR, self.folder, tables(context, f"{DETECTOR}_service"))
        # Two threads receive, two form. Small buffers are all in use soon: then whatever grows is a leak.
        words = ["serve", config, "--set", f'receive.address="127.0.0.1:{port}"', "--set", "input.threads=2", "--set",
                 "threads.receive.count=2", "--set", "receive.sockets=2", "--set", "threads.form=2", "--set", 'serve.number_file="number"',
                 "--set", "ess.sorting.max_held_hits=8192", "--set", 'outputs.view.event_memory="16MB"', "--set", 'input.queue="4MB"',
                 "--view", "127.0.0.1:0", "--nexus", "{run:6}.nxs", "--events", "{run:6}.csv", "--image", "{run:6}.png",
                 "--report", "{run:6}.json", "--record", "{run:6}.pcapng", "--record-queue", "16MB", "--command-port", f"127.0.0.1:{command_port}"]
        self.program = Evforge(context.program, words, self.folder, UNIT)
        try:
            self._begin(config, f"127.0.0.1:{port}", seconds, seed)
        except BaseException:
            self.program.process.kill()
            raise
        self.command_port = command_port
        self.clients = Clients(self.program.view, command_port, self.chance.randrange(1 << 31), 4)
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self._work, daemon=True)
        self.thread.start()

    def _begin(self, config: Path, to: str, seconds: float, seed: int) -> None:
        context = self.context
        self.program.wait_until_ready(tells_address=False)
        context.sampler.watch(UNIT, UNIT, self.program)
        self.electronics = Electronics(context.program, config, to, seconds + 600, seed, context.neutrons, [])
        # Once around, so that all that is made once is made: then it is counted what there is without clients.
        self.runs = 0
        self._one_run(min(3.0, self.period))
        time.sleep(1.0)
        self.base = self.program.weight()

    def wrong(self, said: str) -> None:
        self.context.find(f"service: {said}")

    def _work(self) -> None:
        while not self.stopped.is_set():
            try:
                self._one_run(self.chance.uniform(0.3, 1.0) * self.period)
            except Exception as error:  # Whatever it is, it is a finding, and the service goes on.
                self.wrong(f"{type(error).__name__}: {error}")
                self._stop_what_goes_on()
                if self.stopped.wait(5) or self.program.process.poll() is not None:
                    return
            self.stopped.wait(self.chance.uniform(0, 0.2) * self.period)

    def _stop_what_goes_on(self) -> None:
        """A run that was started after nobody waited for it any more."""
        try:
            self._post("/api/control/runs/stop", {})
        except (RuntimeError, OSError):
            pass

    def _post(self, path: str, body: dict) -> dict:
        request = urllib.request.Request(self.program.view + path, json.dumps(body).encode(), method="POST",
                                         headers={"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"{path}: {error.code}: {error.read().decode(errors='replace')[:300]}") from error

    def _one_run(self, seconds: float) -> None:
        run = self._post("/api/control/runs", {"title": f"soak {self.runs + 1}"})
        self.runs += 1
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if said := unaccounted(asked(self.program)):
                self.wrong(f"while run {run['number']} goes on: {said}")
            time.sleep(min(5.0, max(0.05, left)))
        end = self._post("/api/control/runs/stop", {})
        if not end["is_good"]:
            self.wrong(f"run {run['number']}: {end['outcome']}")
        self._check(run, end)

    def _check(self, run: dict, end: dict) -> None:
        stem = self.folder / f"{run['number']:06}"
        report = json.loads(stem.with_suffix(".json").read_text(encoding="utf-8"))
        wrong = unaccounted(report)
        events = end["events"]
        if events_of(report) != events:
            wrong.append(f"{events} events by the service, {events_of(report)} by the report")
        nexus, csv = output(report, "nexus"), output(report, "csv")
        if nexus["events"]["committed"]:
            found, _ = nexus_events(self.context.program, stem.with_suffix(".nxs"))
            if found != nexus["events"]["committed"]:
                wrong.append(f"{found} events in the file, {nexus['events']['committed']} committed")
        if (rows := csv_rows(stem.with_suffix(".csv"))) != csv["events"]["committed"]:
            wrong.append(f"{rows} rows, {csv['events']['committed']} committed")
        if wrong:
            self.wrong(f"run {run['number']}: {wrong}")
        self.context.lives.append({
            "unit": UNIT, "detector": DETECTOR, "life": f"run {run['number']}", "end": "stopped", "events": events,
            "ended_at_seconds": round(self.context.sampler.now(), 1), "balances": balances(report), "latency": latency(report),
            "unaccounted": len(unaccounted(report)), "lost": report["streams"][0]["packets"].get("lost")})
        for file in Path(self.folder).glob(f"{stem.name}*"):
            file.unlink()

    def end(self) -> dict:
        """Clients leave, the run stops, and the service ends: what it has grown by."""
        self.stopped.set()
        self.thread.join(300)
        self.clients.stop()
        now, deadline = self.program.weight(), time.monotonic() + BACK_WITHIN
        while now and (now.descriptors > self.base.descriptors + SLACK_DESCRIPTORS or now.threads > self.base.threads + SLACK_THREADS):
            if time.monotonic() > deadline:
                self.wrong(f"when all clients have left there are {now.descriptors} descriptors and {now.threads} threads; "
                           f"before there were {self.base.descriptors} and {self.base.threads}")
                break
            time.sleep(0.5)
            now = self.program.weight()
        samples = self.context.sampler.of(UNIT)
        later = second_half(samples)
        growth = growth_per_hour(samples)
        span = later[-1].seconds - later[0].seconds if later else 0.0
        at_all = GROWTH_AT_ALL if span > MINUTES else GROWTH_OF_MINUTES
        bound = max(GROWTH_PER_HOUR, at_all * 3600 / max(span, 1.0))
        if growth > bound and self.context.judges_growth:
            self.wrong(f"resident memory grows by {growth / 1e6:.1f} MB an hour in the later half; the bound is {bound / 1e6:.1f} MB")
        self.context.sampler.watch(UNIT, "", None)
        if said := self.electronics.stop():
            self.wrong(said)
        self.program.send("TERM")
        status = self.program.wait()
        if status != 0:
            self.wrong(f"ended with status {status}: {list(self.program.said)[-3:]}")
        shutil.rmtree(self.folder, ignore_errors=True)
        return {"detector": DETECTOR, "runs": self.runs, "growth_bytes_per_hour": round(growth), "growth_bound_bytes_per_hour": round(bound),
                "rss_bytes_most": max((sample.rss_bytes for sample in samples), default=0),
                "base": vars(self.base), "end": vars(now) if now else None, "status": status, "clients": dict(self.clients.done)}
