/** What a page can look at, and how: the values that its address keeps. */

import type { Part } from "./cells";
import type { MapName } from "./colours";
import type { Shape, Span } from "./protocol";

export interface Region {
  /** The picture on which it is drawn. */
  picture: string;
  name: string;
  shape: Shape;
  /** A rectangle's lower left pixel and the one beyond its upper right; or the corners of a polygon, in pixels. */
  points: [number, number][];
}

export type Top = { kind: "maximum" } | { kind: "quantile" } | { kind: "fixed"; value: number };

/** What counts are divided by; "monitor:NAME" by the events of a beam monitor. */
export type Per = "counts" | "second" | "pulse" | "charge" | `monitor:${string}`;

export type Unit = "tof" | "wavelength" | "energy" | "d";

/** Panels that can be hidden; the monitor is opened where it is shown. */
export const panelNames = ["image", "regions", "rate", "spectrum", "ledger", "monitor"] as const;
export type PanelName = (typeof panelNames)[number];

export interface Looked {
  /** Null for the first picture. */
  picture: string | null;
  /** Smaller pictures next to it. */
  further: string[];
  /** Panels that are shown; null for all of them, with the monitor as somebody left it. */
  panels: PanelName[] | null;
  /** Null for the whole picture. */
  part: Part | null;
  /** Events with from <= time of flight < to, in nanoseconds; null for all. */
  slice: [number, number] | null;
  /** The layer that a picture of a detector with depth shows (along the axis that it does not have); null for the sum of all. */
  layer: number | null;
  window: Span;
  regions: Region[];
  /** Bins of the spectra; null for those of the server. */
  bins: number | null;
  vetoed: "all" | "accepted" | "vetoed";
  /** Of frames: a period from 1, null for all; with a veto that counts or without; and only those that are known to be complete. */
  period: number | null;
  frames: "all" | "good" | "vetoed";
  complete: boolean;
  per: Per;
  /** Whether counts are divided by the share of packets that has come. */
  corrected: boolean;
  compare: "none" | "difference" | "ratio";
  /** Scale of the picture; null for what suits the content. */
  log: boolean | null;
  map: MapName;
  top: Top;
  unit: Unit;
  flightPath: number | null;
  twoTheta: number | null;
  spectrumLog: boolean;
  /** Part of the spectrum that is shown, in nanoseconds. */
  zoom: [number, number] | null;
}

/** Which frames are looked at: "period 2, good, complete"; empty for all pulses. */
export function framesInWords({ period, frames, complete }: Looked): string {
  const said = [period === null ? "" : `period ${period}`, frames === "all" ? "" : frames, complete ? "complete" : ""];
  return said.filter((word) => word !== "").join(", ");
}

export const nothingChosen: Looked = {
  picture: null,
  further: [],
  panels: null,
  part: null,
  slice: null,
  layer: null,
  window: { kind: "all" },
  regions: [],
  bins: null,
  vetoed: "all",
  period: null,
  frames: "all",
  complete: false,
  per: "counts",
  corrected: false,
  compare: "none",
  log: null,
  map: "evforge",
  top: { kind: "maximum" },
  unit: "tof",
  flightPath: null,
  twoTheta: null,
  spectrumLog: false,
  zoom: null,
};
