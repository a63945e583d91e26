/** What is shown of counts: counts, or counts per second, per pulse, per µAh, per event of a beam monitor; corrected for loss or not. */

import type { Head } from "./frame";
import type { Per } from "./looked";

export interface Shown {
  /** Counts times this are what is shown. */
  factor: number;
  /** What that is called: "counts", "counts per second". */
  name: string;
  /** The same where there is little room. */
  short: string;
  /** Behind a number: "counts", "/s". */
  unit: string;
  /** Why it is not what was asked for; empty if it is. */
  problem: string;
}

/** `live` is the share of packets that has come, null where nobody knows it. */
export function shownAs(head: Head, per: Per, corrected: boolean, live: number | null): Shown {
  const shown = divided(head, per);
  if (!corrected) return shown;
  if (live === null || live <= 0) return { ...shown, problem: "not corrected: how many packets are lost is not known" };
  return { ...shown, factor: shown.factor / live, name: `${shown.name}, corrected for loss` };
}

function divided({ seconds, pulses, charge_uah, monitors }: Head, per: Per): Shown {
  const counts: Shown = { factor: 1, name: "counts", short: "counts", unit: " counts", problem: "" };
  const by = (number: number, what: string, short: string, missing: string): Shown => {
    const shown = { factor: 1 / number, name: `counts per ${what}`, short: `per ${short}`, unit: ` /${short}`, problem: "" };
    return number > 0 ? shown : { ...counts, problem: missing };
  };
  if (per === "second") return by(seconds, "second", "s", "counts are shown: the window has no length yet");
  if (per === "pulse") return by(pulses, "pulse", "pulse", "counts are shown: there are no pulses in the window");
  if (per === "charge") {
    return by(charge_uah ?? 0, "µAh", "µAh", "counts are shown: no proton charge is known in the window");
  }
  if (per.startsWith("monitor:")) {
    const name = per.slice("monitor:".length);
    const missing = `counts are shown: ${name} has no events in the window`;
    return by(monitors?.[name] ?? 0, `count of ${name}`, "monitor count", missing);
  }
  return counts;
}
