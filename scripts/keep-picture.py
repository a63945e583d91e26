#!/usr/bin/env python3
"""Puts a new picture of the page in the place of the committed one, unless they differ only in what depends on time.

    scripts/keep-picture.py NEW COMMITTED MASKED

MASKED is JSON: the places that depend on time, each left, top, width and height in points of the picture. They are not
compared. The browser draws the same letters now and then a little higher or lower: a point is the same if one of its
neighbours is. FORCE=1 replaces the committed picture in any case.

Colours are rounded to one of 64 steps for each of red, green and blue, which nobody sees: that is three quarters of the bytes.
"""

import json
import os
import pathlib
import sys

from PIL import Image, ImageChops, ImageDraw, ImageFilter

STEP = 4
# Steps of a colour that do not count.
TOLERATED = 40
# Side of the square of neighbours, in points.
REACH = 3


def rounded(picture):
    """The picture in colours that are multiples of STEP, and white."""
    return picture.convert("RGB").point(lambda value: min(255, STEP * round(value / STEP)))


def masked(picture, places):
    """The picture with these places, and a point around them, in black."""
    picture = picture.convert("RGB")
    draw = ImageDraw.Draw(picture)
    for left, top, width, height in places:
        draw.rectangle((left - 1, top - 1, left + width + 1, top + height + 1), fill=(0, 0, 0))
    return picture


def beyond(picture, other):
    """By how much points of a picture are brighter or darker than the same point of another one and its neighbours are."""
    brighter = ImageChops.subtract(picture, other.filter(ImageFilter.MaxFilter(REACH)))
    darker = ImageChops.subtract(other.filter(ImageFilter.MinFilter(REACH)), picture)
    return ImageChops.lighter(brighter, darker)


def difference(new, committed, places):
    """How two pictures differ outside of these places, in words; empty if they do not."""
    if new.size != committed.size:
        return f"{new.size[0]} x {new.size[1]} points instead of {committed.size[0]} x {committed.size[1]}"
    new, committed = masked(new, places), masked(committed, places)
    changed = ImageChops.lighter(beyond(new, committed), beyond(committed, new))
    box = changed.point(lambda value: 255 if value > TOLERATED else 0).getbbox()
    return f"it differs between the points {box[:2]} and {box[2:]}" if box else ""


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    new, committed, places = map(pathlib.Path, sys.argv[1:])
    picture = rounded(Image.open(new))
    why = "new"
    if committed.is_file():
        why = difference(picture, Image.open(committed), json.loads(places.read_text()))
        if not why and os.environ.get("FORCE") != "1":
            print(f"{committed.name}: as before, but for what depends on time; FORCE=1 replaces it")
            return
    picture.save(committed, optimize=True)
    print(f"{committed.name}: written, {committed.stat().st_size // 1000} kB ({why or 'FORCE=1'})")


if __name__ == "__main__":
    main()
