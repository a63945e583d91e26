/** What is known besides the events, as the server tells it; described in docs/http-api.md. */

export interface Value {
  name: string;
  kind: "value" | "sum" | "rate";
  /** Null while a rate is not known. */
  value: number | null;
  unit: string;
  time_ms?: number;
  messages: number;
  /** Of choppers: the newest is the last. */
  stamps_ms?: number[];
  /** What the history calls it. */
  series: string;
}

export interface Pulses {
  source: string;
  pulses: number;
  pulses_good: number | null;
  charge_uah: number | null;
  charge_good_uah: number | null;
  period: number | null;
  vetoes: number | null;
  time_ms?: number;
}

export interface SpectrumState {
  name: string;
  from: string;
  kind: "sum" | "newest";
  bins: number;
  axis: string;
  axis_unit: string;
  unit: string;
  total: number;
  block: number;
  messages: number;
  time_ms?: number;
  problem?: string;
}

export interface MonitorSpectrum extends SpectrumState {
  /** One more than there are counts. */
  edges: number[];
  counts: number[];
}

/** What a run tells of itself in its ledger. */
export interface ToldByRun {
  source: string;
  is_module: boolean;
  time_ms?: number;
  packets_sent: number | null;
  packets_received: number | null;
  packets_lost: number | null;
  packets_lost_at_least: number | null;
  events_formed: number | null;
  events_acknowledged: number | null;
  events_lost: number | null;
  unaccounted: number | null;
  complete: boolean | null;
}

export interface Beam {
  values: Value[];
  pulses: Pulses[];
  spectra: SpectrumState[];
  runs: ToldByRun[];
  left_out: number;
}
