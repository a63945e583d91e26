/**
 * The frame of a look as the server sends it. All numbers are little-endian.
 *
 * | offset | bytes | content                                                                            |
 * |--------|-------|------------------------------------------------------------------------------------|
 * | 0      | 4     | "EVFV"                                                                             |
 * | 4      | 1     | version: 3                                                                         |
 * | 5      | 1     | coding of what follows from byte 16 on: 0 plain, 1 deflate without a header        |
 * | 8      | 4     | number of the frame                                                                |
 * | 12     | 4     | bytes of the body when it is inflated                                              |
 * | 16     |       | body: length of its head (4 bytes), 4 zeros, the head (JSON), then the arrays that |
 * |        |       | the head names: spectrum, spectra of the regions, image row by row from the        |
 * |        |       | bottom; each begins at a multiple of 8 of the body                                 |
 *
 * The encoder is crates/view/src/frame.rs.
 */

import type { Counts, Sums } from "./cells";

type Coding = "u1" | "u2" | "u4" | "f8";

export interface Bins {
  from_ns: number;
  width_ns: number;
  count: number;
}

/** What the head of a frame says of a region. */
interface RegionHead {
  name: string;
  pixels: number;
  /** Events in the slice, and in the window without it. */
  events: number;
  all: number;
  spectrum: Coding;
}

export interface Head {
  picture: string;
  part: [number, number, number, number];
  block: [number, number];
  nx: number;
  ny: number;
  /** Every event from then on is in it, in Unix milliseconds. */
  since_ms: number;
  /** Events that are not in it though they should be. */
  missed: number;
  /** Length of the window in seconds, and pulses in it. */
  seconds: number;
  pulses: number;
  /** Proton charge in the window in µAh; absent where none is told. */
  charge_uah?: number;
  /** Events in the picture (with the slice), and in the window without it. */
  events: number;
  all: number;
  /** Events of beam monitors in the window; absent without any. */
  monitors?: Record<string, number>;
  bins: Bins;
  spectrum: Coding;
  regions: RegionHead[];
  image: Coding;
}

export interface RegionCounts extends Omit<RegionHead, "spectrum"> {
  spectrum: Counts;
}

export interface Frame {
  number: number;
  head: Head;
  /** Counts per bin of time of flight. */
  spectrum: Counts;
  regions: RegionCounts[];
  image: Sums;
}

const headerLength = 16;

function countsAt(buffer: ArrayBuffer, start: number, length: number, coding: Coding): Counts {
  switch (coding) {
    case "u1": return new Uint8Array(buffer, start, length);
    case "u2": return new Uint16Array(buffer, start, length);
    case "u4": return new Uint32Array(buffer, start, length);
    case "f8": return new Float64Array(buffer, start, length);
    default: throw new Error(`the frame has counts coded as ${coding}; expected were u1, u2, u4 or f8`);
  }
}

async function inflate(bytes: Uint8Array<ArrayBuffer>): Promise<ArrayBuffer> {
  const inflated = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Response(inflated).arrayBuffer();
}

/** Lays arrays over the bytes of a frame, after inflating them. Throws if they are not a frame. */
export async function decode(buffer: ArrayBuffer): Promise<Frame> {
  const view = new DataView(buffer);
  if (buffer.byteLength < headerLength || view.getUint32(0) !== 0x45564656 || view.getUint8(4) !== 3) {
    throw new Error("the server sent bytes that are not a frame of version 3");
  }
  const [coding, number, length] = [view.getUint8(5), view.getUint32(8, true), view.getUint32(12, true)];
  const body = coding === 1 ? await inflate(new Uint8Array(buffer, headerLength)) : buffer.slice(headerLength);
  if (body.byteLength !== length) {
    throw new Error(`the frame has a body of ${body.byteLength} bytes; its header says ${length}`);
  }
  const headLength = new DataView(body).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(body, 8, headLength))) as Head;
  let at = 8 + headLength;
  const take = (count: number, coded: Coding): Counts => {
    const start = Math.ceil(at / 8) * 8;
    at = start + count * Number(coded.slice(1));
    if (at > length) throw new Error(`the frame has ${length} bytes; its head says at least ${at}`);
    return countsAt(body, start, count, coded);
  };
  const spectrum = take(head.bins.count, head.spectrum);
  const regions = head.regions.map((region) => ({ ...region, spectrum: take(head.bins.count, region.spectrum) }));
  const counts = take(head.nx * head.ny, head.image);
  const [x0, y0, x1, y1] = head.part;
  const [x, y] = head.block;
  const image = { part: { x0, y0, x1, y1 }, block: { x, y }, columns: head.nx, rows: head.ny, counts };
  return { number, head, spectrum, regions, image };
}
