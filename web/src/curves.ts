/** From counts per bin to what a chart draws: edges in the unit of the axis, ascending, and the bin at each of them. */

import type { Counts } from "./cells";
import type { Bins } from "./frame";
import type { Scaling } from "./units";

export interface Edges {
  /** The lower edge of each bin, and the upper edge of the last one. */
  values: number[];
  /** The bin that begins there; at the last edge the one that ends there. */
  bins: number[];
}

/** Of the bins, those that have both edges: energy has none at time 0. */
export function edgesOf({ from_ns, width_ns, count }: Bins, scaling: Scaling): Edges {
  const edge = (number: number) => scaling.fromNs(from_ns + number * width_ns);
  const values: number[] = [];
  const bins: number[] = [];
  const add = (value: number, bin: number) => {
    values.push(value);
    bins.push(bin);
  };
  if (!scaling.falls) {
    for (let number = 0; number <= count; number++) add(edge(number), Math.min(number, count - 1));
    return { values, bins };
  }
  const first = from_ns > 0 ? 0 : 1;
  for (let number = count; number >= first; number--) add(edge(number), Math.max(number - 1, first));
  return { values, bins };
}

/** Counts at the edges, times `factor`. */
export function curve({ bins }: Edges, counts: Counts, factor: number): number[] {
  return bins.map((bin) => (counts[bin] ?? 0) * factor);
}

/** The slice in whole bins that is nearest to these times; at least one bin. */
export function wholeBins({ from_ns, width_ns, count }: Bins, [a, b]: [number, number]): [number, number] {
  const nearest = (ns: number) => Math.min(count, Math.max(0, Math.round((ns - from_ns) / width_ns)));
  let [low, high] = [Math.min(nearest(a), nearest(b)), Math.max(nearest(a), nearest(b))];
  if (low === high) {
    if (high < count) high += 1;
    else low -= 1;
  }
  return [from_ns + low * width_ns, from_ns + high * width_ns];
}

/** Whether counts reach the end of the period: then slower neutrons lie on top of fast ones of the next pulse. */
export function reachesEnd({ from_ns, width_ns, count }: Bins, counts: Counts, periodNs: number): boolean {
  const end = Math.min(count, Math.floor((periodNs - from_ns) / width_ns));
  const tail = Math.max(1, Math.floor(end / 50));
  if (end < 10) return false;
  let [all, last] = [0, 0];
  for (let bin = 0; bin < end; bin++) {
    all += counts[bin];
    if (bin >= end - tail) last += counts[bin];
  }
  // A tenth of the mean is more than what scatters around.
  return last >= 10 && last / tail > 0.1 * (all / end);
}
