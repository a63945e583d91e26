#!/usr/bin/env python3
"""Ten runs at ten thresholds, one after the other, and a plot of what each of them found.

It needs a service that goes on, whose files have the number of the run in their names, and electronics that send to it:

    evforge serve configs/nmx.toml --view 127.0.0.1:8080 --nexus '{run:4}-{title}.nxs'
    python examples/campaign.py --key ess_gdgem.clustering.x.adc_threshold --values 50 100 200 400 --seconds 60

Each run has its threshold from its first packet to its last: it is a value of the configuration for that run. The plot needs
matplotlib; the table is written in any case.
"""

import argparse
import csv
import json
import os
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path


class Service:
    """A service of evforge, asked over HTTP."""

    def __init__(self, url: str, token: str):
        self.url, self.token = url.rstrip("/"), token

    def ask(self, path: str, body: dict | None = None) -> dict:
        request = urllib.request.Request(f"{self.url}/api/control/{path}")
        if body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
            request.add_header("Authorization", f"Bearer {self.token}")
        try:
            with urllib.request.urlopen(request, timeout=150) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as refused:
            said = json.load(refused)["error"]
            sys.exit(f"{path}: {said['message']}. {said.get('remedy') or ''}")
        except urllib.error.URLError as error:
            sys.exit(f"{self.url} does not answer ({error.reason}): is evforge serve running, with --view?")


def measure(service: Service, key: str, value: int, seconds: float) -> dict:
    """One run at one value: its number, files, packets, events and duration."""
    wanted = {"title": f"threshold-{value}", "set": [f"{key}={value}"]}
    run = service.ask("runs", wanted)
    time.sleep(seconds)
    end = service.ask("runs/stop", {})
    lasted = (end["ended_unix_ns"] - run["began_unix_ns"]) / 1e9
    print(f"run {run['number']}: {key} = {value}: {end['outcome']}", flush=True)
    return {
        "run": run["number"],
        "value": value,
        "packets": end["packets"],
        "events": end["events"],
        "seconds": round(lasted, 3),
        "files": " ".join(run["files"]),
    }


def plot(rows: list[dict], key: str, path: Path) -> None:
    """Events of each run against its threshold, with the error of counting."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4.5), layout="constrained")
    per_packet = [row["events"] / max(row["packets"], 1) for row in rows]
    error = [row["events"] ** 0.5 / max(row["packets"], 1) for row in rows]
    axes.errorbar([row["value"] for row in rows], per_packet, error, marker="o", capsize=3)
    axes.set(xlabel=key, ylabel="events per packet", title=f"{len(rows)} runs", ylim=(0, None))
    axes.grid(alpha=0.3)
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", default="http://127.0.0.1:8080", help="where the page of the service is")
    parser.add_argument("--token-file", type=Path, help="file with its token; else EVFORGE_TOKEN")
    parser.add_argument("--key", required=True, help="the threshold, by its key in the configuration")
    parser.add_argument("--values", type=int, nargs="+", default=list(range(0, 1000, 100)))
    parser.add_argument("--seconds", type=float, default=60, help="how long each run lasts")
    parser.add_argument("--output", type=Path, default=Path("campaign"), help="folder for table and plot")
    arguments = parser.parse_args()
    file = arguments.token_file
    token = file.read_text().strip() if file else os.environ.get("EVFORGE_TOKEN", "")
    if not token:
        sys.exit("which token? Say EVFORGE_TOKEN, or --token-file with the file of control.token_file")
    service = Service(arguments.url, token)
    rows = [measure(service, arguments.key, value, arguments.seconds) for value in arguments.values]
    arguments.output.mkdir(parents=True, exist_ok=True)
    with open(arguments.output / "campaign.csv", "w", newline="") as table:
        writer = csv.DictWriter(table, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    plot(rows, arguments.key, arguments.output / "campaign.svg")
    print(f"{len(rows)} runs: {arguments.output}/campaign.csv, campaign.svg")


if __name__ == "__main__":
    main()
