"""Plots of a soak, from its tables."""

import csv
import json
from pathlib import Path

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot

# The same figures give the same file.
matplotlib.rcParams.update({"svg.hashsalt": "evforge", "font.size": 9, "axes.grid": True, "grid.alpha": 0.3, "figure.figsize": (9, 3.4)})
COLOURS = {"service": "#0072b2", "turns": "#d55e00"}


def series(samples: list[dict], unit: str, column: str, scale: float) -> tuple[list[float], list[float]]:
    """Minutes and values; a gap where the program is another one."""
    minutes, values, life = [], [], None
    for sample in samples:
        if sample["unit"] != unit:
            continue
        if life not in (None, sample["life"]):
            minutes.append(float("nan"))
            values.append(float("nan"))
        life = sample["life"]
        minutes.append(float(sample["seconds"]) / 60)
        values.append(float(sample[column]) / scale)
    return minutes, values


def save(figure, path: Path) -> None:
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def over_time(samples: list[dict], column: str, scale: float, label: str, path: Path) -> None:
    figure, axes = pyplot.subplots()
    for unit, name in (("service", "service, up all the time"), ("turns", "runs in turn, each a process")):
        minutes, values = series(samples, unit, column, scale)
        axes.plot(minutes, values, color=COLOURS[unit], linewidth=1.0, label=name)
    axes.set_xlabel("time [min]")
    axes.set_ylabel(label)
    axes.set_ylim(bottom=0)
    axes.legend(loc="best", fontsize=8)
    save(figure, path)


def latencies(lives: list[dict], path: Path) -> None:
    """Of each run that ended in good order: half and 99 % of the events, until they were formed and until the NeXus file had them."""
    figure, axes = pyplot.subplots()
    for unit in COLOURS:
        for what, marker in (("events", "o"), ("nexus", "^")):
            points = [(life["ended_at_seconds"] / 60, life["latency"][what]) for life in lives
                      if life["unit"] == unit and (life.get("latency") or {}).get(what)]
            for key, filled in (("p50_s", False), ("p99_s", True)):
                found = [(minute, value[key] * 1e3) for minute, value in points if value.get(key)]
                if found:
                    label = f"{unit}: {'99 %' if filled else 'half'} {'formed' if what == 'events' else 'in the NeXus output'}"
                    axes.plot(*zip(*found), linestyle="none", marker=marker, markersize=4, color=COLOURS[unit],
                              markerfacecolor=COLOURS[unit] if filled else "none", label=label)
    axes.set_xlabel("time [min]")
    axes.set_ylabel("from the packet's arrival [ms]")
    axes.set_yscale("log")
    if axes.lines:
        axes.legend(loc="best", fontsize=7, ncols=2)
    save(figure, path)


def draw(folder: Path) -> None:
    """All plots of a result."""
    with open(folder / "samples.csv", newline="", encoding="utf-8") as file:
        samples = list(csv.DictReader(file))
    lives = json.loads((folder / "soak.json").read_text(encoding="utf-8"))["lives"]
    over_time(samples, "rss_bytes", 1e6, "resident memory [MB]", folder / "memory.svg")
    over_time(samples, "descriptors", 1, "descriptors", folder / "descriptors.svg")
    over_time(samples, "threads", 1, "threads", folder / "threads.svg")
    latencies(lives, folder / "latency.svg")
