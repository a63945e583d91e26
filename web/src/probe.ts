/** `window.evforge`: what tests and people at the browser's console can ask the page. */

import type { Connection, Phase } from "./connection";
import type { ShownFeed } from "./feed";
import type { Header } from "./header";
import type { HistoryPanel } from "./history_panel";
import type { ImagePanel } from "./image_panel";
import type { MonitorData } from "./monitor_data";
import type { MonitorPanel } from "./monitor_panel";
import type { Model } from "./model";
import type { Box } from "./plot_area";
import type { Hello, Status } from "./protocol";

export interface Probe {
  /** What comes in, as the page says it. */
  feed(): ShownFeed;
  /** The picture that is drawn: its name, and its counts row by row from the bottom. */
  image(): { name: string; nx: number; ny: number; counts: number[] };
  /** How many pixels share a cell of it, in a row and in a column. */
  block(): { x: number; y: number };
  /** Counts as they are drawn, and the width of a bin. */
  spectrum(): { bin_ns: number; counts: number[] };
  /** The lines over time as they are drawn: times in seconds, values, packets lost, seconds of a step. */
  history(): ReturnType<HistoryPanel["table"]>;
  /** Where the image is drawn in its canvas, in CSS pixels; null before the first picture. */
  plot(): Box | null;
  /** Whether monitor data are collected, and the newest that are shown. */
  monitor(): { on: boolean; data: MonitorData | null };
  /** The middle of a channel's bar in its canvas, in CSS pixels; null before it is drawn. */
  channelBar(index: number): { left: number; top: number } | null;
  state(): {
    phase: Phase;
    hello: Hello | null;
    status: Status | null;
    /** Pictures received since the page was loaded, and updates per second. */
    pictures: number;
    updatesPerSecond: number;
    /** Events in the picture since the start or the last "Clear". */
    total: number;
    /** Restarts of the server seen by this page. */
    restarts: number;
    /** Unix milliseconds of the last "Clear", or null. */
    clearedAt: number | null;
    points: number;
  };
}

declare global {
  interface Window {
    evforge: Probe;
  }
}

export function installProbe(
  model: Model, connection: Connection, header: Header, panel: ImagePanel, monitor: MonitorPanel, history: HistoryPanel,
): void {
  window.evforge = {
    feed: () => header.feed(),
    image: () => {
      const image = panel.image();
      const name = model.hello?.pictures[panel.which()]?.name ?? "";
      return { name, nx: image?.nx ?? 0, ny: image?.ny ?? 0, counts: Array.from(image?.counts ?? []) };
    },
    block: () => panel.block(),
    spectrum: () => ({ bin_ns: model.hello?.spectrum.bin_ns ?? 0, counts: model.shownSpectrum() }),
    history: () => history.table(),
    plot: () => panel.plot(),
    monitor: () => ({ on: monitor.feed.on, data: monitor.data }),
    channelBar: (index) => monitor.channels.middleOf(index),
    state: () => ({
      phase: connection.phase,
      hello: model.hello,
      status: model.status,
      pictures: model.pictures,
      updatesPerSecond: model.updatesPerSecond(),
      total: model.picture ? model.shownEvents() : 0,
      restarts: model.restarts,
      clearedAt: model.clearedAt(),
      points: model.points.length,
    }),
  };
}
