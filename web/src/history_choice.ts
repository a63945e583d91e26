/** What of the history is shown, and from when to when. It is in the address: a link shows the same. */

import { fromAddress, intoAddress } from "./address";

/** Seconds of rates that the page has without asking. */
export const known = 600;
/** The spans that are offered, in seconds. */
export const ranges: [number, string][] = [[60, "1 min"], [known, "10 min"], [3600, "1 h"], [21_600, "6 h"], [172_800, "48 h"]];

/** Most series at a time. */
export const mostSeries = 6;

export type What = "events" | "packets";

/** Milliseconds since the Unix epoch. */
export interface Zoom {
  from: number;
  to: number;
}

export class HistoryChoice {
  /** Events, packets, or series by their ids. */
  what: What | string[] = "events";
  range = known;
  zoom: Zoom | null = null;

  constructor() {
    this.read();
  }

  /** Takes what the address has; true if that is something else than before. */
  read(): boolean {
    const before = JSON.stringify([this.what, this.range, this.zoom]);
    const history = fromAddress("history") ?? "events";
    const range = Number(fromAddress("range"));
    const zoom = /^(\d{1,15})-(\d{1,15})$/.exec(fromAddress("zoom") ?? "");
    this.what = history === "events" || history === "packets" ? history : history.split(" ").map(decoded).slice(0, mostSeries);
    this.range = ranges.some(([seconds]) => seconds === range) ? range : known;
    this.zoom = zoom && Number(zoom[1]) < Number(zoom[2]) ? { from: Number(zoom[1]), to: Number(zoom[2]) } : null;
    return JSON.stringify([this.what, this.range, this.zoom]) !== before;
  }

  /** The series that are chosen; none if events or packets are. */
  ids(): string[] {
    return Array.isArray(this.what) ? this.what : [];
  }

  /** True if the page has what is to be shown without asking. */
  isKnown(): boolean {
    return !Array.isArray(this.what) && this.range <= known && this.zoom === null;
  }

  show(what: What | string[]): void {
    this.what = Array.isArray(what) && what.length === 0 ? "events" : what;
    const words = Array.isArray(this.what) ? this.what.map(encodeURIComponent).join(" ") : this.what;
    intoAddress("history", words === "events" ? null : words);
  }

  setRange(range: number): void {
    this.range = range;
    intoAddress("range", range === known ? null : String(range));
    this.setZoom(null);
  }

  setZoom(zoom: Zoom | null): void {
    this.zoom = zoom && wide(zoom);
    intoAddress("zoom", this.zoom && `${this.zoom.from}-${this.zoom.to}`);
  }
}

/** At least four seconds: one is the finest step that there is. */
function wide({ from, to }: Zoom): Zoom {
  const [middle, half] = [(from + to) / 2, Math.max(2000, (to - from) / 2)];
  return { from: Math.max(0, Math.round(middle - half)), to: Math.round(middle + half) };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
