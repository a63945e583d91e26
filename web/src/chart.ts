/** What the charts share: size, colours and axes of uPlot. */

import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { onThemeChange, themeColour } from "./canvas";
import { roundStep, tick } from "./numbers";

const font = "12px system-ui, sans-serif";

/** An axis in the page's colours. */
export function axis(label: string | null, more: uPlot.Axis = {}): uPlot.Axis {
  return {
    font,
    labelFont: font,
    ...(label === null ? {} : { label, labelSize: 18, labelGap: 0 }),
    stroke: () => themeColour("--muted"),
    grid: { stroke: () => themeColour("--grid"), width: 1 },
    ticks: { stroke: () => themeColour("--grid"), width: 1, size: 4 },
    gap: 4,
    values: (_, values) => values.map((value) => (value === null ? "" : tick(value))),
    ...more,
  };
}

/** What makes an axis a logarithmic one, with round numbers: powers of ten, and 2 and 5 times them where there is room. */
export const logarithmic: uPlot.Axis = {
  splits: (_, __, low, high) => logSplits(low, high),
  // All of them are labelled.
  filter: (_, splits) => splits,
};

function logSplits(low: number, high: number): number[] {
  if (!(low > 0) || !(high > low) || !Number.isFinite(high)) return [];
  const decades = Math.log10(high / low);
  const values: number[] = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
    for (const factor of decades < 2 ? [1, 2, 5] : [1]) {
      const value = factor * 10 ** power;
      if (value >= low && value <= high) values.push(value);
    }
  }
  if (values.length >= 2) return values;
  const step = roundStep(high - low, 4);
  return Array.from({ length: Math.floor((high - low) / step) + 1 }, (_, at) => (Math.ceil(low / step) + at) * step);
}

/** A chart that fills `holder` and follows its size and light and dark, until it is destroyed. */
export function makeChart(
  holder: HTMLElement, options: Omit<uPlot.Options, "width" | "height">, data: uPlot.AlignedData,
): uPlot {
  const size = () => ({ width: Math.max(80, holder.clientWidth), height: Math.max(60, holder.clientHeight) });
  const chart = new uPlot({ legend: { show: false }, padding: [8, 28, 0, 0], ...options, ...size() }, data, holder);
  const observer = new ResizeObserver(() => chart.setSize(size()));
  observer.observe(holder);
  const forget = onThemeChange(() => chart.redraw(false));
  (chart.hooks.destroy ??= []).push(() => {
    observer.disconnect();
    forget();
  });
  return chart;
}

/** Colours that follow the theme. */
export function stroke(name: string): () => string {
  return () => themeColour(name);
}
