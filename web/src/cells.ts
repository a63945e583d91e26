/**
 * Cells: what is coloured on the screen. A cell is one pixel of the detector, or a block of pixels where an axis has more
 * pixels than the screen can show; it then has the mean of their counts. Each axis is binned by itself, and no more than it
 * needs: the columns of a detector with many rows stay what they are.
 */

import type { Counts } from "./frame";

/** A part of the image in pixels: columns x0 to x1 - 1, rows y0 to y1 - 1. */
export interface Region {
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

export interface Cells {
  columns: number;
  rows: number;
  block: Block;
  /** Mean counts per pixel, row by row, the **top** row (largest y) first: as a screen wants them. */
  values: Float32Array;
  largest: number;
}

/** Pixels per cell for `pixels` on `points` of the screen. Half a point too many is not seen. */
function blockFor(pixels: number, points: number): number {
  return Math.max(1, Math.ceil(pixels / Math.max(1, points) - 0.01));
}

/** Cells of `region`, at most about `width` x `height` of them. */
export function makeCells(
  counts: Counts, nx: number, region: Region, width: number, height: number,
): Cells {
  const [across, up] = [region.x1 - region.x0, region.y1 - region.y0];
  const block = { x: blockFor(across, width), y: blockFor(up, height) };
  const columns = Math.ceil(across / block.x);
  const rows = Math.ceil(up / block.y);
  const values = new Float32Array(columns * rows);
  let largest = 0;
  for (let row = 0; row < rows; row++) {
    const target = (rows - 1 - row) * columns;
    const yEnd = Math.min(region.y1, region.y0 + (row + 1) * block.y);
    for (let y = region.y0 + row * block.y; y < yEnd; y++) {
      const line = y * nx;
      let column = target;
      for (let x = region.x0; x < region.x1; column++) {
        const xEnd = Math.min(region.x1, x + block.x);
        let sum = 0;
        for (; x < xEnd; x++) sum += counts[line + x];
        values[column] += sum;
      }
    }
    const covered = Math.min(block.y, up - row * block.y);
    for (let column = 0; column < columns; column++) {
      values[target + column] /= covered * Math.min(block.x, across - column * block.x);
      if (values[target + column] > largest) largest = values[target + column];
    }
  }
  return { columns, rows, block, values, largest };
}
