"""What programs weigh, every few seconds, into a table; and what a series of it says."""

import csv
import statistics
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from program import Evforge

COLUMNS = ["seconds", "unit", "life", "rss_bytes", "descriptors", "threads", "cpu_seconds"]


@dataclass
class Sample:
    """A line of the table. Seconds count from the start of the soak."""

    seconds: float
    unit: str
    life: str
    rss_bytes: int
    descriptors: int
    threads: int
    cpu_seconds: float


class Sampler:
    """Weighs the programs that it is told of, in a thread of its own."""

    def __init__(self, path: Path, interval: float):
        self.begun = time.monotonic()
        self.interval = interval
        self.samples: list[Sample] = []
        self.watched: dict[str, tuple[str, Evforge]] = {}
        self.lock = threading.Lock()
        self.stopped = threading.Event()
        self.file = open(path, "w", newline="", encoding="utf-8")
        self.table = csv.writer(self.file, lineterminator="\n")
        self.table.writerow(COLUMNS)
        self.thread = threading.Thread(target=self._sample, daemon=True)
        self.thread.start()

    def watch(self, unit: str, life: str, program: Evforge | None) -> None:
        """From now on this is the program of the unit, or there is none."""
        with self.lock:
            if program is None:
                self.watched.pop(unit, None)
            else:
                self.watched[unit] = (life, program)

    def now(self) -> float:
        return time.monotonic() - self.begun

    def stop(self) -> None:
        self.stopped.set()
        self.thread.join(10)
        self.file.close()

    def of(self, unit: str) -> list[Sample]:
        return [sample for sample in self.samples if sample.unit == unit]

    def _sample(self) -> None:
        while not self.stopped.wait(self.interval):
            with self.lock:
                watched = list(self.watched.items())
            for unit, (life, program) in watched:
                found = program.weight()
                if found is None:
                    continue
                sample = Sample(self.now(), unit, life, found.rss_bytes, found.descriptors, found.threads, found.cpu_seconds)
                self.samples.append(sample)
                self.table.writerow([f"{sample.seconds:.1f}", unit, life, sample.rss_bytes, sample.descriptors, sample.threads,
                                     f"{sample.cpu_seconds:.2f}"])
            self.file.flush()


def slope(points: list[tuple[float, float]]) -> float:
    """Of a line through points, robust: the median of the slopes of pairs (Theil and Sen). Some samples far off do not change it."""
    # Of many points every pair would be too many: a hundred of them say the same.
    step = max(1, len(points) // 100)
    points = points[::step]
    slopes = [(later[1] - earlier[1]) / (later[0] - earlier[0])
              for place, earlier in enumerate(points) for later in points[place + 1 :] if later[0] > earlier[0]]
    return statistics.median(slopes) if slopes else 0.0


def second_half(samples: list[Sample]) -> list[Sample]:
    """Those of the later half of the time."""
    if not samples:
        return []
    middle = (samples[0].seconds + samples[-1].seconds) / 2
    return [sample for sample in samples if sample.seconds >= middle]


def growth_per_hour(samples: list[Sample]) -> float:
    """Of the resident memory in the later half, in bytes per hour."""
    return 3600 * slope([(sample.seconds, sample.rss_bytes) for sample in second_half(samples)])
