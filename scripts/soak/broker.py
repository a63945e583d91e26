"""A Kafka broker of the soak's own, if Java and the jars are here: scripts/kafka.sh."""

import socket
import subprocess
import time
from pathlib import Path

from program import PATIENCE, ROOT, free_port

SCRIPT = ROOT / "scripts" / "kafka.sh"


class Broker:
    """A broker that ends with the soak."""

    def __init__(self, folder: Path):
        self.port, controller = free_port(), free_port()
        log = open(folder / "broker.log", "w", encoding="utf-8")
        words = [SCRIPT, "serve", folder / "broker", "1", self.port, f"1@127.0.0.1:{controller}", "log.retention.bytes=50000000",
                 "log.segment.bytes=10000000", "log.retention.check.interval.ms=10000"]
        self.process = subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    self.stop()
                    raise RuntimeError(f"the broker does not begin: {folder}/broker.log")
                time.sleep(0.2)

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


def problem() -> str:
    """Why there can be no broker; nothing if there can."""
    found = subprocess.run([SCRIPT, "check"], capture_output=True, text=True, check=False)
    return "" if found.returncode == 0 else found.stderr.strip()
