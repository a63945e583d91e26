#!/usr/bin/env python3
"""What a release needs, and whether it is there: release-check.py [FOLDER of the project].

Prints a line for each point, `ok` or `MISSING` with what to do; `--` marks what only a person or another command can
judge. The exit status is 1 if something is missing. Reads files and the local repository only, never the network.
`release-check.py --self-test` makes a small repository and shows that each point can be missing.
"""

import datetime
import hashlib
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

RELEASE = re.compile(r"^## (\d+\.\d+\.\d+)(?: — (\d{4}-\d{2}-\d{2}))?\s*$", re.M)


class Check:
    """The points looked at so far."""

    def __init__(self, root):
        self.root = Path(root)
        self.missing = 0

    def point(self, holds, name, found, remedy):
        self.missing += not holds
        print(f"{'ok' if holds else 'MISSING':<8} {name:<18} {found}")
        if not holds:
            print(f"{'':<27} -> {remedy}")

    def note(self, name, text):
        print(f"{'--':<8} {name:<18} {text}")

    def git(self, *arguments):
        return subprocess.run(
            ["git", "-C", self.root, *arguments], capture_output=True, text=True, check=True
        ).stdout.strip()

    def text(self, name):
        path = self.root / name
        return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""


def changelog(check, version, today):
    text = check.text("CHANGELOG.md")
    newest = RELEASE.search(text)
    name, date = newest.groups() if newest else (None, None)
    check.point(
        name == version,
        "version",
        f"{version} in Cargo.toml, {name or 'none'} in the newest dated section of CHANGELOG.md",
        "set `version` in Cargo.toml and name the section `## VERSION — YYYY-MM-DD`",
    )
    try:
        day = datetime.date.fromisoformat(date or "")
        check.point(day <= today, "date", f"{day}; today is {today}", "the date of a release is not in the future")
    except ValueError:
        check.point(False, "date", f"the section {name} has none", "name it `## VERSION — YYYY-MM-DD`")
    unreleased = text.partition("## Unreleased")[2].partition("\n## ")[0].strip()
    check.point(
        "## Unreleased" in text and not unreleased,
        "unreleased",
        "empty" if not unreleased else f"{len(unreleased.splitlines())} lines in CHANGELOG.md",
        "keep an empty `## Unreleased` on top, and move its content into the section of the release",
    )


def repository(check, version):
    changed = check.git("status", "--porcelain").splitlines()
    check.point(
        not changed, "committed", f"{len(changed)} files with changes", "commit or remove them: git status"
    )
    tag = f"v{version}"
    taken = check.git("tag", "--list", tag)
    check.point(not taken, "tag", f"{tag} {'exists' if taken else 'is free'}", "raise the version")


def program(check, version):
    path = check.root / "target/release/evforge"
    if not path.is_file():
        check.note("program", f"{path} does not exist; after `make build` its version is compared, too")
        return
    found = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout.strip()
    check.point(
        found.split()[-1:] == [version], "program", f"target/release/evforge is {found or 'broken'}", "make build"
    )


def fresh(check):
    """`make fresh` writes a log for each of its two users: the commit, and at the end what `make test` counted."""
    head = check.git("rev-parse", "HEAD")
    for who in ("root", "user"):
        name = f"target/fresh-{who}.log"
        lines = [line for line in check.text(name).splitlines() if line.strip()]
        commits = [line.split()[1] for line in lines if re.match(r"commit [0-9a-f]{7,40} ", line)]
        is_head = bool(commits) and head.startswith(commits[-1])
        is_green = bool(lines) and re.match(r"\d+ passed, 0 failed, \d+ skipped$", lines[-1]) is not None
        # A step that is no test has a line of its own.
        is_green = is_green and not any(line.startswith("failed: ") for line in lines[-200:])
        found = "no log" if not lines else f"commit {commits[-1] if commits else 'unknown'}; {lines[-1][:60]}"
        check.point(is_head and is_green, f"make fresh, {who}", found, f"sudo make fresh, on commit {head[:8]}")


