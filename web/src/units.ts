/** Time of flight as what people think in: wavelength, energy, spacing of planes. Constants: CODATA 2018. */

import type { Unit } from "./looked";

const planck = 6.62607015e-34;
const neutronMass = 1.67492749804e-27;
const joulePerMeV = 1.602176634e-22;

/** Å per nanosecond of flight and metre of path, divided by the path: wavelength = h t / (m L). */
const angstromPerNsM = (planck / neutronMass) * 1e-9 * 1e10;

export interface Scaling {
  unit: Unit;
  /** What an axis is called: "wavelength (Å)", and the unit alone. */
  label: string;
  symbol: string;
  /** True if the values fall with time of flight. */
  falls: boolean;
  fromNs(ns: number): number;
  toNs(value: number): number;
}

/** Why a unit cannot be shown, in words; null if it can. */
export function lacks(unit: Unit, path: number | null, angle: number | null): string | null {
  if (unit !== "tof" && path === null) return "give the flight path from the moderator to the detector";
  if (unit === "d" && angle === null) return "give the angle of scattering, 2θ";
  return null;
}

/** The scaling of `unit`; time of flight if the path or the angle for it is missing. `longest` is the longest time shown. */
export function scaling(unit: Unit, path: number | null, angle: number | null, longest: number): Scaling {
  if (lacks(unit, path, angle) !== null || unit === "tof") return ofTime(longest);
  const wavelength = angstromPerNsM / path!;
  if (unit === "wavelength") return linear(unit, "wavelength (Å)", "Å", wavelength);
  if (unit === "d") return linear(unit, "d-spacing (Å)", "Å", wavelength / (2 * Math.sin((angle! * Math.PI) / 360)));
  // E = m v² / 2, and v = L / t.
  const factor = (0.5 * neutronMass * path! * path! * 1e18) / joulePerMeV;
  return {
    unit,
    label: "energy (meV)",
    symbol: "meV",
    falls: true,
    fromNs: (ns) => factor / (ns * ns),
    toNs: (value) => Math.sqrt(factor / value),
  };
}

function ofTime(longest: number): Scaling {
  const [symbol, ns] = longest >= 5e9 ? ["s", 1e9] : longest >= 5e6 ? ["ms", 1e6] : longest >= 5e3 ? ["µs", 1e3] : ["ns", 1];
  return linear("tof", `time of flight (${symbol})`, symbol as string, 1 / (ns as number));
}

function linear(unit: Unit, label: string, symbol: string, factor: number): Scaling {
  return { unit, label, symbol, falls: false, fromNs: (ns) => ns * factor, toNs: (value) => value / factor };
}
