#!/usr/bin/env python3
"""Breaks what models look at, one thing after the other, in a copy of what is committed: the model must fail each time.

    scripts/break-models.py            (a quarter of an hour: every break is a build)
    scripts/break-models.py --list     that every break still finds its place, and no build
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Crate, model, file, what is there, and what takes its place.
BREAKS = [
    ("net", "entries_come_whole", "xdp/ring.rs", "producer().store(self.position, Ordering::Release)",
     "producer().store(self.position, Ordering::Relaxed)"),
    ("net", "entries_come_whole", "xdp/ring.rs", "consumer().store(self.position, Ordering::Release)",
     "consumer().store(self.position, Ordering::Relaxed)"),
    ("outputs", "everything_comes_in_order", "queue.rs", "        drop(state);\n        self.room.notify_one();\n", "        drop(state);\n"),
    ("outputs", "everything_comes_in_order", "queue.rs", "state.add(Arc::clone(batch));\n                self.work.notify_one();",
     "state.add(Arc::clone(batch));"),
    ("outputs", "the_oldest_is_dropped", "queue.rs", "let oldest = usize::from(state.is_offering);", "let oldest = 0;"),
    ("outputs", "an_output_that_fails", "queue.rs", "        drop(state);\n        self.room.notify_all();\n", "        drop(state);\n"),
    ("control", "no_request_is_forgotten", "requests.rs", "            serve(request);\n        }\n",
     "            serve(request);\n        }\n        self.asked.store(false, Ordering::Relaxed);\n"),
    ("control", "no_wish_is_forgotten", "requests.rs", "let wished = self.0.swap(0, Ordering::Relaxed);",
     "let wished = self.0.load(Ordering::Relaxed);\n        self.0.store(0, Ordering::Relaxed);"),
    ("log", "the_end_waits_for", "gelf/waiting.rs", "queue.has_ended = true;\n        self.changed.notify_all();", "queue.has_ended = true;"),
    ("log", "the_end_does_not_wait", "gelf/waiting.rs", "is_left = true;\n        self.changed.notify_all();", "is_left = true;"),
    ("train", "clients_are_told", "bridge/shelf.rs", "has_ended = true;\n        self.changed.notify_all();", "has_ended = true;"),
    ("train", "who_waits_for_a_buffer", "assembly/streamed.rs", "            self.freed.notify_one();\n", ""),
]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    survived = []
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(["git", "-C", ROOT, "archive", "HEAD"], check=True, capture_output=True).stdout
        subprocess.run(["tar", "x", "-C", folder], input=archive, check=True)
        for crate, model, name, there, instead in BREAKS:
            path = Path(folder) / "crates" / crate / "src" / name
            text = path.read_text(encoding="utf-8")
            if there not in text:
                sys.exit(f"{path}: this is not there any more: {there!r}")
            if arguments.list:
                print(f"{crate}: {model}: {name}")
                continue
            path.write_text(text.replace(there, instead, 1), encoding="utf-8")
            words = [os.environ.get("CARGO", "cargo"), "test", "--locked", "--target-dir", str(ROOT / "target/models"), "--lib", "-p", f"evforge-{crate}", "--", model]
            environment = {**os.environ, "RUSTFLAGS": "--cfg loom", "LOOM_MAX_PREEMPTIONS": "3", "CARGO_INCREMENTAL": "0"}
            done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
            has_failed = "1 failed" in done.stdout
            print(f"{'fails' if has_failed else 'HOLDS'}  {crate}: {model}: {instead.strip() or 'without ' + there.strip()}", flush=True)
            if not has_failed:
                survived.append(model)
            path.write_text(text, encoding="utf-8")
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())
