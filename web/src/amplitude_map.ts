/** Amplitude against channel: channels across, amplitudes up, with the thresholds of the channels as a line over it. */

import { themeColour } from "./canvas";
import type { Part } from "./cells";
import { Heatmap, pixelAxis } from "./heatmap";
import type { Channel, MonitorData } from "./monitor_data";
import type { Box } from "./plot_area";

/** Columns that a map has at most: more channels share one. */
const mostColumns = 1024;

export class AmplitudeMap {
  private readonly heatmap: Heatmap;
  private thresholds: { at: number; amplitude: number }[] = [];

  constructor(canvas: HTMLCanvasElement) {
    this.heatmap = new Heatmap(canvas);
    // Few channels are seldom alike: faint ones must be seen next to loud ones.
    this.heatmap.logarithmic = true;
    this.heatmap.countsLabel = "readouts per channel";
    this.heatmap.overlay = (context, plot, part) => this.drawThresholds(context, plot, part);
  }

  /** Readouts that are shown. */
  readouts = 0;

  hide(): void {
    this.readouts = 0;
    this.heatmap.show(null);
  }

  draw(): void {
    this.heatmap.draw();
  }

  /** Shows these channels, which are in the order of their indices; there is at least one. */
  show(channels: Channel[], data: MonitorData): void {
    const [first, last] = [channels[0].index, channels[channels.length - 1].index];
    const bins = data.spectrum_bins;
    const width = last - first + 1;
    const block = Math.ceil(width / mostColumns);
    const columns = Math.ceil(width / block);
    const counts = new Float64Array(columns * bins);
    for (const { index, spectrum } of channels) {
      const column = Math.floor((index - first) / block);
      spectrum.forEach((count, bin) => (counts[bin * columns + column] += count));
    }
    this.readouts = counts.reduce((sum, count) => sum + count, 0);
    const step = 2 ** data.amplitude_bits / bins;
    this.thresholds = channels.flatMap(({ index, threshold }) =>
      threshold === undefined ? [] : [{ at: index - first, amplitude: threshold / step }],
    );
    this.heatmap.show({
      nx: columns * block,
      ny: bins,
      sums: {
        part: { x0: 0, y0: 0, x1: columns * block, y1: bins },
        block: { x: block, y: 1 },
        columns,
        rows: bins,
        counts,
      },
      factor: 1,
      panels: [],
      sideBySide: false,
      across: { ...pixelAxis("channel, through all groups", columns * block), first },
      up: { ...pixelAxis("amplitude (ADC)", bins), step },
    });
  }

  private drawThresholds(context: CanvasRenderingContext2D, plot: Box, part: Part): void {
    const across = plot.width / (part.x1 - part.x0);
    const up = plot.height / (part.y1 - part.y0);
    context.fillStyle = themeColour("--bad");
    for (const { at, amplitude } of this.thresholds) {
      const left = plot.left + (at - part.x0) * across;
      const top = plot.top + plot.height - (amplitude - part.y0) * up;
      context.fillRect(left, Math.round(top) - 1, Math.max(1, across), 2);
    }
  }
}
