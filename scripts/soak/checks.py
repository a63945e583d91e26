"""What must hold of what a run has left: balances, files, what is recovered."""

import json
import re
from pathlib import Path

from program import run


def number(text: str) -> int:
    """A number that is printed in groups."""
    return int(re.sub(r"\D", "", text))


def unaccounted(report, path: str = "") -> list[str]:
    """Every balance of a report, or of a state, that leaves something over."""
    if isinstance(report, dict):
        own = [f"{path}/unaccounted is {report['unaccounted']}"] if report.get("unaccounted") not in (None, 0) else []
        return own + [said for key, value in report.items() for said in unaccounted(value, f"{path}/{key}")]
    if isinstance(report, list):
        return [said for place, value in enumerate(report) for said in unaccounted(value, f"{path}/{place}")]
    return []


def balances(report) -> int:
    """How many balances there are in it."""
    if isinstance(report, dict):
        return int("unaccounted" in report) + sum(balances(value) for value in report.values())
    return sum(balances(value) for value in report) if isinstance(report, list) else 0


def output(report: dict, name: str) -> dict | None:
    return next((output for output in report.get("outputs", []) if output["id"] == name), None)


def nexus_events(program: Path, path: Path) -> tuple[int, str]:
    """Events of a file, which is recovered if need be: how many, and what was said."""
    done = run(program, "write", "--recover", path)
    said = (done.stdout + done.stderr).strip()
    found = re.search(r"(?:is recovered|is whole): ([\d\s  ]*\d)\s+events", said)
    if done.returncode != 0 or not found:
        raise ValueError(f"write --recover {path.name}: status {done.returncode}: {said[-400:]}")
    return number(found[1]), said


def csv_rows(path: Path) -> int:
    """Whole lines of events."""
    rows = 0
    with open(path, "rb") as file:
        for line in file:
            rows += line.endswith(b"\n") and line[:1].isdigit()
    return rows


def finish_recording(program: Path, partial: Path) -> tuple[Path, int]:
    """Gives what a killed recorder has left its name: the file, and how many packets are in it. Without any it stays as it is."""
    done = run(program, "record", "--finish", partial)
    said = (done.stdout + done.stderr).strip()
    found = re.search(r" is (\S+) now: ([\d\s  ]*\d) packets", said)
    if "has not a single whole packet" in said:
        return partial, 0
    if done.returncode != 0 or not found:
        raise ValueError(f"record --finish {partial.name}: status {done.returncode}: {said[-400:]}")
    name = Path(found[1])
    return (name if name.is_absolute() else partial.parent / name.name), number(found[2])


def formed_again(program: Path, config: Path, recording: Path, folder: Path) -> dict:
    """The report of a run over a recording."""
    report = folder / "again.json"
    # The outputs of the live run are not wanted again.
    done = run(program, "run", "--config", config, recording, "--report", report, "--overwrite", "--quiet")
    if not report.is_file():
        raise ValueError(f"run over {recording.name}: status {done.returncode}: {done.stderr.strip()[-400:]}")
    found = json.loads(report.read_text(encoding="utf-8"))
    report.unlink()
    return found


def events_of(report: dict) -> int:
    return sum(stream.get("events") or 0 for stream in report["streams"])
