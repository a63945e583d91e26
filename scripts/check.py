#!/usr/bin/env python3
"""What is checked before a commit: the format, the unit tests of the crates that changed, and the lints of these and of all that use them.

    scripts/check.py [REVISION]     what changed since REVISION (HEAD: what is not committed yet)
"""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CARGO = os.environ.get("CARGO", "cargo")
# A change of these is a change of every crate.
EVERYWHERE = {"Cargo.toml", "Cargo.lock", "clippy.toml", "rustfmt.toml"}


def lines(*command):
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()


def changed_files(revision):
    """Also those that git does not have yet."""
    return lines("git", "diff", "--name-only", revision) + lines("git", "ls-files", "--others", "--exclude-standard")


def packages():
    """Of the workspace, by name: folder, dependencies within it, and whether there is a library."""
    metadata = json.loads("".join(lines(CARGO, "metadata", "--format-version", "1", "--no-deps", "--offline")))
    names = {package["name"] for package in metadata["packages"]}
    return {
        package["name"]: (
            str(Path(package["manifest_path"]).parent.relative_to(ROOT)),
            {dependency["name"] for dependency in package["dependencies"]} & names,
            any("lib" in target["kind"] for target in package["targets"]),
        )
        for package in metadata["packages"]
    }


def with_users(chosen, all_packages):
    """These and whatever uses them, directly or not."""
    found = set(chosen)
    while more := {name for name, (_, uses, _) in all_packages.items() if name not in found and uses & found}:
        found |= more
    return found


def run(what, *command):
    print(f"== {what}", flush=True)
    return subprocess.run(command, cwd=ROOT, check=False).returncode == 0


def main():
    files = changed_files(sys.argv[1] if len(sys.argv) > 1 else "HEAD")
    all_packages = packages()
    is_everything = any(file in EVERYWHERE for file in files)
    changed = [name for name, (folder, _, _) in all_packages.items() if is_everything or any(file.startswith(folder + "/") for file in files)]
    named = [f"--package={name}" for name in sorted(changed)]
    users = [f"--package={name}" for name in sorted(with_users(changed, all_packages))]
    print(f"changed: {', '.join(sorted(changed)) or 'no crate'}; {len(users)} with those that use them")
    fine = run("format", CARGO, "fmt", "--all", "--check")
    if changed:
        library = ["--lib"] if any(all_packages[name][2] for name in changed) else []
        fine &= run("unit tests", CARGO, "test", "--locked", *library, "--bins", "--no-fail-fast", "--quiet", *named)
        fine &= run("lints", CARGO, "clippy", "--locked", "--all-targets", *users, "--", "-D", "warnings")
    if any(file.startswith("web/") for file in files):
        fine &= run("the page", "npm", "--prefix", "web", "run", "--silent", "check")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
