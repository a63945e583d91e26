#!/usr/bin/env python3
"""Makes docs/measurements/README.md: each result with its command, its day and its verdict."""

import json
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "measurements"
HEAD = """# Measurements

Made by `sudo make measure-all` (`scripts/measurements.sh`) on one host, between two network namespaces: each report says what that cannot show. What is measured, and how,
is in [measure.md](../measure.md). Compare with your own host: `evforge measure compare docs/measurements/sweep FOLDER`.

| result | day | command | verdict |
|---|---|---|---|
"""


def row(result: Path) -> str:
    kept = json.loads(result.read_text())
    words = [word for word in kept["command"]]
    # Where it was written to says nothing.
    for option in ("--output", "-o"):
        if option in words:
            place = words.index(option)
            del words[place : place + 2]
    command = " ".join(word for word in words if word != "--overwrite")
    name = result.parent.name
    load = " (loaded host)" if any("LOADED HOST" in said for said in kept["findings"]) else ""
    return f"| [{name}]({name}/report.html) | {kept['began'][:10]} | `{command}` | {kept['verdict']['sentence']}{load} |\n"


def main() -> None:
    rows = [row(result) for result in sorted(FOLDER.glob("*/result.json"))]
    (FOLDER / "README.md").write_text(HEAD + "".join(rows))


if __name__ == "__main__":
    main()
