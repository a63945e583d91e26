/** Views: what a file says becomes what the page looks at, and the other way round. */

import { nothingChosen, panelNames, type Looked, type Per, type Unit } from "./looked";
import type { MapName } from "./colours";
import type { ViewState } from "./protocol";

/** What a view shows. The server has checked it. */
export function lookedOf(view: ViewState): Looked {
  const { look } = view;
  const [picture, ...further] = view.pictures;
  const part = look.part && { x0: look.part[0], y0: look.part[1], x1: look.part[2], y1: look.part[3] };
  return {
    ...nothingChosen,
    picture,
    further,
    panels: view.panels ? panelNames.filter((name) => view.panels!.includes(name)) : null,
    part: part ?? null,
    slice: look.slice_ns ?? null,
    layer: look.layers?.[0] ?? null,
    window: look.window ?? { kind: "all" },
    regions: (look.regions ?? []).map((region) => ({ ...region, picture })),
    bins: view.bins ?? null,
    vetoed: look.vetoed ?? "all",
    period: look.period ?? null,
    frames: look.frames ?? "all",
    complete: look.complete ?? false,
    per: view.per as Per,
    corrected: view.corrected,
    log: view.log ?? null,
    map: view.map as MapName,
    top: view.top === "fixed" ? { kind: "fixed", value: view.top_value! } : { kind: view.top },
    unit: view.unit as Unit,
    flightPath: view.flight_path_m ?? null,
    twoTheta: view.two_theta_deg ?? null,
    spectrumLog: view.spectrum_log,
    zoom: view.zoom_ns ?? null,
  };
}

/** What makes a picture the large one: it changes places with the one that was. */
export function withMain(looked: Looked, before: string | null, name: string): Partial<Looked> {
  const further = looked.further.map((other) => (other === name && before !== null ? before : other));
  return { picture: name, further, part: null, layer: null };
}

/** A file with this view, as `views` of a configuration takes it. `picture` is the large one. */
export function tomlOf(looked: Looked, picture: string, name: string, hint: string): string {
  const lines: string[] = ["[[view]]"];
  const say = (key: string, value: string) => lines.push(`${key} = ${value}`);
  const { part, slice, window, top, zoom } = looked;
  say("name", text(name));
  say("hint", text(hint));
  say("pictures", list([picture, ...looked.further.filter((other) => other !== picture)].slice(0, 4).map(text)));
  if (part) say("part", list([part.x0, part.y0, part.x1, part.y1].map(String)));
  if (slice) say("slice", list(slice.map(time)));
  if (looked.layer !== null) say("layer", String(looked.layer));
  if (window.kind === "last") say("window", text(`${window.seconds}s`));
  if (looked.bins !== null) say("bins", String(looked.bins));
  if (looked.vetoed !== "all") say("vetoed", text(looked.vetoed));
  if (looked.period !== null) say("period", String(looked.period));
  if (looked.frames !== "all") say("frames", text(looked.frames));
  if (looked.complete) say("complete", "true");
  if (looked.per !== "counts") say("per", text(looked.per));
  if (looked.corrected) say("corrected", "true");
  if (looked.log !== null) say("log", String(looked.log));
  if (looked.map !== "evforge") say("map", text(looked.map));
  if (top.kind !== "maximum") say("top", top.kind === "fixed" ? decimal(top.value) : text(top.kind));
  if (looked.unit !== "tof") say("unit", text(looked.unit));
  if (looked.flightPath !== null) say("flight_path", text(`${looked.flightPath}m`));
  if (looked.twoTheta !== null) say("scattering_angle", text(`${looked.twoTheta}deg`));
  if (looked.spectrumLog) say("spectrum_log", "true");
  if (zoom && Math.round(zoom[1]) > Math.max(0, Math.round(zoom[0]))) say("zoom", list(zoom.map(time)));
  if (looked.panels) say("panels", list(looked.panels.map(text)));
  for (const region of looked.regions.filter((region) => region.picture === picture)) {
    lines.push("", "[[view.region]]");
    say("name", text(region.name));
    say("shape", text(region.shape));
    say("points", list(region.points.map((point) => list(point.map(decimal)))));
  }
  return `${lines.join("\n")}\n`;
}

/** A TOML string: what JSON writes is one, but for a character that has no name there. */
function text(value: string): string {
  return JSON.stringify(value).replace(/\u007f/g, "\\u007F");
}

function list(values: string[]): string {
  return `[${values.join(", ")}]`;
}

/** A number with a point: TOML tells whole ones from others. */
function decimal(value: number): string {
  return Number.isInteger(value) && Math.abs(value) < 1e15 ? value.toFixed(1) : String(value);
}

/** "1.5ms": a time with its unit, to the nanosecond. */
function time(ns: number): string {
  const whole = Math.max(0, Math.round(ns));
  return text(whole % 1000 === 0 ? `${whole / 1e6}ms` : `${whole}ns`);
}
