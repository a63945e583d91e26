/** Axes of the small charts that are drawn here: a box, numbers at round values, labels. */

import { themeColour } from "./canvas";
import { tick } from "./numbers";
import type { Box } from "./plot_area";

export interface AxisScale {
  /** Values at the numbers. */
  ticks: number[];
  /** Where a value lies: 0 at the left or bottom, 1 at the right or top. */
  place(value: number): number;
  label: string;
}

const font = "12px system-ui, sans-serif";
const margin = { left: 58, top: 8, right: 10, bottom: 38 };

/** The box within the axes of a canvas. */
export function boxWithin(width: number, height: number): Box {
  return {
    left: margin.left,
    top: margin.top,
    width: Math.max(20, width - margin.left - margin.right),
    height: Math.max(20, height - margin.top - margin.bottom),
  };
}

/** Empties a canvas and gives its context, to be drawn on in CSS pixels, and its size. */
export function begin(canvas: HTMLCanvasElement): { context: CanvasRenderingContext2D; width: number; height: number } {
  const ratio = devicePixelRatio || 1;
  const [width, height] = [canvas.width / ratio, canvas.height / ratio];
  const context = canvas.getContext("2d")!;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return { context, width, height };
}

export function drawAxes(context: CanvasRenderingContext2D, box: Box, x: AxisScale, y: AxisScale): void {
  const bottom = box.top + box.height;
  context.font = font;
  context.lineWidth = 1;
  context.fillStyle = themeColour("--muted");
  context.strokeStyle = themeColour("--axis");
  context.strokeRect(box.left - 0.5, box.top - 0.5, box.width + 1, box.height + 1);
  context.textAlign = "center";
  context.textBaseline = "top";
  for (const value of x.ticks) {
    const at = box.left + x.place(value) * box.width;
    context.fillRect(at, bottom, 1, 4);
    context.fillText(tick(value), at, bottom + 6);
  }
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const value of y.ticks) {
    const at = bottom - y.place(value) * box.height;
    context.fillRect(box.left - 4, at, 4, 1);
    context.fillText(tick(value), box.left - 7, at);
  }
  context.textAlign = "center";
  context.textBaseline = "alphabetic";
  context.fillText(x.label, box.left + box.width / 2, bottom + 33);
  context.save();
  context.translate(12, box.top + box.height / 2);
  context.rotate(-Math.PI / 2);
  context.fillText(y.label, 0, 0);
  context.restore();
}
