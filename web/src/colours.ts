/**
 * The colours of counts: from dark blue over teal to pale yellow, brighter for more in even steps for the
 * eye, readable without red and green. Few colours are given; those between are mixed in OKLab.
 */

/** Pixels without counts. */
export const emptyColour: Rgb = [9, 10, 24];

type Rgb = [number, number, number];

const given: Rgb[] = [
  [28, 26, 74],
  [44, 62, 140],
  [30, 112, 158],
  [24, 158, 140],
  [118, 196, 84],
  [226, 214, 76],
  [255, 248, 208],
];

function toLinear(channel: number): number {
  const value = channel / 255;
  return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
}

function fromLinear(value: number): number {
  const channel = value <= 0.0031308 ? value * 12.92 : 1.055 * value ** (1 / 2.4) - 0.055;
  return Math.round(Math.min(1, Math.max(0, channel)) * 255);
}

function toOklab([red, green, blue]: Rgb): Rgb {
  const [r, g, b] = [toLinear(red), toLinear(green), toLinear(blue)];
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}

function fromOklab([lightness, a, b]: Rgb): Rgb {
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    fromLinear(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
    fromLinear(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
    fromLinear(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s),
  ];
}

/** Pixels as canvas wants them in a 32-bit word, on little-endian machines (all that run browsers). */
function pack([red, green, blue]: Rgb): number {
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

export const steps = 256;

/** `steps` colours from few to many counts. */
export const colours: Uint32Array = (() => {
  const mixed = given.map(toOklab);
  const table = new Uint32Array(steps);
  for (let step = 0; step < steps; step++) {
    const position = (step / (steps - 1)) * (mixed.length - 1);
    const index = Math.min(mixed.length - 2, Math.floor(position));
    const part = position - index;
    const [low, high] = [mixed[index], mixed[index + 1]];
    table[step] = pack(fromOklab(low.map((value, at) => value + (high[at] - value) * part) as Rgb));
  }
  return table;
})();

export const emptyWord = pack(emptyColour);
