#!/usr/bin/env python3
"""Takes the entries of SoNDe packets of trigger times out of the order of time: shuffle-sonde.py IN.pkts OUT.pkts [--within 1000].

The entries of all packets are put into the order of their times plus a random delay each, below --within ticks, and dealt
out to the same packets again. Boards that read several ASICs one after the other send like this. The same every time.
"""

import argparse
import random
import struct
from pathlib import Path

# Bytes before the entries, and of an entry: 32 bits of time, then the channel.
HEAD, ENTRY = 11, 5


def packets(data: bytes) -> list[bytes]:
    """The packets of a .pkts file: a length of four bytes before each."""
    found, at = [], 0
    while at < len(data):
        (length,) = struct.unpack_from("<I", data, at)
        found.append(data[at + 4 : at + 4 + length])
        at += 4 + length
    return found


def shuffled(all_packets: list[bytes], within: int) -> list[bytes]:
    """The packets with their entries in another order."""
    chance = random.Random(1)
    entries = []
    for packet in all_packets:
        entries += [packet[at : at + ENTRY] for at in range(HEAD, len(packet), ENTRY)]
    entries.sort(key=lambda entry: int.from_bytes(entry[:4], "big") + chance.random() * within)
    dealt, at = [], 0
    for packet in all_packets:
        count = (len(packet) - HEAD) // ENTRY
        dealt.append(packet[:HEAD] + b"".join(entries[at : at + count]))
        at += count
    return dealt


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("capture", type=Path)
    parser.add_argument("to", type=Path)
    parser.add_argument("--within", type=int, default=1000, help="ticks")
    arguments = parser.parse_args()
    dealt = shuffled(packets(arguments.capture.read_bytes()), arguments.within)
    arguments.to.write_bytes(b"".join(struct.pack("<I", len(packet)) + packet for packet in dealt))


if __name__ == "__main__":
    main()
