/** The pictures of the page as one PNG, with what they are of: title, time, counts, loss. */

import { themeColour } from "./canvas";
import type { Model } from "./model";
import { framesInWords } from "./looked";
import { grouped } from "./numbers";
import { element } from "./page_elements";
import { colourOf } from "./regions";
import type { View } from "./view";

const margin = 20;
const lineHeight = 20;
const font = "14px system-ui, sans-serif";

interface Line {
  text: string;
  colour?: string;
  bold?: boolean;
}

/** Draws it. `further` are the pictures next to the large one; `words` says of which time the counts are, and whether data come in. */
export function drawSnapshot(model: Model, view: View, further: HTMLCanvasElement[], words: string[]): HTMLCanvasElement {
  const isShown = (canvas: HTMLCanvasElement) => canvas.checkVisibility() && canvas.width > 0;
  const found = ["#rate canvas", "#spectrum canvas"].flatMap((selector) => document.querySelector<HTMLCanvasElement>(selector) ?? []);
  // A picture that a view hides has no size, and takes no room.
  const canvases = [element<HTMLCanvasElement>("image"), ...found.filter(isShown)];
  const sides = further.filter(isShown);
  const ratio = devicePixelRatio || 1;
  const sizes = canvases.map(({ width, height }) => ({ width: width / ratio, height: height / ratio }));
  const [image, ...charts] = sizes;
  const below = sides.length > 0 ? lineHeight + Math.max(...sides.map((canvas) => canvas.height / ratio)) : 0;
  const right = Math.max(0, ...charts.map(({ width }) => width));
  const chartsHeight = charts.reduce((sum, { height }) => sum + height + lineHeight, 0);
  const lines = linesOf(model, view, words);
  const top = margin + lines.length * lineHeight + 10;
  const made = document.createElement("canvas");
  const width = Math.max(720, image.width + right + 3 * margin);
  made.width = Math.round(width * ratio);
  made.height = Math.round((top + Math.max(image.height + below, chartsHeight) + margin) * ratio);
  const context = made.getContext("2d")!;
  context.scale(ratio, ratio);
  context.fillStyle = themeColour("--surface");
  context.fillRect(0, 0, made.width, made.height);
  lines.forEach(({ text, colour, bold }, at) => {
    context.font = bold ? `bold ${font}` : font;
    context.fillStyle = colour ?? themeColour("--text");
    context.fillText(text, margin, margin + (at + 0.75) * lineHeight, width - 2 * margin);
  });
  if (isShown(canvases[0])) context.drawImage(canvases[0], margin, top, image.width, image.height);
  context.fillStyle = themeColour("--muted");
  context.font = font;
  let across = margin;
  for (const canvas of sides) {
    const [wide, high] = [canvas.width / ratio, canvas.height / ratio];
    context.drawImage(canvas, across, top + image.height, wide, high);
    context.fillText(canvas.nextElementSibling?.textContent ?? "", across, top + image.height + high + 0.75 * lineHeight, wide);
    across += wide + 8;
  }
  let down = top;
  for (const [at, size] of charts.entries()) {
    context.font = `bold ${font}`;
    context.fillStyle = themeColour("--text");
    const title = canvases[at + 1].closest("section")?.querySelector("h2")?.textContent ?? "";
    context.fillText(title, image.width + 2 * margin, down + 14);
    context.drawImage(canvases[at + 1], image.width + 2 * margin, down + lineHeight, size.width, size.height);
    down += size.height + lineHeight;
  }
  return made;
}

/** Offers it to the browser as a file. */
export function saveSnapshot(canvas: HTMLCanvasElement, title: string): void {
  canvas.toBlob((blob) => {
    if (!blob) return;
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    const time = isoSeconds(new Date()).replace(/[-:]/g, "");
    link.download = `${title.replace(/[^\w.-]+/g, "-")}-${time}.png`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  }, "image/png");
}

/** Read in other places than that of the browser: in UTC. */
function isoSeconds(date: Date): string {
  return `${date.toISOString().slice(0, 19)}Z`;
}

function linesOf(model: Model, view: View, words: string[]): Line[] {
  const { hello, frame, status } = model;
  const lines: Line[] = [{ text: `${hello?.title ?? "evforge"}, ${isoSeconds(new Date())}`, bold: true }];
  lines.push({ text: words.filter((word) => word !== "").join("; ") });
  if (frame && !hello?.content) {
    const { picture, events, all, seconds, pulses } = frame.head;
    const slice = view.looked.slice;
    const sliced = slice ? ` of ${grouped(all)}, time of flight ${slice[0] / 1e6} to ${slice[1] / 1e6}\u202fms` : "";
    const frames = framesInWords(view.looked);
    const ofFrames = frames ? `, of frames: ${frames}` : "";
    lines.push({ text: `${picture}: ${grouped(events)} events${sliced}${ofFrames}; ${seconds.toFixed(1)}\u202fs, ${grouped(pulses)} pulses` });
  }
  const packets = status?.ledger?.packets;
  if (packets) {
    const atLeast = packets.lost_at_least ? ` (at least ${grouped(packets.lost_at_least)})` : "";
    const lost = packets.lost === null ? `lost unknown${atLeast}` : `lost ${grouped(packets.lost)}`;
    const isBad = (packets.lost ?? packets.lost_at_least ?? 0) > 0;
    const text = `packets: received ${grouped(packets.received)}, ${lost}; unaccounted ${grouped(status.ledger?.unaccounted ?? 0)}`;
    lines.push({ text, ...(isBad ? { colour: themeColour("--bad") } : {}) });
  }
  for (const { name, events, all, pixels } of frame?.regions ?? []) {
    const index = view.looked.regions.findIndex((region) => region.name === name);
    const text = `${name}: ${grouped(events)} events in the slice, ${grouped(all)} in all, ${grouped(pixels)} pixels`;
    lines.push({ text, ...(index >= 0 ? { colour: colourOf(index) } : {}) });
  }
  return lines;
}
