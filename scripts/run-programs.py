#!/usr/bin/env python3
"""Builds all test programs of the workspace and runs several at a time: most of them wait for something most of their time.

    scripts/run-programs.py [WORD...]     only programs whose name (`-p evforge-core --lib`) has one of the words

What it prints is in the form of `cargo test`. EVFORGE_PROGRAMS is the number of programs at a time, RUST_TEST_THREADS the number of
tests at a time in each. test-seconds.json in the target folder keeps how long each took, so that the longest begin first.
"""

import contextlib
import itertools
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CARGO = os.environ.get("CARGO", "cargo")
CORES = len(os.sched_getaffinity(0))
PROGRAMS = int(os.environ.get("EVFORGE_PROGRAMS", CORES))
THREADS = os.environ.get("RUST_TEST_THREADS", str(CORES))
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).absolute()
SECONDS = TARGET / "test-seconds.json"
# What takes longest begins first, on a host that has no times of its own yet.
LONGEST = [f"-p evforge --test {name}" for name in ("live", "kafka", "wire", "program", "control", "kafka_write")]
LONGEST += ["-p evforge-filewriter --test control", "-p evforge-view --test page", "-p evforge-train --test train"]
# These measure the host or slow it down on purpose, or need real time: nothing runs beside them.
ALONE = {"-p evforge --test losses", "-p evforge --test kafka_faults"}


class Program:
    """A test program, as cargo has built it."""

    def __init__(self, artifact):
        target = artifact["target"]
        kind = target["kind"][0] if target["kind"][0] in ("bin", "test") else "lib"
        self.folder = Path(artifact["manifest_path"]).parent
        self.executable = artifact["executable"]
        # The package is named behind # or, where it has the name of its folder, is that.
        package = artifact["package_id"].rpartition("#")[2].partition("@")
        package = package[0] if package[1] else self.folder.name
        self.name = f"-p {package} --{kind}" + ("" if kind == "lib" else f" {target['name']}")
        source = Path(target["src_path"]).relative_to(self.folder)
        self.title = f"{'' if kind == 'test' else 'unittests '}{source} ({Path(self.executable).relative_to(TARGET.parent)})"

    def run(self, environment):
        """Its output, whether it succeeded, and the seconds it took: by the clock, and of processors."""
        begun = time.monotonic()
        with subprocess.Popen(
            [self.executable], cwd=self.folder, env={**environment, "CARGO_MANIFEST_DIR": str(self.folder)},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        ) as process:
            output = process.stdout.read().decode(errors="replace")
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        return output, process.returncode, time.monotonic() - begun, usage.ru_utime + usage.ru_stime


def messages(*options):
    """What cargo says while it builds the programs; its status at the end."""
    command = [CARGO, "test", "--workspace", "--locked", "--no-run", "--message-format", "json", *options]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as cargo:
        yield from map(json.loads, cargo.stdout)
    yield {"reason": "ended", "status": cargo.returncode}


def build():
    """Builds the programs, and benchmarks for their lints, and says how many warnings came with that; none of both if it fails."""
    programs, warnings = {}, set()
    for message in itertools.chain(messages(), messages("--benches")):
        reason = message["reason"]
        if reason == "compiler-artifact" and message["profile"]["test"] and message["executable"] and message["target"]["kind"] != ["bench"]:
            programs[message["executable"]] = Program(message)
        # A library that is built for its own tests, too, has each of its warnings twice.
        if reason == "compiler-message" and (said := message["message"])["rendered"] not in warnings:
            print(said["rendered"], flush=True)
            if said["level"] == "warning":
                warnings.add(said["rendered"])
        if reason == "ended" and message["status"]:
            return None, None
    return list(programs.values()), len(warnings)


