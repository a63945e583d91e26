/** The JSON messages of the server; described in crates/view/src/protocol.rs. */

import type { Bins } from "./frame";

export interface RatePoint {
  time_ms: number;
  events_per_second: number;
  /** Packets that came in that second; null before the first ledger. */
  packets_received: number | null;
  /** Null where nobody knows. */
  packets_lost: number | null;
}

export interface Hello {
  type: "hello";
  protocol: number;
  /** Changes with every start of a server. */
  instance: string;
  version: string;
  title: string;
  started_ms: number;
  geometry: { nx: number; ny: number; nz: number; panels: number };
  /** The pictures that can be looked at. */
  pictures: PicturePlan[];
  /** What is offered to be looked at: those of the configuration, or those shipped for the detector. */
  views: ViewState[];
  spectrum: { bin_ns: number; bins: number; period_ns: number };
  /** Absent where events are counted. */
  content?: Content;
  interval_ms: number;
  window: number;
  /** True if there are monitor data to switch on. */
  monitor: boolean;
  points: RatePoint[];
  /** False where only picture and part can be chosen: pictures are not counted of events. */
  selections: boolean;
  limits: { looks: number; regions: number; corners: number; bins: number; points: number };
  /** Names of the vetoes of the run. */
  vetoes: string[];
  /** From the moderator to the detector, if the server knows it; and the angle of scattering. */
  flight_path_m?: number;
  two_theta_deg?: number;
}

/** What pictures and spectrum show where that is not counts of events: each takes the place of the one before. */
export interface Content {
  /** What `events` are: "trains". */
  things: string;
  /** What the number of a pixel is. */
  pixel: string;
  /** What a panel is: "module"; and the number of the first one. */
  panel: string;
  first_panel: number;
  /** What takes the place of the spectrum: heading, what its bins are (from 0), its values. */
  chart: string;
  across: string;
  up: string;
}

/** An axis of a picture. */
export interface Axis {
  /** What people read: "x (column)", "y (mm)". */
  label: string;
  unit: string;
  /** Pixels along it, those of all panels. */
  pixels: number;
  /** The value in the middle of pixel 0, and the step to the next. */
  first: number;
  step: number;
  /** From pixel to pixel in metres, if it is known. */
  pitch_m?: number;
}

/** What a picture shows. */
export interface PicturePlan {
  /** "xy", "xz", "yz", a map against time of flight ("x-tof"), or the name of a beam monitor. */
  name: string;
  title: string;
  plane: string;
  is_monitor: boolean;
  /** True if its axis to the right is time of flight, in the bins of the look. */
  is_map: boolean;
  /** Pixels along the axis that it does not show, whose counts are added up. */
  depth: number;
  /** What a step along that axis is called: "layer", "row", "column", "wire", "blade". */
  beyond: string;
  /** How many panels it has; columns and rows of one. */
  panels: number;
  panel: [number, number];
  /** Panels in a row, panel 0 at the lower left; absent where `corners` has the lower left pixel of each. */
  panel_columns?: number;
  corners?: [number, number][];
  across: Axis;
  up: Axis;
}

/** A view under a name. */
export interface ViewState {
  name: string;
  hint: string;
  /** The first one is large, the others are next to it. */
  pictures: string[];
  /** What is asked for the first one; its `points` and `bins` are not in it. */
  look: Omit<Look, "points" | "bins">;
  bins?: number;
  per: string;
  corrected: boolean;
  log?: boolean;
  map: string;
  top: "maximum" | "quantile" | "fixed";
  top_value?: number;
  unit: string;
  flight_path_m?: number;
  two_theta_deg?: number;
  spectrum_log: boolean;
  zoom_ns?: [number, number];
  panels?: string[];
}

export interface Packets {
  /** Null where packets have no numbers. */
  sent: number | null;
  received: number;
  /** Null where nobody can know all of them. */
  lost: number | null;
  /** Absent where `lost` says it, and where nothing is known. */
  lost_at_least?: number;
  reordered: number;
  duplicated: number;
  /** Packets whose number is far from all others, and which no next number has followed. */
  unconfirmed: number;
  restarts: number;
  loss_upper_bound?: number;
}

export interface Source {
  name: string;
  packets: Packets;
  /** First number missing, and how many. */
  gaps: [number, number][];
  gaps_not_listed: number;
}

export interface Ledger {
  age_ms: number;
  packets: Packets;
  handed_over: number;
  sources: Source[];
  /** Sources whose packets have no numbers: what they have lost is in no sum. */
  unnumbered_sources: number;
  locations: { location: string; packets: number; inferred: boolean }[];
  unlocated: number;
  /** Null if a detector does not count them. */
  readouts: number | null;
  hits: number | null;
  events: number;
  held: number;
  discarded: { name: string; of: string; count: number; help: string }[];
  /** Of trains and images: entered = left + discarded + held. Absent without any. */
  balances?: { of: string; entered: number; left: number; discarded: number; held: number }[];
  unaccounted: number;
  /** Absent without beam monitors. */
  beam_monitors?: BeamMonitor[];
  /** Absent where the readout tells no frames. */
  frames?: Frames;
}

