/** The regions as they lie over the picture: their lines and corners, and what of them is under the mouse. */

import type { Part } from "./cells";
import type { Region } from "./looked";
import { placeOf, type Box } from "./plot_area";
import { colourOf, cornersOf, lineOf } from "./regions";

/** How near the mouse must be, in CSS pixels. */
const near = 7;

export interface Shown {
  /** Its place in the list of all regions. */
  index: number;
  region: Region;
}

/** A part of a region under the mouse: a corner, or an edge. */
export interface Grip {
  index: number;
  corner: number | null;
}

export function drawRegions(context: CanvasRenderingContext2D, plot: Box, part: Part, shown: Shown[]): void {
  context.font = "12px system-ui, sans-serif";
  for (const { index, region } of shown) {
    const corners = cornersOf(region).map(([x, y]) => placeOf(plot, part, x, y));
    outline(context, corners, true);
    // White below the colour: it must be seen on every colour of the map.
    context.setLineDash([]);
    context.lineWidth = 4;
    context.strokeStyle = "#fff";
    context.stroke();
    context.lineWidth = 2;
    context.strokeStyle = colourOf(index);
    context.setLineDash(lineOf(index).dash);
    context.stroke();
    context.setLineDash([]);
    context.lineWidth = 1;
    for (const { left, top } of corners) {
      context.fillStyle = "#fff";
      context.fillRect(left - 4, top - 4, 8, 8);
      context.fillStyle = colourOf(index);
      context.fillRect(left - 2.5, top - 2.5, 5, 5);
    }
    const [highest] = [...corners].sort((a, b) => a.top - b.top || a.left - b.left);
    label(context, plot, region.name, highest.left, highest.top - 8);
  }
}

/** Lines of a polygon that is not closed yet, to where the mouse is. */
export function drawOpen(context: CanvasRenderingContext2D, plot: Box, part: Part, points: [number, number][]): void {
  outline(context, points.map(([x, y]) => placeOf(plot, part, x, y)), false);
  context.lineWidth = 3;
  context.strokeStyle = "#000";
  context.stroke();
  context.lineWidth = 1.5;
  context.strokeStyle = "#fff";
  context.stroke();
}

function label(context: CanvasRenderingContext2D, plot: Box, name: string, left: number, top: number): void {
  const width = context.measureText(name).width;
  const x = Math.min(plot.left + plot.width - width - 4, Math.max(plot.left + 4, left));
  const y = Math.max(plot.top + 12, top);
  context.textAlign = "left";
  context.textBaseline = "alphabetic";
  context.fillStyle = "#000b";
  context.fillRect(x - 3, y - 12, width + 6, 16);
  context.fillStyle = "#fff";
  context.fillText(name, x, y);
}

function outline(context: CanvasRenderingContext2D, corners: { left: number; top: number }[], closed: boolean): void {
  context.beginPath();
  corners.forEach(({ left, top }, at) => (at === 0 ? context.moveTo(left, top) : context.lineTo(left, top)));
  if (closed) context.closePath();
}

/** What of the regions is at this place of the canvas: those drawn last lie on top. */
export function gripAt(plot: Box, part: Part, shown: Shown[], left: number, top: number): Grip | null {
  let edge: Grip | null = null;
  for (const { index, region } of [...shown].reverse()) {
    const corners = cornersOf(region).map(([x, y]) => placeOf(plot, part, x, y));
    const corner = corners.findIndex((at) => Math.hypot(at.left - left, at.top - top) <= near);
    if (corner >= 0) return { index, corner };
    const isOnEdge = corners.some((at, number) => distance(at, corners[(number + 1) % corners.length], left, top) <= near - 2);
    if (isOnEdge) edge ??= { index, corner: null };
  }
  return edge;
}

/** From a place to the line between two others. */
function distance(a: { left: number; top: number }, b: { left: number; top: number }, left: number, top: number): number {
  const [dx, dy] = [b.left - a.left, b.top - a.top];
  const along = ((left - a.left) * dx + (top - a.top) * dy) / Math.max(1e-9, dx * dx + dy * dy);
  const held = Math.min(1, Math.max(0, along));
  return Math.hypot(a.left + held * dx - left, a.top + held * dy - top);
}
