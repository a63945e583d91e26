/**
 * What the page looks at, as the part of its address behind the #: `picture=xy&part=0,0,64,64&slice=1000000,2000000&…`.
 * With a view, `view=NAME`, the address has only what differs from it: a key without a value is what the page has without a view.
 * Values that are not understood are left out: an address is written by people, too.
 */

import { mapNames, type MapName } from "./colours";
import type { Span } from "./protocol";
import { nothingChosen, panelNames, type Looked, type PanelName, type Per, type Region, type Top, type Unit } from "./looked";

/** No more regions and corners than a server takes. */
const mostRegions = 16;
const mostCorners = 64;
/** Smaller pictures: a browser may ask for eight in all. */
const mostBeside = 7;

/** Between regions, and between the parts of one; names are encoded, so that they have neither. */
const [between, within] = ["|", ";"];

/** What else an address says is somebody else's, and stays in it. */
const keys = [
  "picture", "with", "panels", "part", "slice", "layer", "window", "regions", "bins", "vetoed", "period", "frames", "complete", "per", "corrected", "compare",
  "log", "map", "top", "unit", "path", "angle", "spectrum", "tof",
] as const;

type Key = (typeof keys)[number];

/** The key of a view's name. */
const viewKey = "view";

/** The name of the view that an address is of; null for none. */
export function viewIn(hash: string): string | null {
  return new URLSearchParams(hash.replace(/^#/, "")).get(viewKey) || null;
}

/** What differs from a page on which nothing was chosen, as text. */
function texts(looked: Looked): Record<Key, string | null> {
  const { part, slice, window, regions, top, zoom } = looked;
  const values: Record<Key, string | number | null> = {
    picture: looked.picture,
    with: looked.further.length > 0 ? looked.further.map(encodeURIComponent).join(within) : null,
    panels: looked.panels && looked.panels.join(),
    part: part && `${part.x0},${part.y0},${part.x1},${part.y1}`,
    slice: slice && slice.join(),
    layer: looked.layer,
    window: window.kind === "all" ? null : window.kind === "since" ? `since:${window.ms}` : `last:${window.seconds}`,
    regions: regions.length > 0 ? regions.map(regionText).join(between) : null,
    bins: looked.bins,
    vetoed: looked.vetoed === "all" ? null : looked.vetoed,
    period: looked.period,
    frames: looked.frames === "all" ? null : looked.frames,
    complete: looked.complete ? 1 : null,
    per: looked.per === "counts" ? null : looked.per,
    corrected: looked.corrected ? 1 : null,
    compare: looked.compare === "none" ? null : looked.compare,
    log: looked.log === null ? null : Number(looked.log),
    map: looked.map === "evforge" ? null : looked.map,
    top: top.kind === "maximum" ? null : top.kind === "fixed" ? top.value : top.kind,
    unit: looked.unit === "tof" ? null : looked.unit,
    path: looked.flightPath,
    angle: looked.twoTheta,
    spectrum: looked.spectrumLog ? "log" : null,
    tof: zoom && zoom.join(),
  };
  const text = (key: Key): [Key, string | null] => [key, values[key] === null ? null : String(values[key])];
  return Object.fromEntries(keys.map(text)) as Record<Key, string | null>;
}

/** Whether a page shows the same with both. */
export function isSame(one: Looked, other: Looked): boolean {
  const [a, b] = [texts(one), texts(other)];
  return keys.every((key) => a[key] === b[key]);
}

/**
 * The part behind the # with `looked` in the place of what `hash` says of it; empty if there is nothing to say. `base` is what the
 * view `name` shows.
 */
export function toAddress(looked: Looked, hash: string, name: string | null, base: Looked): string {
  const [values, known] = [texts(looked), texts(base)];
  const differ = keys.filter((key) => values[key] !== known[key]);
  const said = differ.map((key) => `${key}=${encoded(values[key] ?? "")}`);
  if (name !== null) said.unshift(`${viewKey}=${encoded(name)}`);
  const isOwn = (key: string) => key === viewKey || (keys as readonly string[]).includes(key);
  const others = hash.replace(/^#/, "").split("&").filter((one) => one !== "" && !isOwn(one.split("=")[0]));
  const all = [...said, ...others];
  return all.length > 0 ? `#${all.join("&")}` : "";
}

/** What an address says, and `base` of what it does not say. */
export function fromAddress(hash: string, base: Looked): Looked {
  const said = new URLSearchParams(hash.replace(/^#/, ""));
  const known = texts(base);
  const get = (key: Key) => (said.has(key) ? said.get(key) || null : known[key]);
  const looked: Looked = { ...nothingChosen, picture: get("picture"), regions: regionsOf(get("regions")) };
  looked.further = besideOf(get("with"));
  looked.panels = panelsOf(get("panels"));
  const part = numbers(get("part"), 4);
  if (part && isPart(part)) looked.part = { x0: part[0], y0: part[1], x1: part[2], y1: part[3] };
  const slice = numbers(get("slice"), 2);
  if (slice && slice[0] < slice[1] && slice[0] >= 0) looked.slice = [Math.round(slice[0]), Math.round(slice[1])];
  const zoom = numbers(get("tof"), 2);
  if (zoom && zoom[0] < zoom[1]) looked.zoom = [zoom[0], zoom[1]];
  const layer = get("layer");
  if (layer !== null && /^\d{1,6}$/.test(layer)) looked.layer = Number(layer);
  looked.window = spanOf(get("window"));
  const bins = Number(get("bins"));
  if (bins >= 1 && Number.isInteger(bins)) looked.bins = bins;
  const vetoed = get("vetoed");
  if (vetoed === "accepted" || vetoed === "vetoed") looked.vetoed = vetoed;
  const period = get("period");
  if (period !== null && /^[1-9]\d{0,8}$/.test(period)) looked.period = Number(period);
  const frames = get("frames");
  if (frames === "good" || frames === "vetoed") looked.frames = frames;
  looked.complete = get("complete") === "1";
  const per = get("per");
  if (per === "second" || per === "pulse" || per === "charge" || per?.startsWith("monitor:")) looked.per = per as Per;
  looked.corrected = get("corrected") === "1";
  const compare = get("compare");
  if (compare === "difference" || compare === "ratio") looked.compare = compare;
  const log = get("log");
  if (log === "0" || log === "1") looked.log = log === "1";
  if (mapNames.includes(get("map") as MapName)) looked.map = get("map") as MapName;
  looked.top = topOf(get("top"));
  const unit = get("unit");
  if (unit === "wavelength" || unit === "energy" || unit === "d") looked.unit = unit satisfies Unit;
  looked.flightPath = positive(get("path"));
  const angle = positive(get("angle"));
  looked.twoTheta = angle !== null && angle <= 180 ? angle : null;
  looked.spectrumLog = get("spectrum") === "log";
  return looked;
}

/** Commas, colons and the like stay readable. */
function encoded(value: string): string {
  return encodeURIComponent(value).replace(/%(2C|3A|3B)/g, (code) => decodeURIComponent(code));
}

function regionText({ picture, name, shape, points }: Region): string {
  return [encodeURIComponent(picture), encodeURIComponent(name), shape, ...points.map((point) => point.join())].join(within);
}

function regionsOf(text: string | null): Region[] {
  const found: Region[] = [];
  for (const one of (text ?? "").split(between).slice(0, mostRegions)) {
    const [picture, name, shape, ...corners] = one.split(within);
    const points = corners.slice(0, mostCorners).map((corner) => numbers(corner, 2) as [number, number] | null);
    const isShape = (shape === "rectangle" && points.length === 2) || (shape === "polygon" && points.length >= 3);
    if (!isShape || !points.every((point) => point !== null)) continue;
    try {
      found.push({ picture: decodeURIComponent(picture), name: decodeURIComponent(name).slice(0, 40), shape, points });
    } catch {
      // A name that is not encoded as it must be is not one.
    }
  }
  return found;
}

function besideOf(text: string | null): string[] {
  const names = new Set<string>();
  for (const name of (text ?? "").split(within).filter((name) => name !== "")) {
    try {
      names.add(decodeURIComponent(name));
    } catch {
      // A name that is not encoded as it must be is not one.
    }
  }
  return [...names].slice(0, mostBeside);
}

function panelsOf(text: string | null): PanelName[] | null {
  const said = (text ?? "").split(",");
  const known = panelNames.filter((name) => said.includes(name));
  return known.length > 0 ? known : null;
}

function spanOf(text: string | null): Span {
  const [kind, value] = (text ?? "all").split(":");
  const number = Number(value);
  if (kind === "since" && number > 0) return { kind, ms: Math.round(number) };
  if (kind === "last" && number >= 1 && number <= 3600) return { kind, seconds: Math.round(number) };
  return { kind: "all" };
}

function topOf(text: string | null): Top {
  if (text === "quantile") return { kind: "quantile" };
  const value = positive(text);
  return value === null ? { kind: "maximum" } : { kind: "fixed", value };
}

function positive(text: string | null): number | null {
  const value = Number(text ?? NaN);
  return value > 0 && Number.isFinite(value) ? value : null;
}

function isPart(part: number[]): boolean {
  const [x0, y0, x1, y1] = part;
  return part.every((value) => Number.isInteger(value) && value >= 0) && x0 < x1 && y0 < y1;
}

/** `count` numbers with commas between them; null if they are not. */
function numbers(text: string | null, count: number): number[] | null {
  if (text === null || text === "") return null;
  const values = text.split(",").map(Number);
  return values.length === count && values.every(Number.isFinite) ? values : null;
}