/** All frames: pulses of which the readout says more than their time. Periods count from 1. */
export interface Frames {
  raw: number;
  good: number;
  charge_uah: number;
  charge_good_uah: number;
  events: number;
  events_good: number;
  complete: number;
  incomplete: number;
  late: number;
  unknown: number;
  /** Null before the first that was compared. */
  live_fraction: number | null;
  /** Of the newest frame; null where nobody has said it. */
  period: number | null;
  is_good: boolean | null;
  periods: { raw: number; good: number; charge_good_uah: number; events_good: number }[];
  vetoes: { bit: number; name: string; counts: boolean; frames: number; now: boolean }[];
}

/** The sums of a beam monitor since the start. */
export interface BeamMonitor {
  name: string;
  kind: "event_0d" | "event_2d" | "integrating";
  total: number;
  /** The part of the total that lies outside its histogram. */
  outside: number;
  pulses: number;
}

/** What happened to the events that an output was offered: offered is the sum of the next six. */
export interface OutputEvents {
  offered: number;
  committed: number;
  left_out: number;
  dropped: number;
  missed: number;
  queued: number;
  pending: number;
  accepted: number;
  queued_bytes: number;
  pulses_lost: number;
  retries: number;
  interruptions: number;
}

/** Where events go: a file, messages, a picture. */
export interface Output {
  /** Its name in the configuration. */
  id: string;
  name: string;
  events: OutputEvents;
  /** What it counts itself. */
  counters: Record<string, number>;
  /** Why it waits at this moment. */
  waiting?: string;
  failure?: string;
  /** True if it only needs to be up to date, so that what it drops is no fault. */
  may_drop: boolean;
}

/** What comes in, in the words of page, status line and report. */
export interface Feed {
  state: "waiting" | "live" | "stalled" | "rejecting" | "ended";
  /** True if it has ended because it failed. */
  failed: boolean;
  text: string;
  reason: string | null;
  /** Milliseconds since the newest packet and events; null before the first. */
  packet_ms: number | null;
  event_ms: number | null;
  stalled_after_ms: number;
}

/** What must be seen from across the room, in a few words. */
export interface Sign {
  sign: string;
  level: "alarm" | "warning" | "note";
  text: string;
  /** The same in a sentence, with what to do. */
  sentence: string;
}

/** A finding of `evforge doctor`. */
export interface Advice {
  subject: string;
  found: string;
  wanted?: string;
  fix?: string;
}

export interface Status {
  type: "status";
  number: number;
  /** The looks whose frames follow, in this order: those that have changed. */
  frames: number[];
  /** The number of the looks that these are of: what was asked for later comes later. */
  wanted: number;
  /** Of each look of this page: the number of its newest frame, and why it cannot be shown, if so. */
  looks: { number: number; problem?: string }[];
  /** The oldest event that a new selection can still see came then; absent before the first. */
  memory_ms?: number;
  /** Updates this page has missed because it was slow. */
  skipped: number;
  points: RatePoint[];
  time_ms: number;
  feed: Feed;
  events: number;
  outside_geometry: number;
  /** Events before the first pulse, or before the pulse that the readout gave them. */
  before_first_pulse: number;
  /** Events too long after the pulse that the readout gave them for the spectrum. */
  beyond_spectrum: number;
  last_event_ms?: number;
  ledger?: Ledger;
  outputs: Output[];
  alarms: string[];
  /** Alarms first, then warnings, then notes. */
  signs: Sign[];
  /** While no packets come. */
  advice: Advice[];
  /** True if there is something to ask /api/beam.json for. */
  beam: boolean;
  clients: number;
}

/** The server does not take the looks it was asked for; those before stay. */
export interface Refused {
  type: "refused";
  message: string;
}

/** Events of which time are counted. */
export type Span = { kind: "all" } | { kind: "since"; ms: number } | { kind: "last"; seconds: number };

/** What a page asks for: a picture with its spectra. */
export interface Look {
  picture: string;
  part?: [number, number, number, number];
  points: [number, number];
  slice_ns?: [number, number];
  /** From, to: along the axis that the picture does not show. */
  layers?: [number, number];
  window?: Span;
  bins?: Bins;
  vetoed?: "accepted" | "vetoed";
  /** Of frames: a period from 1, those without a veto that counts or with one, complete ones only. */
  period?: number;
  frames?: "good" | "vetoed";
  complete?: true;
  regions?: { name: string; shape: Shape; points: [number, number][] }[];
}

export type Shape = "rectangle" | "polygon";

export type Message = Hello | Status | Refused;