def packages(check, version):
    """`make package` leaves a .deb and a bundle with their checksums, which are published with them."""
    folder = check.root / "target/package"
    lines = [line.split() for line in check.text("target/package/SHA256SUMS").splitlines()]
    sums = {words[1].lstrip("*"): words[0] for words in lines if len(words) == 2}
    is_ours = {
        ".deb": any(name.endswith(".deb") and f"_{version}" in name for name in sums),
        ".tar.gz": f"evforge-{version}-x86_64-linux.tar.gz" in sums,
    }
    absent = [ending for ending, is_there in is_ours.items() if not is_there]
    check.point(
        bool(sums) and not absent,
        "packages",
        f"{len(sums)} in target/package/SHA256SUMS" + (f"; none of {version}: {', '.join(absent)}" if absent else ""),
        "make package (and make package-test) on the commit of the release",
    )

    def differs(name):
        path = folder / name
        return not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != sums[name]

    wrong = sorted(name for name in sums if differs(name))
    # What is there and not listed would be published without a checksum.
    found = [path.name for path in folder.glob("*") if path.name.endswith((".deb", ".tar.gz"))] if folder.is_dir() else []
    wrong += sorted(set(found) - set(sums))
    check.point(
        bool(sums) and not wrong,
        "checksums",
        "as in SHA256SUMS" if not wrong else f"not as in SHA256SUMS: {', '.join(wrong)}",
        "make package; publish SHA256SUMS with the files, signed",
    )
    built = (folder / "SHA256SUMS").stat().st_mtime if sums else 0
    committed = int(check.git("log", "-1", "--format=%ct"))
    check.point(built >= committed, "packed", "after the newest commit" if built >= committed else "before the newest commit", "make package")


def dependencies(check):
    """Licences, versions, origins, and advisories of today: what was not looked at is said, and is missing for a release."""
    script = check.root / "scripts/deny.py"
    ended = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    said = [line for line in (ended.stdout + ended.stderr).splitlines() if line.strip()]
    unchecked = any(line.startswith("not checked") for line in said)
    age = next((int(line.split()[-3]) for line in said if re.match(r"advisories: .* \d+ days old$", line)), None)
    is_good = ended.returncode == 0 and not unchecked and age is not None and age <= 14
    found = said[-1][:80] if said else "scripts/deny.py says nothing"
    check.point(is_good, "dependencies", found, "make deny, where GitHub is reached: the advisories must be of the last 14 days")


def release_check(root, today):
    check = Check(root)
    match = re.search(r'^\[workspace\.package\][^\[]*?^version = "([^"]+)"', check.text("Cargo.toml"), re.M | re.S)
    if not match:
        sys.exit(f"{root}: no version in [workspace.package] of Cargo.toml")
    version = match.group(1)
    changelog(check, version, today)
    repository(check, version)
    program(check, version)
    fresh(check)
    packages(check, version)
    dependencies(check)
    check.note("counters", "`make counters` must leave no difference in docs/counters.md (a part of `make test`)")
    check.note("packages twice", "`make package-twice`: two builds have the same checksums")
    check.note("signature", "`gpg --armor --detach-sign target/package/SHA256SUMS`, and a signed tag: `git tag --sign`")
    print(f"{check.missing} missing" if check.missing else f"{version} can be released: git tag v{version}")
    return check.missing


