#!/usr/bin/env python3
"""The licences of everything that is linked into evforge, as one text: third-party-licences.py TARGET

Cargo says which packages those are; the texts are the files that they come with, those of the libraries in C included.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

NAME = re.compile(r"^(LICEN[CS]E|COPYING|COPYRIGHT|NOTICE)", re.I)
# Where packages have the sources of libraries in other languages.
DEEPER = ["*/LICENSE*", "*/COPYING*", "ext/hdf5/LICENSE", "zstd/LICENSE", "openssl/LICENSE*", "librdkafka/LICENSES.txt"]


def packages(target):
    command = ["cargo", "metadata", "--format-version=1", "--locked", "--features=evforge/bundled", f"--filter-platform={target}"]
    metadata = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    by_id = {package["id"]: package for package in metadata["packages"]}
    uses = {}
    for node in metadata["resolve"]["nodes"]:
        # What only tests need is in no package.
        uses[node["id"]] = [dep["pkg"] for dep in node["deps"] if any(kind["kind"] != "dev" for kind in dep["dep_kinds"])]
    waiting = [package["id"] for package in metadata["packages"] if package["name"] == "evforge"]
    found = set(waiting)
    while waiting:
        further = [one for one in uses[waiting.pop()] if one not in found]
        found.update(further)
        waiting.extend(further)
    return sorted((by_id[one] for one in found if by_id[one]["source"]), key=lambda one: (one["name"], one["version"]))


def texts(package):
    folder = Path(package["manifest_path"]).parent
    files = {path for path in folder.iterdir() if path.is_file() and NAME.match(path.name)}
    files.update(path for pattern in DEEPER for path in folder.glob(pattern) if path.is_file())
    for path in sorted(files):
        yield str(path.relative_to(folder)), path.read_text(encoding="utf-8", errors="replace").strip()


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    known = {}
    print("What is linked into evforge, and under which licence. Equal texts are given once.\n")
    for package in packages(sys.argv[1]):
        name = f"{package['name']} {package['version']}"
        print(f"{'=' * 80}\n{name}: {package['license'] or 'see below'}")
        for path, text in texts(package):
            if text in known:
                print(f"{path}: as {known[text]}")
            else:
                known[text] = f"{path} of {name}"
                print(f"--- {path}\n{text}\n")


if __name__ == "__main__":
    main()
