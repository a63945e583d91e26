#!/usr/bin/env python3
"""Takes repairs back, one after the other, in a copy of what is committed: the test that each names must fail each time.

    scripts/mutants.py [NAME …]    all, or those with these names (every one is a build)
    scripts/mutants.py --sound     the same, and each test runs with the repair first: it must pass
    scripts/mutants.py --check     that every patch still applies and names a test that is there, and no build

A patch in tests/mutants takes back one repair that a document names, and is called what comes back with it. It begins with three lines, and
goes on as `git diff` writes it:

    repair: One sentence.
    named: CHANGELOG.md: words that are there
    test: what `cargo test --locked` gets: package, target and the whole name of a test
"""

import argparse
import functools
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / "target/mutants"
TREE = PLACE / "tree"
CARGO = os.environ.get("CARGO", "cargo")
# Some repairs are of programs that never ended: a test that takes longer than this has failed.
LONGEST = 40
HEADER = r"""repair: .+\.
named: (?P<document>\S+): (?P<words>.+)
test: (?P<test>-p evforge(?:-(?P<crate>\S+))? (?:--lib|--test \S+) (?:\S+::)?(?P<name>\w+))"""


class Mutant:
    """A patch with its header."""

    def __init__(self, path: Path) -> None:
        self.path, self.name = path, path.stem
        self.header = re.fullmatch(HEADER, path.read_text(encoding="utf-8").split("\n\n")[0])
        self.test = self.header["test"] if self.header else ""
        self.package = next(iter(self.test.split()[1:]), "")

    def problem(self) -> str | None:
        """Why it cannot be what it says, as far as that is known without a build."""
        if self.header is None:
            return "its first lines are not `repair: …`, `named: DOCUMENT: …`, `test: -p PACKAGE --lib|--test TARGET NAME`"
        document, words, name = self.header["document"], self.header["words"], self.header["name"]
        if words not in " ".join((ROOT / document).read_text(encoding="utf-8").split()):
            return f"{document} does not say: {words}"
        sources = (ROOT / "crates" / (self.header["crate"] or "evforge")).rglob("*.rs")
        if not any(re.search(rf"\bfn {name}\(", path.read_text(encoding="utf-8")) for path in sources):
            return f"there is no test {name} in its crate"
        done = subprocess.run(["git", "-C", ROOT, "apply", "--check", self.path], capture_output=True, text=True, check=False)
        return f"it does not apply: {done.stderr.strip()}" if done.returncode else None

    def cargo(self, *further: str) -> tuple[int, str]:
        """The exit status of its test, and what was said; what takes too long is ended with all that it has started."""
        words = [CARGO, "test", "--locked", "--target-dir", str(PLACE / "build"), *self.test.split(), *further]
        with subprocess.Popen(words, cwd=TREE, env={**os.environ, "CARGO_INCREMENTAL": "1"}, text=True, start_new_session=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as child:
            try:
                said = child.communicate(timeout=None if "--no-run" in further else LONGEST)[0]
            except BaseException as error:
                os.killpg(child.pid, signal.SIGKILL)
                if not isinstance(error, subprocess.TimeoutExpired):
                    raise
                said = child.communicate()[0]
        return child.returncode, said

    def run(self) -> str:
        """What becomes of its test in the copy as it is."""
        status, said = self.cargo("--no-run")
        if status:
            return "DOES NOT BUILD\n" + said
        status, said = self.cargo("--", "--exact")
        if "\nrunning 1 test\n" not in said:
            return "NO SUCH TEST\n" + said
        return "fails" if status else "passes"

    def outcome(self, sound: bool) -> str:
        """`found`, or what is wrong."""
        if sound and (outcome := self.run()) != "passes":
            return f"UNSOUND: {outcome}"
        git("apply", str(self.path))
        outcome = self.run()
        git("checkout", "--quiet", "--", ".")
        return {"fails": "found", "passes": "NOT FOUND"}.get(outcome, outcome)


def git(*words: str) -> None:
    """A command of git in the copy."""
    subprocess.run(["git", "-C", TREE, *words], check=True)


def copy() -> None:
    """Makes the copy. It stays, and git writes only files that are different: builds go on from the last one."""
    if not TREE.exists():
        subprocess.run(["git", "clone", "--quiet", "--shared", "--no-checkout", ROOT, TREE], check=True)
    head = subprocess.run(["git", "-C", ROOT, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    git("checkout", "--quiet", "--force", "--detach", head)
    git("clean", "--quiet", "--force", "-d")


def depths() -> dict[str, int]:
    """On how many others of the workspace each package is built: who begins with the least builds each once."""
    words = [CARGO, "metadata", "--locked", "--no-deps", "--format-version", "1"]
    packages = json.loads(subprocess.run(words, cwd=TREE, check=True, capture_output=True, text=True).stdout)["packages"]
    own = {package["name"]: {needed["name"] for needed in package["dependencies"] if needed["kind"] != "dev"} for package in packages}

    @functools.cache
    def below(name: str) -> frozenset[str]:
        needed = own.get(name, set()) & own.keys()
        return frozenset(needed).union(*map(below, needed))

    return {name: len(below(name)) for name in own}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--sound", action="store_true")
    arguments = parser.parse_args()
    mutants = [Mutant(path) for path in sorted((ROOT / "tests/mutants").glob("*.patch"))]
    if unknown := set(arguments.names) - {mutant.name for mutant in mutants}:
        sys.exit(f"no such patch in tests/mutants: {', '.join(sorted(unknown))}")
    mutants = [mutant for mutant in mutants if not arguments.names or mutant.name in arguments.names]
    problems = [f"{mutant.path.relative_to(ROOT)}: {problem}" for mutant in mutants if (problem := mutant.problem())]
    if problems or arguments.check:
        print("\n".join(problems or [f"{len(mutants)} patches apply, and name tests that are there"]))
        return 1 if problems else 0
    # Whoever ends this ends what it has started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    copy()
    depth = depths()
    found, begun = 0, time.monotonic()
    for mutant in sorted(mutants, key=lambda mutant: (depth.get(mutant.package, 0), mutant.test.split()[:4], mutant.name)):
        since = time.monotonic()
        outcome = mutant.outcome(arguments.sound)
        found += outcome == "found"
        word, _, said = outcome.partition("\n")
        print(f"{word:15}{time.monotonic() - since:5.0f} s  {mutant.package}: {mutant.name}\n{said[-4000:]}", end="", flush=True)
    print(f"{found} of {len(mutants)} found in {time.monotonic() - begun:.0f} s")
    return 0 if found == len(mutants) else 1


if __name__ == "__main__":
    sys.exit(main())
