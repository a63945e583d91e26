/** The monitor data as the server sends them: /monitor.json, written by crates/pipeline/src/monitor_tap.rs. */

export interface Channel {
  /** Counts through all groups of channels. */
  index: number;
  name: string;
  readouts: number;
  /** Readouts by amplitude. */
  spectrum: number[];
  /** The least amplitude of a readout that counts; missing where there is none. */
  threshold?: number;
  /** Readouts with a smaller one; missing without a threshold. */
  below?: number;
  /** Index of its plane; missing if it is on none. */
  plane?: number;
}

/** A channel that stands out among its neighbours. */
export interface Noticed {
  index: number;
  name: string;
  fault: "hot" | "dead";
  readouts: number;
  /** What its neighbours let expect. */
  expected: number;
}

export interface Plane {
  name: string;
  /** Clusters by their number of hits; the last bin also takes all larger ones. */
  multiplicity: number[];
  /** Likewise, those without a partner on the other plane. */
  lone_multiplicity: number[];
  /** Clusters without a partner by amplitude. */
  lone_spectrum: number[];
}

export interface TrackHit {
  /** Index of its plane. */
  plane: number;
  strip: number;
  amplitude: number;
  /** Since the first hit of the track. */
  time_ns: number;
}

export interface Track {
  time_ns: number;
  pixel_id: number;
  hits: TrackHit[];
}

export interface MonitorData {
  channel_count: number;
  spectrum_bins: number;
  /** A channel's spectrum covers 0 to 2^amplitude_bits. */
  amplitude_bits: number;
  cluster_amplitude_bits: number;
  /** Those with readouts. */
  channels: Channel[];
  /** Channels that should be looked at: by the rule of `evforge masks`. */
  noticed: Noticed[];
  /** A mask of them, as a configuration has it. */
  mask?: string;
  planes: Plane[];
  /** Events by the amplitudes of both clusters: rows of the second plane, columns of the first. */
  correlation: number[];
  /** Oldest first. */
  tracks: Track[];
}

export interface MonitorAnswer {
  on: boolean;
  /** Null before the first copy; missing while off. */
  data?: MonitorData | null;
}

/** The thresholds of channels, and how many of their readouts are below; null if none of them has one. */
export interface Thresholds {
  /** All different values, in order. */
  values: number[];
  below: number;
  /** Readouts at the threshold of their channel, or above it. */
  above: number;
}

export function thresholdsOf(channels: Channel[]): Thresholds | null {
  const having = channels.filter(({ threshold }) => threshold !== undefined);
  if (having.length === 0) return null;
  const values = [...new Set(having.map(({ threshold }) => threshold!))].sort((a, b) => a - b);
  const below = having.reduce((sum, channel) => sum + (channel.below ?? 0), 0);
  const readouts = having.reduce((sum, channel) => sum + channel.readouts, 0);
  return { values, below, above: readouts - below };
}

/** Counts per bin, of several channels together. */
export function sumOfSpectra(channels: Channel[], bins: number): number[] {
  const sum = new Array<number>(bins).fill(0);
  for (const { spectrum } of channels) spectrum.forEach((count, bin) => (sum[bin] += count));
  return sum;
}

export function total(counts: number[]): number {
  return counts.reduce((sum, count) => sum + count, 0);
}
