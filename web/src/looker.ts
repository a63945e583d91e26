/** Turns what the page looks at into what it asks of the server, and asks again when something changes: at most ten times a second. */

import type { Connection } from "./connection";
import type { Bins } from "./frame";
import type { Looked } from "./looked";
import type { Model } from "./model";
import type { Hello, Look, PicturePlan } from "./protocol";
import type { View } from "./view";

/** Milliseconds between two looks while something is dragged. */
const interval = 100;

/** The bins that are asked for; null for those of the server. */
export function binsFor(hello: Hello, count: number | null): Bins | null {
  if (count === null) return null;
  const { bin_ns, bins } = hello.spectrum;
  const width_ns = Math.max(1, Math.ceil((bin_ns * bins) / Math.min(count, hello.limits.bins)));
  return { from_ns: 0, width_ns, count: Math.ceil((bin_ns * bins) / width_ns) };
}

/** The picture that is chosen; the first one with more than one pixel if none is. */
export function chosenPlan(hello: Hello, picture: string | null): PicturePlan | null {
  const found = hello.pictures.find(({ name }) => name === picture) ?? hello.pictures.find((plan) => !isNumber(plan));
  return found ? withBins(found, hello, null) : null;
}

/** A monitor without positions is a number in the ledger, and no picture. */
export function isNumber({ across, up }: PicturePlan): boolean {
  return across.pixels === 1 && up.pixels === 1;
}

/** The plan of a map with `bins` along its axis of time; other plans as they are. */
export function withBins(plan: PicturePlan, hello: Hello, bins: Bins | null): PicturePlan {
  if (!plan.is_map) return plan;
  const { from_ns, width_ns, count } = bins ?? { from_ns: 0, width_ns: hello.spectrum.bin_ns, count: hello.spectrum.bins };
  const across = { label: "time of flight (ms)", unit: "ms", pixels: count, first: (from_ns + width_ns / 2) / 1e6, step: width_ns / 1e6 };
  return { ...plan, across };
}

/** The layer that is shown of a picture; null for all of them. */
export function layerOf(plan: PicturePlan, { layer }: Looked): number | null {
  return layer !== null && plan.depth > 1 && layer < plan.depth ? layer : null;
}

/** What is asked for. */
export function lookFor(hello: Hello, looked: Looked, points: [number, number]): Look | null {
  const bins = binsFor(hello, looked.bins);
  const chosen = chosenPlan(hello, looked.picture);
  if (!chosen) return null;
  const plan = withBins(chosen, hello, bins);
  const within = ([w, h]: [number, number]): [number, number] => {
    const held = (value: number) => Math.min(hello.limits.points, Math.max(16, Math.ceil(value)));
    return [held(w), held(h)];
  };
  const look: Look = { picture: plan.name, points: within(points) };
  const { part } = looked;
  if (part && part.x1 <= plan.across.pixels && part.y1 <= plan.up.pixels) look.part = [part.x0, part.y0, part.x1, part.y1];
  if (!hello.selections) return look;
  if (looked.slice) look.slice_ns = looked.slice;
  const layer = layerOf(plan, looked);
  if (layer !== null) look.layers = [layer, layer + 1];
  if (looked.window.kind !== "all") look.window = looked.window;
  if (bins) look.bins = bins;
  if (looked.vetoed !== "all") look.vetoed = looked.vetoed;
  if (looked.period !== null) look.period = looked.period;
  if (looked.frames !== "all") look.frames = looked.frames;
  if (looked.complete) look.complete = true;
  const regions = looked.regions.filter(({ picture }) => picture === plan.name).slice(0, hello.limits.regions);
  if (regions.length > 0) look.regions = regions.map(({ name, shape, points }) => ({ name, shape, points }));
  return look;
}

/** What is asked for of pictures next to the large one: the same events, without regions. */
function lookBeside(hello: Hello, looked: Looked, plan: PicturePlan, points: [number, number]): Look | null {
  return lookFor(hello, { ...looked, picture: plan.name, part: null, layer: null, regions: [] }, points);
}

export class Looker {
  private timer: number | undefined;
  private askedAt = 0;

  constructor(
    private readonly model: Model,
    private readonly view: View,
    private readonly connection: () => Connection,
    private readonly points: () => [number, number],
    private readonly further: () => { plans: PicturePlan[]; points: [number, number] },
  ) {
    view.onChange(() => this.soon());
  }

  /** What is looked at now. */
  look(): Look | null {
    const { hello } = this.model;
    return hello && lookFor(hello, this.view.looked, this.points());
  }

  /** Asks, but not too often. */
  soon(): void {
    if (this.timer !== undefined) return;
    const wait = Math.max(0, this.askedAt + interval - performance.now());
    this.timer = setTimeout(() => {
      this.timer = undefined;
      this.now();
    }, wait);
  }

  now(): void {
    const look = this.look();
    const { hello } = this.model;
    this.askedAt = performance.now();
    if (!look || !hello) return;
    const { plans, points } = this.further();
    const others = plans.slice(0, hello.limits.looks - 1).map((plan) => lookBeside(hello, this.view.looked, plan, points));
    this.connection().ask([look, ...others.filter((other) => other !== null)]);
  }
}
