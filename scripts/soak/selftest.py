"""Does the verdict see what it must see?"""

import random

from checks import balances, number, unaccounted
from clients import masked
from sampling import Sample, growth_per_hour, slope


def line(per_hour: float, noise: float) -> list[Sample]:
    """Samples of an hour whose memory grows so."""
    chance = random.Random(1)
    return [Sample(second, "service", "", round(1e8 + per_hour * second / 3600 + chance.gauss(0, noise)), 20, 9, 0.0)
            for second in range(0, 3600, 5)]


def check() -> int:
    assert abs(slope([(x, 3 * x + 1) for x in range(50)]) - 3) < 1e-9
    # A peak of a fifth of the time is no growth.
    peaked = [(x, 1000.0 if 20 < x < 30 else 5.0) for x in range(50)]
    assert slope(peaked) == 0
    assert slope([]) == slope([(1.0, 1.0)]) == 0
    for per_hour in (0.0, 5e6, 1e8):
        assert abs(growth_per_hour(line(per_hour, 2e5)) - per_hour) < 1e6, per_hour
    report = {"streams": [{"unaccounted": 0}, {"unaccounted": 3}], "outputs": [{"id": "csv", "unaccounted": -1}]}
    assert unaccounted(report) == ["/streams/1/unaccounted is 3", "/outputs/0/unaccounted is -1"]
    assert balances(report) == 3
    assert number("1 234 567") == 1234567
    frame = masked(1, b"ack 7")
    assert frame[:2] == b"\x81\x85" and bytes(byte ^ frame[2 + place % 4] for place, byte in enumerate(frame[6:])) == b"ack 7"
    print("the arithmetic of the verdict is right")
    return 0
