/**
 * From counts to colours, and the numbers next to the colour bar. The rules are those of crates/picture/src/scale.rs,
 * which draws the PNG.
 */

import { colours, emptyWord, steps, type MapName } from "./colours";
import { roundStep } from "./numbers";

export interface Scale {
  logarithmic: boolean;
  /** True for differences and ratios: everything but NaN has a colour, that of no change in the middle. */
  diverging: boolean;
  /** Values at the bottom and top of the colour bar; bottom < top, and bottom > 0 if logarithmic. */
  bottom: number;
  top: number;
  /** No number is below it: there are no such counts. */
  lowestTick: number;
}

/**
 * The scale for values up to `top`; `smallest` is the smallest value above 0 that can occur. On a logarithmic scale it lies
 * half as high above the bottom as a double count above it, so that a single count can be told from none.
 */
export function makeScale(logarithmic: boolean, top: number, smallest: number): Scale {
  if (!logarithmic) return { logarithmic, diverging: false, bottom: 0, top: top > 0 ? top : 1, lowestTick: 0 };
  const highest = Math.max(top, smallest * 2);
  // More than five decades would leave the interesting ones pale.
  const bottom = Math.max(smallest / 2, highest / 1e5);
  return { logarithmic, diverging: false, bottom, top: highest, lowestTick: Math.max(bottom, smallest) };
}

/** The scale of differences: as far below 0 as above it. */
export function differenceScale(largest: number): Scale {
  const top = largest > 0 ? largest : 1;
  return { logarithmic: false, diverging: true, bottom: -top, top, lowestTick: -top };
}

/** The scale of ratios: from 1/top over 1 to top. */
export function ratioScale(largest: number): Scale {
  const top = Math.min(1000, Math.max(2, largest));
  return { logarithmic: true, diverging: true, bottom: 1 / top, top, lowestTick: 1 / top };
}

/** Where `value` lies on the colour bar: 0 at the bottom, 1 at the top. */
export function position(scale: Scale, value: number): number {
  if (!scale.logarithmic) return (value - scale.bottom) / (scale.top - scale.bottom);
  return Math.log(value / scale.bottom) / Math.log(scale.top / scale.bottom);
}

/** Colours `values` into `words`. Counts of 0 and below, and what is not known, have a colour of their own. */
export function paint(scale: Scale, map: MapName, values: Float32Array, words: Uint32Array): void {
  const table = colours(map);
  const last = steps - 1;
  const factor = last / (scale.logarithmic ? Math.log(scale.top / scale.bottom) : scale.top - scale.bottom);
  const offset = scale.logarithmic ? Math.log(scale.bottom) : scale.bottom;
  for (let at = 0; at < values.length; at++) {
    const value = values[at];
    if (scale.diverging ? Number.isNaN(value) : !(value > 0)) {
      words[at] = emptyWord;
      continue;
    }
    // A millionth more: rounding must not take the top its colour.
    const step = ((scale.logarithmic ? Math.log(value) : value) - offset) * factor + 1e-6;
    words[at] = table[step <= 0 ? 0 : step >= last ? last : step | 0];
  }
}

/** Round values for numbers next to the colour bar, at most about `most`. */
export function ticks(scale: Scale, most: number): number[] {
  const values: number[] = [];
  if (!scale.logarithmic) {
    const step = roundStep(scale.top - scale.bottom, most);
    const first = Math.ceil((scale.bottom / step) * 0.999999);
    for (let number = first; number * step <= scale.top * 1.000001; number++) values.push(number * step);
    return values;
  }
  const decades = Math.log10(scale.top / scale.bottom);
  const factors = decades * 3 <= most ? [1, 2, 5] : [1];
  for (let power = Math.floor(Math.log10(scale.bottom)); power <= Math.log10(scale.top); power++) {
    for (const factor of factors) {
      const value = factor * 10 ** power;
      if (value >= scale.lowestTick * 0.999 && value <= scale.top * 1.001) values.push(value);
    }
  }
  return values;
}

/** The value that `share` of the values above 0 do not exceed, from a sample of them. */
export function quantile(values: Float32Array, share: number): number {
  const stride = Math.max(1, Math.floor(values.length / 50_000));
  const sample: number[] = [];
  for (let at = 0; at < values.length; at += stride) if (values[at] > 0) sample.push(values[at]);
  if (sample.length === 0) return 0;
  sample.sort((a, b) => a - b);
  return sample[Math.min(sample.length - 1, Math.floor(sample.length * share))];
}
