/** The colours of counts as canvas wants them; the table is that of crates/picture. */

import { colourTable, emptyColour } from "./colour_table";

/** "rrggbb" in a 32-bit word, on little-endian machines (all that run browsers). */
function pack(hex: string): number {
  const [red, green, blue] = [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16));
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

export const steps = colourTable.length / 6;

/** `steps` colours from few to many counts. */
export const colours = Uint32Array.from({ length: steps }, (_, step) => pack(colourTable.slice(6 * step, 6 * step + 6)));

/** The colour of pixels without counts, for canvas and for style. */
export const emptyWord = pack(emptyColour);
export const emptyStyle = `#${emptyColour}`;
