/**
 * Cells: what is coloured on the screen. A cell is one pixel of the detector, or a block of pixels where an axis has more
 * pixels than the screen can show; it then has the mean of their counts. The server sums the blocks (crates/picture/src/binning.rs
 * has the rule); here the sums become what a screen wants.
 */

export type Counts = Uint8Array | Uint16Array | Uint32Array | Float64Array;

/** A part of the image in pixels: columns x0 to x1 - 1, rows y0 to y1 - 1. */
export interface Part {
  x0: number;
  y0: number;
  x1: number;
  y1: number;
}

/** Pixels that share a cell: in a row, and in a column. */
export interface Block {
  x: number;
  y: number;
}

/** Sums over blocks of pixels of a part, row by row from the bottom. Blocks at the right and the top may have fewer pixels. */
export interface Sums {
  part: Part;
  block: Block;
  columns: number;
  rows: number;
  counts: Counts;
}

export interface Cells {
  /** Values per pixel, row by row, the **top** row (largest y) first: as a screen wants them. NaN where there is none. */
  values: Float32Array;
  largest: number;
}

/** Pixels of the cell in this column and row, counted from the left and the bottom. */
export function pixelsOf({ part, block }: Sums, column: number, row: number): Part {
  const [x0, y0] = [part.x0 + column * block.x, part.y0 + row * block.y];
  return { x0, y0, x1: Math.min(part.x1, x0 + block.x), y1: Math.min(part.y1, y0 + block.y) };
}

export function area({ x0, y0, x1, y1 }: Part): number {
  return (x1 - x0) * (y1 - y0);
}

/** The cell of a pixel; null if the sums do not have it. */
export function cellAt({ part, block }: Sums, x: number, y: number): { column: number; row: number } | null {
  if (x < part.x0 || x >= part.x1 || y < part.y0 || y >= part.y1) return null;
  return { column: Math.floor((x - part.x0) / block.x), row: Math.floor((y - part.y0) / block.y) };
}

/** Means per pixel times `factor`. `also` changes each of them, given its place in `sums`. */
export function makeCells(sums: Sums, factor: number, also?: (value: number, at: number) => number): Cells {
  const { columns, rows, counts, part, block } = sums;
  const values = new Float32Array(columns * rows);
  let largest = 0;
  for (let row = 0; row < rows; row++) {
    const high = Math.min(block.y, part.y1 - part.y0 - row * block.y);
    const target = (rows - 1 - row) * columns;
    for (let column = 0; column < columns; column++) {
      const wide = Math.min(block.x, part.x1 - part.x0 - column * block.x);
      const at = row * columns + column;
      let value = (counts[at] * factor) / (wide * high);
      if (also) value = also(value, at);
      values[target + column] = value;
      if (value > largest) largest = value;
    }
  }
  return { values, largest };
}

/** Sums over the same blocks of a whole image, for a comparison with `like`. */
export function sumLike(image: Counts, nx: number, like: Sums): Float64Array {
  const { columns, rows, part, block } = like;
  const sums = new Float64Array(columns * rows);
  for (let y = part.y0; y < part.y1; y++) {
    const target = Math.floor((y - part.y0) / block.y) * columns;
    for (let x = part.x0; x < part.x1; x++) sums[target + Math.floor((x - part.x0) / block.x)] += image[y * nx + x];
  }
  return sums;
}