def self_test():
    """A small project that can be released, and then each point spoilt for itself."""
    today = datetime.date(2026, 3, 2)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)

        def git(*arguments):
            author = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
            subprocess.run(["git", "-C", root, *author, *arguments], check=True, capture_output=True)

        def write(name, text):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")

        good = {
            "Cargo.toml": '[workspace]\n[workspace.package]\nversion = "1.2.3"\n[workspace.dependencies]\n',
            "CHANGELOG.md": "# Changes\n\n## Unreleased\n\n## 1.2.3 — 2026-03-01\n\nAdded.\n",
            "scripts/deny.py": "print('advisories: those of 2026-03-01, 1 days old')\n",
        }
        made = {"evforge_1.2.3-1_amd64.deb": "a", "evforge-1.2.3-x86_64-linux.tar.gz": "b"}
        sums = "".join(f"{hashlib.sha256(text.encode()).hexdigest()}  {name}\n" for name, text in made.items())
        sums_name = "target/package/SHA256SUMS"
        logs = {f"target/fresh-{who}.log": "commit {} x\n12 passed, 0 failed, 1 skipped\n" for who in ("root", "user")}
        program_name = "target/release/evforge"

        def whole():
            for name, text in {**good, ".gitignore": "/target\n"}.items():
                write(name, text)
            git("add", "-A")
            if subprocess.run(["git", "-C", root, "diff", "--cached", "--quiet"], check=False).returncode:
                git("commit", "-qm", "x")
            head = Check(root).git("rev-parse", "HEAD")[:8]
            for name, text in logs.items():
                write(name, text.format(head))
            write(program_name, "#!/bin/sh\necho evforge 1.2.3\n")
            for name, text in {**made, "SHA256SUMS": sums}.items():
                write(f"target/package/{name}", text)
            os.utime(root / sums_name)
            os.chmod(root / program_name, 0o755)

        def expect(missing, what):
            print(f"-- {what}")
            found = release_check(root, today)
            assert found == missing, f"{what}: {found} missing, expected {missing}"

        git("init", "-q")
        whole()
        expect(0, "whole")
        # What is spoilt is not committed, which is missing as well.
        spoilt = [
            ("Cargo.toml", good["Cargo.toml"].replace("1.2.3", "1.2.4"), 4, "another version; the program and packages, too"),
            ("target/package/evforge_1.2.3-1_amd64.deb", "c", 1, "a package of another checksum"),
            ("target/package/evforge_1.2.2-1_amd64.deb", "c", 1, "a package without a checksum"),
            (sums_name, "", 3, "no checksums"),
            (sums_name, sums.replace("1.2.3-x86", "1.2.2-x86"), 2, "a bundle of an older version"),
            ("scripts/deny.py", "print('not checked: advisories')\n", 2, "no advisories; the script, too"),
            ("scripts/deny.py", "print('advisories: those of 2026-01-01, 60 days old')\n", 2, "old advisories"),
            ("scripts/deny.py", "raise SystemExit('bans FAILED')\n", 2, "a crate that is not allowed"),
            ("CHANGELOG.md", good["CHANGELOG.md"].replace("2026-03-01", "2026-03-03"), 2, "a date in the future"),
            ("CHANGELOG.md", good["CHANGELOG.md"].replace(" — 2026-03-01", ""), 2, "no date"),
            ("CHANGELOG.md", good["CHANGELOG.md"].replace("Unreleased\n", "Unreleased\n\nMore.\n"), 2, "unreleased"),
            ("CHANGELOG.md", good["CHANGELOG.md"].replace("## Unreleased\n", ""), 2, "no section on top"),
            (program_name, "#!/bin/sh\necho evforge 1.2.2\n", 1, "an older program"),
            ("target/fresh-root.log", "commit 0123456 x\n12 passed, 0 failed, 1 skipped\n", 1, "another commit"),
            ("target/fresh-user.log", "", 1, "no log"),
        ]
        for name, text, missing, what in spoilt:
            write(name, text)
            expect(missing, what)
            if name.endswith("1.2.2-1_amd64.deb"):
                (root / name).unlink()
            whole()
        head = Check(root).git("rev-parse", "HEAD")[:8]
        for end in ("11 passed, 1 failed, 1 skipped", "failed: lints\n12 passed, 0 failed, 1 skipped", "12 passed"):
            write("target/fresh-root.log", f"commit {head} x\n{end}\n")
            expect(1, f"a log that ends with {end!r}")
            whole()
        git("tag", "v1.2.3")
        expect(1, "the tag exists")
    print("self-test: ok")


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        self_test()
    else:
        here = sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
        sys.exit(1 if release_check(here, datetime.date.today()) else 0)
