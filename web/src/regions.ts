/** Regions: names, colours, and corners as numbers and as text. */

import { themeColour } from "./canvas";
import type { Region } from "./looked";
import type { Shape } from "./protocol";

export const mostRegions = 16;
export const mostCorners = 64;

/** Colours that can be told apart without telling red from green; after them the lines are dashed. Style.css has them. */
const colourCount = 6;
const dashes = [[], [7, 3], [2, 3]];

/** How the line of the region at this place of the list looks, on the picture and in the chart. */
export function lineOf(index: number): { colour: string; dash: number[] } {
  return { colour: `--region-${index % colourCount}`, dash: dashes[Math.floor(index / colourCount) % dashes.length] };
}

/** A name that no region has. */
export function freeName(regions: Region[]): string {
  for (let number = 1; ; number++) {
    const name = `region ${number}`;
    if (!regions.some((region) => region.name === name)) return name;
  }
}

/** Corners as they are drawn: a rectangle has two in the list and four on the screen. */
export function cornersOf({ shape, points }: Pick<Region, "shape" | "points">): [number, number][] {
  if (shape === "polygon") return points;
  const [[x0, y0], [x1, y1]] = points;
  return [[x0, y0], [x1, y0], [x1, y1], [x0, y1]];
}

/** A rectangle of whole pixels between two places; it has at least one pixel. */
export function rectangleBetween(a: [number, number], b: [number, number], size: [number, number]): [number, number][] {
  const side = (axis: 0 | 1): [number, number] => {
    const low = Math.min(size[axis] - 1, Math.max(0, Math.floor(Math.min(a[axis], b[axis]))));
    const high = Math.min(size[axis], Math.max(low + 1, Math.ceil(Math.max(a[axis], b[axis]))));
    return [low, high];
  };
  const [[x0, x1], [y0, y1]] = [side(0), side(1)];
  return [[x0, y0], [x1, y1]];
}

/** A rectangle whose corner `corner` (as drawn) is pulled to the nearest border between pixels. */
function pulled(points: [number, number][], corner: number, to: [number, number], size: [number, number]): [number, number][] {
  const [[x0, y0], [x1, y1]] = points;
  const held: [number, number] = [[x1, y1], [x0, y1], [x0, y0], [x1, y0]][corner] as [number, number];
  const at = (axis: 0 | 1) => {
    const value = Math.min(size[axis], Math.max(0, Math.round(to[axis])));
    if (value !== held[axis]) return value;
    return value < size[axis] ? value + 1 : value - 1;
  };
  return rectangleBetween(held, [at(0), at(1)], size);
}

/** The region with a corner moved to a place in pixels. */
export function withCorner(region: Region, corner: number, to: [number, number], size: [number, number]): Region {
  if (region.shape === "rectangle") return { ...region, points: pulled(region.points, corner, to, size) };
  const held: [number, number] = [rounded(within(to[0], size[0])), rounded(within(to[1], size[1]))];
  return { ...region, points: region.points.map((point, at) => (at === corner ? held : point)) };
}

/** The region moved by some pixels, as far as the picture goes. */
export function movedBy(region: Region, by: [number, number], size: [number, number]): Region {
  const whole = region.shape === "rectangle" ? [Math.round(by[0]), Math.round(by[1])] : by;
  const step = ([0, 1] as const).map((axis) => {
    const values = region.points.map((point) => point[axis]);
    return Math.min(size[axis] - Math.max(...values), Math.max(-Math.min(...values), whole[axis]));
  });
  return { ...region, points: region.points.map(([x, y]) => [rounded(x + step[0]), rounded(y + step[1])]) };
}

/** "10,20 40,60" */
export function pointsText(points: [number, number][]): string {
  return points.map(([x, y]) => `${x},${y}`).join(" ");
}

/** Corners out of text; a reason in words if it has none. */
export function pointsFrom(text: string, shape: Shape, size: [number, number]): [number, number][] | string {
  const points = text.trim().split(/\s+/).map((pair) => pair.split(",").map(Number));
  if (!points.every((pair) => pair.length === 2 && pair.every(Number.isFinite))) return "give corners as x,y with spaces between them";
  if (!points.every(([x, y]) => x >= 0 && y >= 0 && x <= size[0] && y <= size[1])) {
    return `corners lie between 0,0 and ${size.join()}`;
  }
  const found = points as [number, number][];
  if (shape === "polygon") {
    if (found.length < 3 || found.length > mostCorners) return `a polygon has 3 to ${mostCorners} corners`;
    return found;
  }
  const isRectangle = found.length === 2 && found.flat().every(Number.isInteger) && found[0].every((low, axis) => low < found[1][axis]);
  return isRectangle ? found : "a rectangle has its lower left pixel and the one beyond its upper right, in whole numbers";
}

/** The colour of a region's line now. */
export function colourOf(index: number): string {
  return themeColour(lineOf(index).colour);
}

function within(value: number, size: number): number {
  return Math.min(size, Math.max(0, value));
}

/** Tenths of a pixel are as fine as a hand is. */
export function rounded(value: number): number {
  return Number(value.toFixed(1));
}
