/**
 * The pictures as the server sends them. All numbers are little-endian.
 *
 * | offset | bytes | content                                                                          |
 * |--------|-------|----------------------------------------------------------------------------------|
 * | 0      | 4     | "EVFV"                                                                           |
 * | 4      | 1     | version: 2                                                                       |
 * | 5      | 1     | bytes per count of the spectrum: 1, 2 or 4 (unsigned) or 8 (double)              |
 * | 6      | 2     | number of images                                                                 |
 * | 8      | 4     | number of the picture                                                            |
 * | 12     | 4     | bins of the spectrum                                                             |
 * | 16     | 16 n  | of each image: its place in the greeting's list, columns, rows, bytes per count  |
 * |        |       | the spectrum, then each image row by row from the bottom; each begins at a       |
 * |        |       | multiple of 8                                                                    |
 *
 * The encoder is crates/view/src/frame.rs.
 */

export type Counts = Uint8Array | Uint16Array | Uint32Array | Float64Array;

export interface Image {
  nx: number;
  ny: number;
  /** Counts per pixel, row by row from the bottom. */
  counts: Counts;
}

export interface Picture {
  number: number;
  /** All pictures, in the order of the greeting. */
  images: Image[];
  /** Counts per bin of time of flight. */
  spectrum: Counts;
}

const headerLength = 16;
const entryLength = 16;

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
  if (buffer.byteLength < headerLength || view.getUint32(0) !== 0x45564656 || view.getUint8(4) !== 2) {
    throw new Error("the server sent bytes that are not a picture of version 2");
  }
  const count = view.getUint16(6, true);
  const [number, bins] = [view.getUint32(8, true), view.getUint32(12, true)];
  let at = headerLength + count * entryLength;
  const take = (length: number, size: number): Counts => {
    const start = Math.ceil(at / 8) * 8;
    at = start + length * size;
    if (at > buffer.byteLength) {
      throw new Error(`the picture has ${buffer.byteLength} bytes; its header says at least ${at}`);
    }
    return countsAt(buffer, start, length, size);
  };
  const spectrum = take(bins, view.getUint8(5));
  const images = Array.from({ length: count }, (_, index) => {
    const entry = headerLength + index * entryLength;
    const [which, nx, ny, size] = [0, 4, 8, 12].map((offset) => view.getUint32(entry + offset, true));
    if (which !== index) throw new Error(`picture ${which} came where ${index} was expected`);
    return { nx, ny, counts: take(nx * ny, size) };
  });
  return { number, images, spectrum };
}
