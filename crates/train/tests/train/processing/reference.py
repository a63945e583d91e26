"""The steps with NumPy: reads images and constants, writes what is left of them.

Arguments: images, rows, columns, pulses; level, least; first row, end row, first column, end column, least sum, largest sum;
pulses that are vetoed. Image k is of pulse 10 k. Standard input: images as u16, pedestals as f32, gains as f32.
"""

import sys

import numpy as np

images, rows, columns, pulses = (int(text) for text in sys.argv[1:5])
level, least = np.float32(sys.argv[5]), int(sys.argv[6])
top, bottom, left, right = (int(text) for text in sys.argv[7:11])
lowest, highest = (float(text) for text in sys.argv[11:13])
vetoed = [int(text) for text in sys.argv[13:]]

data = sys.stdin.buffer.read()
raw = np.frombuffer(data, "<u2", images * rows * columns).reshape(images, rows, columns)
pedestals, gains = np.frombuffer(data, "<f4", offset=raw.nbytes).reshape(2, rows, columns)

number = 10 * np.arange(images)
values = (raw.astype(np.float32) - pedestals) * gains
with np.errstate(invalid="ignore"):
    bright = (values > level).sum(axis=(1, 2)) >= least
    sums = np.nansum(values[:, top:bottom, left:right], axis=(1, 2), dtype=np.float64)
    kept = ~np.isin(number, vetoed) & bright & (sums >= lowest) & (sums <= highest)
    values = values[kept]
    rounded = np.nan_to_num(np.clip(np.rint(values), 0, 65535), nan=0).astype("<u2")
intensity = np.zeros(pulses)
intensity[number[kept]] = np.nansum(values, axis=(1, 2), dtype=np.float64)

for result in (
    np.flatnonzero(kept).astype("<u8"),
    values.astype("<f4"),
    rounded,
    np.nansum(values, axis=0, dtype=np.float64),
    (~np.isnan(values)).sum(axis=0).astype("<u8"),
    np.fmax.reduce(values, axis=0, initial=-np.inf).astype("<f4"),
    intensity,
):
    block = np.ascontiguousarray(result).tobytes()
    sys.stdout.buffer.write(len(block).to_bytes(8, "little") + block)