def environment_of_tests():
    """What cargo gives to tests: [env] of its configuration, and the libraries of the toolchain and of the workspace."""
    configured = tomllib.loads((ROOT / ".cargo/config.toml").read_text())["env"]
    libraries = subprocess.run(["rustc", "--print", "target-libdir"], check=True, capture_output=True, text=True).stdout.strip()
    folders = [TARGET / "debug/deps", TARGET / "debug", libraries, os.environ.get("LD_LIBRARY_PATH", "")]
    # Python would compile everything that it imports, in each of some hundred processes.
    own = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**configured, **own, "CARGO": CARGO, "RUST_TEST_THREADS": THREADS, "LD_LIBRARY_PATH": ":".join(str(folder) for folder in folders if folder)}


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def answers(port):
    """Whether the broker at this port knows itself: its answer to a request for metadata, in the oldest form that it takes."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=2) as client:
        client.sendall(b"\0\0\0\x12\0\x03\0\x01\0\0\0\x07\0\x04wait\0\0\0\0")
        # Length, the number of the request, how many brokers.
        return client.recv(12)[8:] == b"\0\0\0\1"
    return False


@contextlib.contextmanager
def broker():
    """A broker of Kafka for all tests that need a sound one, started while everything compiles: HOST:PORT, or None if there can be none."""
    script = ROOT / "scripts/kafka.sh"
    if subprocess.run([script, "check"], capture_output=True, check=False).returncode != 0:
        yield lambda: None
        return
    port, controller = free_port(), free_port()
    with tempfile.TemporaryDirectory(prefix="evforge-kafka", ignore_cleanup_errors=True) as folder, open(f"{folder}/log", "wb") as log:
        # It ends with this program, however that ends; a host that is busy for a while is no reason for its controller to shut it out.
        command = ["setpriv", "--pdeathsig", "KILL", script, "serve", folder, "1", str(port), f"1@127.0.0.1:{controller}"]
        command += ["broker.session.timeout.ms=3600000"]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log) as process:

            def address():
                while process.poll() is None and not answers(port):
                    time.sleep(0.05)
                if process.poll() is not None:
                    sys.exit(f"the broker for the tests has ended: {Path(folder, 'log').read_text()}")
                return f"127.0.0.1:{port}"

            try:
                yield address
            finally:
                process.kill()


class Run:
    """All programs, the longest first; those that are alone at the end."""

    def __init__(self, programs, kafka):
        before = json.loads(SECONDS.read_text()) if SECONDS.exists() else {}
        seconds = {name: 1000 - place for place, name in enumerate(LONGEST)} | before
        self.waiting = sorted(programs, key=lambda program: (program.name in ALONE, -seconds.get(program.name, 0)))
        self.environment = {**environment_of_tests(), **({"EVFORGE_KAFKA": kafka} if kafka else {})}
        self.changed = threading.Condition()
        self.running = 0
        self.seconds = before
        self.broken = []

    def next(self):
        """The program to begin with now, or None at the end."""
        with self.changed:
            while self.waiting:
                is_alone = self.waiting[0].name in ALONE
                if not is_alone or self.running == 0:
                    self.running += 1
                    return self.waiting.pop(0)
                self.changed.wait()
            return None

    def work(self):
        while program := self.next():
            output, status, seconds, processor = program.run(self.environment)
            with self.changed:
                print(f"     Running {program.title}\n{output.rstrip()}")
                if status != 0:
                    self.broken.append(program.name)
                    print(f"error: test failed: {program.name} (exit status {status})")
                print(f"took {seconds:.1f} s ({processor:.1f} s of processors): {program.name}", flush=True)
                self.seconds[program.name] = round(seconds, 1)
                self.running -= 1
                self.changed.notify_all()

    def to_the_end(self):
        threads = [threading.Thread(target=self.work) for _ in range(PROGRAMS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        SECONDS.write_text(json.dumps(self.seconds, indent=1, sort_keys=True))
        if self.broken:
            print(f"error: {len(self.broken)} targets failed:")
            print("\n".join(f"    `{name}`" for name in sorted(self.broken)))
        return not self.broken


def main():
    with broker() as kafka:
        return build_and_run(sys.argv[1:], kafka)


def build_and_run(words, kafka):
    programs, warnings = build()
    if programs is None:
        return 101
    print(f"built {len(programs)} test programs", flush=True)
    if warnings:
        print(f"error: {warnings} warnings of the compiler and of clippy, each of which is an error", flush=True)
    chosen = [program for program in programs if not words or any(word in program.name for word in words)]
    return 0 if Run(chosen, kafka()).to_the_end() and not warnings else 101


if __name__ == "__main__":
    sys.exit(main())
