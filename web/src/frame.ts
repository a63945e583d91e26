/**
 * The picture as the server sends it. All numbers are little-endian.
 *
 * | offset | bytes | content                                                                          |
 * |--------|-------|----------------------------------------------------------------------------------|
 * | 0      | 4     | "EVFV"                                                                           |
 * | 4      | 1     | version: 1                                                                       |
 * | 5      | 1     | bytes per count of the image: 1, 2 or 4 (unsigned) or 8 (double)                 |
 * | 6      | 1     | bytes per count of the spectrum: likewise                                        |
 * | 7      | 1     | 0                                                                                |
 * | 8      | 4     | number of the picture                                                            |
 * | 12     | 4     | nx: columns                                                                      |
 * | 16     | 4     | ny: rows                                                                         |
 * | 20     | 4     | bins of the spectrum                                                             |
 * | 24     | 8     | 0                                                                                |
 * | 32     |       | the spectrum, zeros up to a multiple of 8, the image: row by row from y = 0      |
 *
 * The encoder is crates/view/src/frame.rs.
 */

export type Counts = Uint8Array | Uint16Array | Uint32Array | Float64Array;

export interface Picture {
  number: number;
  nx: number;
  ny: number;
  /** Counts per pixel, row by row from y = 0. */
  counts: Counts;
  /** Counts per bin of time of flight. */
  spectrum: Counts;
}

const headerLength = 32;

function countsAt(buffer: ArrayBuffer, start: number, length: number, size: number): Counts {
  switch (size) {
    case 1: return new Uint8Array(buffer, start, length);
    case 2: return new Uint16Array(buffer, start, length);
    case 4: return new Uint32Array(buffer, start, length);
    case 8: return new Float64Array(buffer, start, length);
    default: throw new Error(`the picture has counts of ${size} bytes; expected were 1, 2, 4 or 8`);
  }
}

/** Lays arrays over the bytes of a frame; nothing is copied. Throws if they are not a frame. */
export function decode(buffer: ArrayBuffer): Picture {
  const view = new DataView(buffer);
  if (buffer.byteLength < headerLength || view.getUint32(0) !== 0x45564656 || view.getUint8(4) !== 1) {
    throw new Error("the server sent bytes that are not a picture of version 1");
  }
  const imageSize = view.getUint8(5);
  const spectrumSize = view.getUint8(6);
  const [number, nx, ny, bins] = [8, 12, 16, 20].map((offset) => view.getUint32(offset, true));
  const imageStart = Math.ceil((headerLength + bins * spectrumSize) / 8) * 8;
  const expected = imageStart + nx * ny * imageSize;
  if (buffer.byteLength !== expected) {
    throw new Error(`the picture has ${buffer.byteLength} bytes; its header says ${expected}`);
  }
  return {
    number,
    nx,
    ny,
    counts: countsAt(buffer, imageStart, nx * ny, imageSize),
    spectrum: countsAt(buffer, headerLength, bins, spectrumSize),
  };
}
