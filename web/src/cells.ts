/**
 * Cells: what is coloured on the screen. A cell is one pixel of the detector, or a block of k x k pixels
 * where there are more pixels than the screen can show; it then has the mean of their counts.
 */

import type { Counts } from "./frame";

/** A part of the image in pixels: columns x0 to x1 - 1, rows y0 to y1 - 1. */
export interface Region {
  x0: number;
  y0: number;
  x1: number;
  y1: number;
}

export interface Cells {
  columns: number;
  rows: number;
  /** Pixels along the side of a block. */
  block: number;
  /** Mean counts per pixel, row by row, the **top** row (largest y) first: as a screen wants them. */
  values: Float32Array;
  largest: number;
}

/** Cells of `region`, at most about `width` x `height` of them. */
export function makeCells(
  counts: Counts, nx: number, region: Region, width: number, height: number,
): Cells {
  const [across, up] = [region.x1 - region.x0, region.y1 - region.y0];
  const block = Math.max(1, Math.ceil(Math.max(across / Math.max(1, width), up / Math.max(1, height)) - 0.01));
  const columns = Math.ceil(across / block);
  const rows = Math.ceil(up / block);
  const values = new Float32Array(columns * rows);
  let largest = 0;
  for (let row = 0; row < rows; row++) {
    const target = (rows - 1 - row) * columns;
    const yEnd = Math.min(region.y1, region.y0 + (row + 1) * block);
    for (let y = region.y0 + row * block; y < yEnd; y++) {
      const line = y * nx;
      if (block === 1) {
        for (let x = region.x0; x < region.x1; x++) values[target + x - region.x0] = counts[line + x];
        continue;
      }
      let column = target;
      for (let x = region.x0; x < region.x1; column++) {
        const xEnd = Math.min(region.x1, x + block);
        let sum = 0;
        for (; x < xEnd; x++) sum += counts[line + x];
        values[column] += sum;
      }
    }
    for (let column = 0; column < columns; column++) {
      if (block > 1) {
        const covered = Math.min(block, across - column * block) * Math.min(block, up - row * block);
        values[target + column] /= covered;
      }
      if (values[target + column] > largest) largest = values[target + column];
    }
  }
  return { columns, rows, block, values, largest };
}
