"""Whether what a browser saw of pages (tests/browser/seen.mjs) are the cuts that NumPy makes of the events of the run.

    python cuts.py PAGES.json SEEN.json

PAGES.json: as seen.mjs has it, and in each entry `csv`, the events of the run; `geometry`, its pixels [nx, ny, nz, panels]; or,
instead of it, `monitors`: { name: [first pixel, nx, ny] }. A page that shows N events shows the first N of the run.
Prints what differs; ends with 1 if anything does, and with the number of comparisons.
"""

import csv
import json
import sys

import numpy as np

# The pulses of readouts that report none: 14 in a second, from 0 on.
SECOND = 1_000_000_000
PULSES = 14
# Wires of a blade of the shipped Multi-Blades, one row of pixels each.
WIRES = 32


def read(path):
    """Pixels from 0, and times of flight in nanoseconds; -1 where there is none."""
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    pixels = np.array([int(row["pixel_id"]) - 1 for row in rows])
    if rows and "pulse_time_ns" in rows[0]:
        flight = [int(row["time_ns"]) - int(row["pulse_time_ns"]) if row["pulse_time_ns"] else -1 for row in rows]
    else:
        within = [int(row["time_ns"]) % SECOND for row in rows]
        flight = [time - time * PULSES // SECOND * SECOND // PULSES for time in within]
    return pixels, np.array(flight)


def places(entry, name, pixels):
    """Columns and rows of the picture in which the events are, with how many there are; rows of -1 are not in it."""
    if "monitors" in entry:
        first, nx, ny = entry["monitors"][name]
        inside = (pixels + 1 >= first) & (pixels + 1 < first + nx * ny)
        of_monitor = pixels + 1 - first
        return of_monitor % nx, np.where(inside, of_monitor // nx, -1), nx, ny
    nx, ny, nz, panels = entry["geometry"]
    if name in ("blade", "blades"):
        row, wires = pixels // nx, WIRES
        return (pixels % nx, row % wires, nx, wires) if name == "blade" else (pixels % nx, row // wires, nx, ny // wires)
    x, y, z = pixels % nx, pixels // nx % ny, pixels // (nx * ny) % nz
    panel = pixels // (nx * ny * nz)
    sides = {"x": (x, nx), "y": (y, ny), "z": (z, nz)}
    (across, columns), (up, rows) = sides[name[0]], sides[name[1]]
    return panel * columns + across, up, columns * panels, rows


def inside(polygon, x, y):
    """Which points are inside of a polygon, by the parity of its edges."""
    found = np.zeros(len(x), dtype=bool)
    for (x0, y0), (x1, y1) in zip(polygon, polygon[1:] + polygon[:1]):
        crosses = (y0 > y) != (y1 > y)
        if y1 != y0:
            found ^= crosses & (x < x0 + (y - y0) / (y1 - y0) * (x1 - x0))
    return found


def image(x, y, nx, ny, block):
    """Counts in cells of `block` pixels, row by row from the bottom."""
    columns, rows = -(-nx // block["x"]), -(-ny // block["y"])
    return np.bincount(y // block["y"] * columns + x // block["x"], minlength=columns * rows)


class Comparison:
    def __init__(self):
        self.made, self.differ = 0, 0

    def equal(self, what, seen, expected):
        self.made += 1
        if np.array_equal(np.asarray(seen), np.asarray(expected)):
            return
        self.differ += 1
        print(f"{what}: the page has {str(seen)[:200]}, the events {str(expected)[:200]}")


def compare(entry, seen, told):
    pixels, flight = read(entry["csv"])
    pixels, flight = pixels[: entry["events"]], flight[: entry["events"]]
    told.equal(f"{entry['name']}, events", entry["events"], len(pixels))
    told.equal(f"{entry['name']}, complaints of the browser", seen["complaints"], [])
    for picture in seen["pictures"]:
        name = picture["name"]
        what = f"{entry['name']}, {name}"
        plain, cut = picture["plain"], picture["cut"]
        if name.endswith("-tof"):
            for shown in (plain, cut):
                expected = maps(entry, name, pixels, flight, shown)
                told.equal(f"{what} with {shown['head']['bins']['count']} bins", shown["image"]["counts"], expected)
            continue
        x, y, nx, ny = places(entry, name, pixels)
        told.equal(f"{what}, pixels", [picture["nx"], picture["ny"]], [nx, ny])
        there = y >= 0
        x, y, tof = x[there], y[there], flight[there]
        told.equal(f"{what}, whole", plain["image"]["counts"], image(x, y, nx, ny, plain["block"]))
        bins = cut["head"]["bins"]
        edges = bins["from_ns"] + bins["width_ns"] * np.arange(bins["count"] + 1)

        def spectrum(times):
            # NumPy takes the last edge into the last bin.
            return np.histogram(times[times < edges[-1]], edges)[0]

        low, high = entry["slice"]
        chosen = (tof >= low) & (tof < high)
        told.equal(f"{what}, slice", cut["image"]["counts"], image(x[chosen], y[chosen], nx, ny, cut["block"]))
        told.equal(f"{what}, spectrum", cut["spectrum"], spectrum(tof))
        (x0, y0), (x1, y1) = picture["rectangle"]
        regions = {
            "rectangle": (x >= x0) & (x < x1) & (y >= y0) & (y < y1),
            "polygon": inside(picture["triangle"], x + 0.5, y + 0.5),
        }
        for region in cut["regions"]:
            of_region = regions.pop(region["name"])
            counts = [int((of_region & chosen).sum()), int(of_region.sum())]
            told.equal(f"{what}, {region['name']}", [region["events"], region["all"]], counts)
            told.equal(f"{what}, spectrum of {region['name']}", region["spectrum"], spectrum(tof[of_region]))
        told.equal(f"{what}, regions that are missing", list(regions), [])


def maps(entry, name, pixels, flight, shown):
    """An axis against time of flight."""
    bins, block = shown["head"]["bins"], shown["block"]
    nx, ny, nz, panels = entry["geometry"]
    along = {"x": (pixels % nx, nx), "y": (pixels // nx % ny, ny), "z": (pixels // (nx * ny) % nz, nz)}[name[0]]
    row = pixels // (nx * ny * nz) * along[1] + along[0]
    column = (flight - bins["from_ns"]) // bins["width_ns"]
    there = (flight >= bins["from_ns"]) & (column < bins["count"])
    return image(column[there], row[there], bins["count"], along[1] * panels, block)


def main():
    entries, seen = (json.load(open(path)) for path in sys.argv[1:3])
    told = Comparison()
    told.equal("pages", [one["page"] for one in seen], [one["page"] for one in entries])
    for entry, of_page in zip(entries, seen):
        compare(entry, of_page, told)
    print(f"{told.made} comparisons, {told.differ} differ")
    sys.exit(1 if told.differ or told.made < 5 * len(entries) else 0)


if __name__ == "__main__":
    main()
