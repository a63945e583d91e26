/** The colours of counts as canvas wants them; the tables are those of crates/picture. */

import { colourTables, emptyColour } from "./colour_table";

export type MapName = keyof typeof colourTables;

/** The maps of counts, in the order in which they are offered. */
export const mapNames: MapName[] = ["evforge", "viridis", "cividis"];

/** "rrggbb" in a 32-bit word, on little-endian machines (all that run browsers). */
function pack(hex: string): number {
  const [red, green, blue] = [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16));
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

export const steps = colourTables.evforge.length / 6;

const packed = new Map<MapName, Uint32Array>();

/** `steps` colours from few to many counts, or from less to more. */
export function colours(map: MapName): Uint32Array {
  let words = packed.get(map);
  if (!words) {
    const table = colourTables[map];
    words = Uint32Array.from({ length: steps }, (_, step) => pack(table.slice(6 * step, 6 * step + 6)));
    packed.set(map, words);
  }
  return words;
}

/** The colour of pixels without counts, for canvas and for style. */
export const emptyWord = pack(emptyColour);
export const emptyStyle = `#${emptyColour}`;
