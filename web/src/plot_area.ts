/** Where things are in the image's canvas: plot, axes and colour bar. All in CSS pixels. */

import type { Part } from "./cells";

export interface Box {
  left: number;
  top: number;
  width: number;
  height: number;
}

/** Where a place in pixels lies in the canvas. */
export function placeOf(plot: Box, part: Part, x: number, y: number): { left: number; top: number } {
  return {
    left: plot.left + ((x - part.x0) / (part.x1 - part.x0)) * plot.width,
    top: plot.top + (1 - (y - part.y0) / (part.y1 - part.y0)) * plot.height,
  };
}

/** The place in pixels, with fractions, of a point of the canvas; held within `part`. */
export function pixelsAt(plot: Box, part: Part, left: number, top: number): [number, number] {
  const across = Math.min(1, Math.max(0, (left - plot.left) / plot.width));
  const up = Math.min(1, Math.max(0, 1 - (top - plot.top) / plot.height));
  return [part.x0 + across * (part.x1 - part.x0), part.y0 + up * (part.y1 - part.y0)];
}

const margin = { left: 48, top: 18, right: 90, bottom: 40 };
const barWidth = 14;
const emptyHeight = 12;
/** The true shape would leave so much of the height or width empty that pixels are stretched instead. */
const emptiest = 0.4;

export interface Layout {
  plot: Box;
  bar: Box;
  /** The box with the colour of nothing, below the bar. */
  empty: Box;
  /** True if the picture has the shape of the detector, or of its grid where that is not known. */
  inShape: boolean;
}

interface Size {
  width: number;
  height: number;
}

/** How large `part` is in `room`: in its shape, unless that would leave most of it empty. */
export function fitted({ width, height }: Size, part: Part, wider: number): { size: Size; inShape: boolean } {
  const [across, up] = [(part.x1 - part.x0) * wider, part.y1 - part.y0];
  const scale = Math.min(width / across, height / up);
  const size = { width: across * scale, height: up * scale };
  const inShape = size.width >= emptiest * width && size.height >= emptiest * height;
  return { size: inShape ? size : { width, height }, inShape };
}

/** Lays out a canvas of `width` x `height` for `part`, whose pixels are `wider` times as wide as high. */
export function layOut(width: number, height: number, part: Part, wider = 1): Layout {
  const room = {
    width: Math.max(20, width - margin.left - margin.right),
    height: Math.max(20, height - margin.top - margin.bottom),
  };
  const { size, inShape } = fitted(room, part, wider);
  const plot = { left: margin.left, top: margin.top, ...size };
  // In a canvas higher than the image, the image sits in the middle.
  plot.top += (room.height - size.height) / 2;
  plot.left += (room.width - size.width) / 2;
  const bar = { left: plot.left + plot.width + 16, top: plot.top, width: barWidth, height: plot.height - emptyHeight - 6 };
  const empty = { ...bar, top: plot.top + plot.height - emptyHeight, height: emptyHeight };
  return { plot, bar, empty, inShape };
}

/** The pixel at a place of the canvas, or null outside the plot. Row 0 is at the bottom. */
export function pixelAt(plot: Box, part: Part, left: number, top: number): { x: number; y: number } | null {
  const across = (left - plot.left) / plot.width;
  const up = 1 - (top - plot.top) / plot.height;
  if (across < 0 || across >= 1 || up < 0 || up >= 1) return null;
  return {
    x: part.x0 + Math.floor(across * (part.x1 - part.x0)),
    y: part.y0 + Math.floor(up * (part.y1 - part.y0)),
  };
}
