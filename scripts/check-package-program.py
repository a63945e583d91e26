#!/usr/bin/env python3
"""Whether programs can be in a package: check-package-program.py --glibc 2.28 [--absent TEXT]... PROGRAM...

They may need libraries of glibc only, no symbol that is newer than the version, and none of the texts (folders of the
build) may be in them. Needs objdump (binutils).
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

# All of them belong to glibc; the others are linked in.
LIBRARIES = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "libutil.so.1", "ld-linux-x86-64.so.2"}


def version(text):
    return tuple(int(part) for part in text.split("."))


def findings(program, newest, absent):
    """What is wrong with a program, in sentences."""
    def objdump(option):
        return subprocess.run(["objdump", option, program], capture_output=True, text=True, check=True).stdout

    needed = set(re.findall(r"^ +NEEDED +(\S+)$", objdump("-p"), re.M))
    if not needed:
        yield "needs no library at all: is it a program of this platform?"
    for library in sorted(needed - LIBRARIES):
        yield f"needs the library {library}, which the base of a system may lack: link it in (feature `bundled`)"
    for line in objdump("-T").splitlines():
        found = re.search(r"\bGLIBC_([0-9.]+)\b\)?\s+(\S+)$", line)
        if found and version(found[1]) > version(newest):
            yield f"needs {found[2]} of glibc {found[1]}, expected {newest} or older"
    content = Path(program).read_bytes()
    for text in absent:
        at = content.find(text.encode())
        if at >= 0:
            around = content[at:at + 200].split(b"\0")[0].decode(errors="replace")
            yield f"has a folder of the build in it: {around}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--glibc", required=True)
    parser.add_argument("--absent", action="append", default=[])
    parser.add_argument("programs", nargs="+")
    arguments = parser.parse_args()
    wrong = [f"{program}: {text}" for program in arguments.programs
             for text in findings(program, arguments.glibc, arguments.absent)]
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
