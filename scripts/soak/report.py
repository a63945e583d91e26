"""The result of a soak as a page."""

import csv
import json
from pathlib import Path


def seconds(value: float | None) -> str:
    return "" if value is None else f"{value * 1e3:.0f} ms"


def most(samples: list[dict], detector: str, column: str) -> int:
    """Of a detector's runs in turn."""
    return max((int(sample[column]) for sample in samples if sample["unit"] == "turns" and sample["life"].split(" ")[0] == detector), default=0)


def row(detector: str, lives: list[dict], samples: list[dict]) -> str:
    own = [life for life in lives if life["unit"] == "turns" and life["detector"] == detector]
    killed = next((life for life in own if life["end"] == "KILL"), {})
    ended = next((life for life in own if life["end"] != "KILL"), {})
    promised, recovered = killed.get("committed", {}), killed.get("recovered", {})
    pairs = ", ".join(f"{name.replace('nexus', 'NeXus').replace('csv', 'CSV')} {promised.get(name, 0)} → {recovered.get(name, 0)}"
                      for name in ("nexus", "csv"))
    time = (ended.get("latency") or {}).get("nexus", {})
    return (f"| {detector} | {pairs if killed else ''} | {ended.get('end', '')} | {ended.get('events', '')} | {ended.get('lost', '')} | "
            f"{ended.get('unaccounted', '')} | {seconds(time.get('p50_s'))} | {seconds(time.get('p99_s'))} | "
            f"{most(samples, detector, 'rss_bytes') / 1e6:.0f} MB |\n")


def write(folder: Path) -> None:
    """README.md next to the figures."""
    found = json.loads((folder / "soak.json").read_text(encoding="utf-8"))
    with open(folder / "samples.csv", newline="", encoding="utf-8") as file:
        samples = list(csv.DictReader(file))
    lives, service = found["lives"], found["service"]
    events = sum(life.get("events") or 0 for life in lives)
    balances = sum(life.get("balances") or 0 for life in lives)
    lines = [
        f"# A soak of everything: {found['verdict']}\n\n",
        f"{found['began'][:16].replace('T', ' ')} UTC, {found['hours']:.2f} h, {found['program']}{', ' + found['note'] if found.get('note') else ''}, "
        f"Linux {found['kernel']}, {found['cores']} cores, {found['neutrons']} of neutrons on each detector, seed {found['seed']}. "
        "What it does, and what is checked, is in [sanitizers.md](../../development/sanitizers.md#the-soak).\n\n",
        "| | |\n|---|---|\n",
        f"| detectors in turn | {found['detectors']} |\n",
        f"| runs, those of the service among them | {len(lives)} |\n",
        f"| killed, and recovered | {found['kills']} |\n",
        f"| events of the runs that ended in good order | {events} |\n",
        f"| balances compared at their ends, all 0 | {balances} |\n" if not found["findings"] else "",
        f"| lines to Graphite, over connections that were cut | {found['graphite']['lines']}, {found['graphite']['connections']} |\n",
        f"| Kafka | {'yes' if found['kafka'] else 'skipped: ' + found['kafka_skipped']} |\n",
    ]
    if service:
        base, end = service["base"], service["end"] or {}
        lines += [
            f"| runs of the service | {service['runs']} |\n",
            f"| its resident memory, later half | {service['growth_bytes_per_hour'] / 1e6:+.2f} MB an hour "
            f"(bound {service['growth_bound_bytes_per_hour'] / 1e6:.0f} MB), at most {service['rss_bytes_most'] / 1e6:.0f} MB |\n",
            f"| its descriptors and threads before the first client | {base['descriptors']}, {base['threads']} |\n",
            f"| and when the last one had left | {end.get('descriptors')}, {end.get('threads')} |\n",
        ]
    lines.append("\n## Findings\n\n")
    lines += [f"* {finding}\n" for finding in found["findings"]] or ["None.\n"]
    # What somebody has found out about them, added to soak.json by hand.
    lines += [f"\n{remark}\n" for remark in found.get("remarks", [])]
    for name, text in (("memory", "Resident memory"), ("descriptors", "Descriptors"), ("threads", "Threads"),
                       ("latency", "From the arrival of a packet to its event, and into the NeXus output, for each run")):
        lines.append(f"\n## {text}\n\n![{text} over time]({name}.svg)\n")
    lines.append("\n## Each detector\n\nCommitted before the kill → recovered after it; then the run that was ended in good order.\n\n"
                 "| detector | killed | ended by | events | packets lost | unaccounted | half within | 99 % within | memory at most |\n"
                 "|---|---|---|---|---|---|---|---|---|\n")
    lines += [row(detector, lives, samples) for detector in sorted({life["detector"] for life in lives if life["unit"] == "turns"})]
    (folder / "README.md").write_text("".join(lines), encoding="utf-8")
