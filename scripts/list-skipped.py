#!/usr/bin/env python3
"""Lists the tests that were skipped, by what they went without: `list-skipped.py SKIPPED OUTPUT`.

SKIPPED has a line `PROGRAM TEST: REASON` for each (crates/testkit writes it), OUTPUT is what `cargo test` has printed: tests
marked `#[ignore]` are in it. The last line of the list is the number of tests. `list-skipped.py --self-test` checks itself.
"""

import re
import sys

# What is missing, in words for a person, by how the reasons of the tests say it. Another reason is a group of its own.
GROUPS = [
    (
        r"reference data|recorded capture|shared captures|vectors/|^vmm|\.(pcapng|pkts|h5|bin|json|gz)\b.* (is not there|cannot be)|\.pcapng$|\.pkts$",
        "without recorded data, which are not part of the repository (EVFORGE_SHARED, or ../shared)",
    ),
    (r"h5py|scipp|matplotlib", "without Python with the packages of tests/python/requirements.txt (.venv, EVFORGE_PYTHON)"),
    (r"playwright|\bnode\b|[Cc]hromium", "without Node.js with the packages of tests/browser, and Chromium"),
    (r"\bKafka\b|\bJava\b", "without Kafka: a Java runtime and the jars that `make kafka` fetches (scripts/kafka.sh check)"),
    (r"\broot\b|namespaces|setpriv|unshare", "without root: network namespaces, other users, file systems"),
]
IGNORED = re.compile(r"^test (.*) \.\.\. ignored(, .*)?$")
PROGRAM = re.compile(r"^ +(?:Running (?:unittests )?(?:tests/)?(\S+?)(?:/main)?(?:\.rs)? |Doc-tests (\S+))")


def group_of(reason):
    """What a reason is listed under."""
    return next((name for pattern, name in GROUPS if re.search(pattern, reason)), reason)


def skipped(lines):
    """Group and test of each line."""
    for line in lines:
        test, _, reason = line.strip().partition(": ")
        if test:
            yield group_of(reason), test


def ignored(lines):
    """The same for tests that `cargo test` has ignored."""
    program = ""
    for line in lines:
        if found := PROGRAM.match(line):
            program = found[1] or f"documentation of {found[2]}"
        elif found := IGNORED.match(line.strip()):
            reason = (found[2] or "").removeprefix(", ")
            yield reason or "marked #[ignore]", f"{program} {found[1]}"


def listing(tests):
    """The list: groups with the most tests first."""
    groups = {}
    for group, test in sorted(set(tests)):
        groups.setdefault(group, []).append(test)
    for group, names in sorted(groups.items(), key=lambda item: (-len(item[1]), item[0])):
        yield f"skipped: {len(names)}: {group}"
        yield from (f"    {name}" for name in names)
    # A test that lacks two things is one test.
    yield str(len({test for names in groups.values() for test in names}))


def self_test():
    lines = [
        "gdgem_oracle a: reference data /x/captures/run.pcapng cannot be read: No such file",
        "gdgem_oracle a: reference data /x/captures/other.pcapng cannot be read: No such file",
        "sonde_oracle a: reference data /x/vectors/one.bin cannot be read: No such file",
        "live b: node cannot be started: No such file",
        "live b: the recorded capture is not there",
        "xdp c: network namespaces need root and the command ip (iproute2)",
        "notebook d: /x/.venv/bin/python cannot import h5py, matplotlib and scippnexus: python3 -m venv .venv",
        "nexus_size e: h5dump is not installed",
        "client g: no Kafka broker can be started: kafka.sh: there is no Java runtime (the command java)",
        "dumps f: /x/captures/multiblade/recorded_2018.h5 is not there",
    ]
    output = [
        "     Running tests/live.rs (target/debug/deps/live-0)",
        "test slow ... ignored, takes an hour",
        "     Running tests/gdgem_oracle/main.rs (target/debug/deps/gdgem_oracle-0)",
        "test plain ... ignored",
        "test fine ... ok",
    ]
    found = list(listing([*skipped(lines), *ignored(output)]))
    assert found[:5] == [
        f"skipped: 4: {GROUPS[0][1]}",
        "    dumps f",
        "    gdgem_oracle a",
        "    live b",
        "    sonde_oracle a",
    ], found
    for line in ["    nexus_size e", "    live slow", "    gdgem_oracle plain", "    xdp c", "    notebook d"]:
        assert line in found, (line, found)
    for group in ["h5dump is not installed", "takes an hour", "marked #[ignore]", *(name for _, name in GROUPS[1:])]:
        assert f"skipped: 1: {group}" in found, (group, found)
    assert found[-1] == "10", found
    assert list(listing([])) == ["0"]


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        self_test()
    else:
        with open(sys.argv[1], encoding="utf-8") as names, open(sys.argv[2], encoding="utf-8") as printed:
            print("\n".join(listing([*skipped(names), *ignored(printed)])))
