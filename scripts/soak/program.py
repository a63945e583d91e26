"""Programs of a soak: evforge itself, what it says, what it weighs, and the electronics that send to it."""

import os
import re
import signal
import socket
import subprocess
import threading
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
# Nothing here takes so long unless it hangs, on a busy host either. In seconds.
PATIENCE = 90.0
TOKEN = "a-token-that-only-this-soak-knows"
SAID_LINES = 400


def free_port(kind: int = socket.SOCK_STREAM) -> int:
    """A port of this host that was free a moment ago."""
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@dataclass
class Weight:
    """What a process takes at a moment."""

    rss_bytes: int
    descriptors: int
    threads: int
    cpu_seconds: float


def weight(pid: int) -> Weight | None:
    """Of a process; none when it has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
        stat = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        descriptors = len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return None
    rss = re.search(r"VmRSS:\s+(\d+) kB", status)
    threads = re.search(r"Threads:\s+(\d+)", status)
    if not rss or not threads:
        return None
    ticks = int(stat[11]) + int(stat[12])
    return Weight(int(rss[1]) * 1024, descriptors, int(threads[1]), ticks / os.sysconf("SC_CLK_TCK"))


class Evforge:
    """A live run or a service: started, heard, asked to end."""

    def __init__(self, program: Path, words: list, folder: Path, name: str):
        self.name = name
        self.log = folder / f"{name}.log"
        self.said: deque[str] = deque(maxlen=SAID_LINES)
        self.view = ""
        self.changed = threading.Condition()
        environment = {**os.environ, "EVFORGE_TOKEN": TOKEN}
        self.process = subprocess.Popen(
            [str(word) for word in [program, *words]],
            # A soak that is started by nohup ignores SIGHUP: the program, which keeps to that, must not inherit it.
            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
            cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            text=True, errors="replace")
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        with open(self.log, "w", encoding="utf-8") as log:
            for line in self.process.stderr:
                log.write(line)
                log.flush()
                with self.changed:
                    self.said.append(line.rstrip())
                    if found := re.search(r"live view at (http://[^\s#]+)", line):
                        self.view = found[1].rstrip("/")
                    self.changed.notify_all()
        with self.changed:
            self.changed.notify_all()

    def wait_until_ready(self, tells_address: bool = True) -> None:
        """Waits until its page is served and packets are received."""
        def is_ready() -> bool:
            return bool(self.view) and (not tells_address or any("receiving at UDP" in line for line in self.said))
        deadline = time.monotonic() + PATIENCE
        with self.changed:
            while not is_ready():
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"{self.name} does not begin: {' / '.join(list(self.said)[-5:])}")
                self.changed.wait(0.2)

    def weight(self) -> Weight | None:
        return None if self.process.poll() is not None else weight(self.process.pid)

    def send(self, name: str) -> None:
        """A signal, by its name without SIG."""
        if self.process.poll() is None:
            self.process.send_signal(getattr(signal, f"SIG{name}"))

    def wait(self) -> int | None:
        """Its exit status; none, and it is killed, if it does not end."""
        try:
            status = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            status = None
        self.reader.join(5)
        return status


def tells_addresses(config: Path) -> bool:
    """Whether sources are known by where they send from."""
    return any('"127.168.' in line.split("#")[0] for line in config.read_text(encoding="utf-8").splitlines())


class Electronics:
    """`evforge simulate --to`: the simulated detector, pulse by pulse as it would be, until it is stopped."""

    def __init__(self, program: Path, config: Path, to: str, seconds: float, seed: int, neutrons: str, faults: list[str]):
        words = [program, "simulate", "--config", config, "--to", to, "--pulses", max(14, int(seconds * 14))]
        words += ["--seed", seed, "--neutrons", neutrons]
        if tells_addresses(config):
            words.append("--own-addresses")
        for fault in faults:
            words += ["--fault", fault]
        self.process = subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace")

    def stop(self) -> str:
        """What went wrong with it; nothing if all was well."""
        early = self.process.poll()
        if early is None:
            self.process.terminate()
        try:
            said = self.process.communicate(timeout=PATIENCE)[1]
        except subprocess.TimeoutExpired:
            self.process.kill()
            return "the electronics do not stop"
        # Packets to a program that was killed are refused by the host: that is no fault of the electronics.
        if early not in (None, 0) and "refused" not in said:
            return f"the electronics ended with status {early}: {said.strip().splitlines()[-1:] or ''}"
        return ""


def run(program: Path, *words) -> subprocess.CompletedProcess:
    """A command of evforge that ends by itself."""
    return subprocess.run([str(word) for word in [program, *words]], capture_output=True, text=True, errors="replace",
                          stdin=subprocess.DEVNULL, timeout=10 * PATIENCE, check=False)


def configuration(name: str, folder: Path, tables: str) -> Path:
    """A shipped configuration with further tables, in a folder, with the files that it names. Its electronics have addresses that this
    host can send from."""
    def copy(path: Path, further: str = "") -> Path:
        text = path.read_text(encoding="utf-8").replace("192.168.", "127.168.")
        copied = folder / path.relative_to(ROOT / "configs")
        copied.parent.mkdir(exist_ok=True)
        copied.write_text(text + further, encoding="utf-8")
        return copied
    for inner in ("reference-2018", "isis"):
        for path in (ROOT / "configs" / inner).iterdir():
            copy(path)
    return copy(ROOT / "configs" / f"{name}.toml", f"\n{tables}")
