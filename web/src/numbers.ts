/** Numbers for people. */

/** A whole number in groups of three digits, with narrow spaces that do not break. */
export function grouped(value: number): string {
  return Math.round(value).toString().replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

/** Three digits and a prefix: "12.3 M". */
export function scaled(value: number): string {
  const steps: [number, string][] = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];
  for (const [size, prefix] of steps) {
    if (Math.abs(value) >= size * 0.9995) return `${(value / size).toPrecision(3)}\u202f${prefix}`;
  }
  if (value === 0 || Number.isInteger(value)) return value.toString();
  return Math.abs(value) >= 0.01 ? value.toPrecision(Math.abs(value) >= 100 ? 3 : 2) : value.toExponential(1);
}

/** A short number for an axis: "0", "500", "1.5k", "20M". */
export function tick(value: number): string {
  const steps: [number, string][] = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];
  for (const [size, prefix] of steps) {
    if (Math.abs(value) >= size) return `${Number((value / size).toPrecision(6))}${prefix}`;
  }
  // Many zeros take more room than a power of ten.
  if (value !== 0 && Math.abs(value) < 0.001) return value.toExponential(1).replace(".0e", "e");
  return Number(value.toPrecision(6)).toString();
}

/** A count that may not be known: "–" is not 0. */
export function known(value: number | null): string {
  return value === null ? "–" : grouped(value);
}

/** A small share: "3.0e-6". */
export function share(value: number): string {
  return value.toExponential(1).replace("e+0", "");
}

/** How long: "0.2 s", "12 s", "3 min", "2 h"; or in whole seconds. */
export function duration(milliseconds: number, whole = false): string {
  const seconds = Math.max(0, milliseconds) / 1000;
  if (whole && seconds < 99.5) return `${Math.round(seconds)}\u202fs`;
  if (seconds < 9.95) return `${seconds.toFixed(1)}\u202fs`;
  if (seconds < 99.5) return `${Math.round(seconds)}\u202fs`;
  if (seconds < 5970) return `${Math.round(seconds / 60)}\u202fmin`;
  return `${(seconds / 3600).toFixed(1)}\u202fh`;
}

/** Time of day: "14:03:27". */
export function clock(unixMilliseconds: number): string {
  return new Date(unixMilliseconds).toLocaleTimeString([], { hour12: false });
}

/** The step from 1, 2, 5, 10, … that divides `span` into at most `most` parts. */
export function roundStep(span: number, most: number): number {
  const raw = span / Math.max(1, most);
  const decade = 10 ** Math.floor(Math.log10(raw));
  const factor = [1, 2, 5, 10].find((candidate) => candidate * decade >= raw * 0.999999) ?? 10;
  return factor * decade;
}
