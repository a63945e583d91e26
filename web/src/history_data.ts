/** From answers of the server to what is drawn: times in equal steps, and gaps where nothing was told. */

import type { HistoryAnswer, SeriesPoint } from "./history_feed";
import type { RatePoint } from "./protocol";

/** A value over a step: null is a gap. */
export type Value = Pick<SeriesPoint, "min" | "mean" | "max"> | null;

/** Values at the same times. */
export interface Table {
  /** The middle of each step, in seconds since the Unix epoch. */
  times: number[];
  /** Each line, a value for each time. */
  lines: Value[][];
  /** Packets lost, for each time: 0 if none or not known. */
  lost: number[];
}

/** Most steps of an answer, whatever the server says. */
const mostSteps = 10_000;

/** Lines of an answer, each the sum of some of its series; `lost` are the series that count losses. */
export function tableOf(answer: HistoryAnswer, lines: string[][], lost: string[]): Table {
  const all = answer.series.flatMap(({ points }) => points.map(({ at_ms }) => at_ms));
  if (all.length === 0) return { times: [], lines: lines.map(() => []), lost: [] };
  const step = answer.step_ms;
  let [first, last] = [Infinity, -Infinity];
  for (const at of all) [first, last] = [Math.min(first, at), Math.max(last, at)];
  const steps = Math.min(mostSteps, Math.round((last - first) / step) + 1);
  const sum = (ids: string[]): Value[] => {
    const values: Value[] = new Array<Value>(steps).fill(null);
    for (const { id, points } of answer.series) {
      if (!ids.includes(id)) continue;
      for (const { at_ms, min, mean, max } of points) {
        const place = Math.round((at_ms - first) / step);
        const before = values[place];
        values[place] = { min: min + (before?.min ?? 0), mean: mean + (before?.mean ?? 0), max: max + (before?.max ?? 0) };
      }
    }
    return values;
  };
  return {
    times: Array.from({ length: steps }, (_, place) => (first + (place + 0.5) * step) / 1000),
    lines: lines.map(sum),
    // What turned up late makes a rate below zero.
    lost: sum(lost).map((value) => Math.max(0, value?.max ?? 0)),
  };
}

/** The rates that the page has without asking: of events, or of packets received and sent. */
export function tableOfPoints(points: RatePoint[], what: "events" | "packets"): Table {
  const one = (value: number | null): Value => (value === null ? null : { min: value, mean: value, max: value });
  const events = () => [points.map((point) => one(point.events_per_second))];
  const packets = () => [points.map((point) => one(point.packets_received)), points.map((point) => one(sentIn(point)))];
  return {
    times: points.map(({ time_ms }) => time_ms / 1000),
    lines: what === "events" ? events() : packets(),
    lost: points.map((point) => point.packets_lost ?? 0),
  };
}

/** Packets sent in the second of a point; null where nobody knows. */
function sentIn({ packets_received, packets_lost }: RatePoint): number | null {
  return packets_received === null || packets_lost === null ? null : packets_received + packets_lost;
}
