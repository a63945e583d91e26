/** `window.evforge`: what tests and people at the browser's console can ask the page. */

import type { Beam, MonitorSpectrum } from "./beam_data";
import type { BeamPanel } from "./beam_panel";
import type { Connection, Phase } from "./connection";
import type { ShownFeed } from "./feed";
import type { Head } from "./frame";
import type { Header } from "./header";
import type { HistoryPanel } from "./history_panel";
import type { ImagePanel } from "./image_panel";
import type { Looker } from "./looker";
import type { Looked } from "./looked";
import type { MonitorData } from "./monitor_data";
import type { MonitorPanel } from "./monitor_panel";
import type { Model } from "./model";
import type { Box } from "./plot_area";
import type { Hello, Look, Status } from "./protocol";
import type { Reference } from "./reference";
import { besideOf } from "./side_pictures";
import type { SpectrumChart } from "./spectrum_chart";
import type { View } from "./view";

export interface Probe {
  /** What comes in, as the page says it. */
  feed(): ShownFeed;
  /** The picture that is drawn: its name, and the sums of its cells row by row from the bottom; a cell has `block()` pixels. */
  image(): { name: string; nx: number; ny: number; counts: number[] };
  /** How many pixels share a cell of it, in a row and in a column. */
  block(): { x: number; y: number };
  /** Counts per bin, and the width of a bin. */
  spectrum(): { bin_ns: number; counts: number[] };
  /** The lines over time as they are drawn: times in seconds, values, packets lost, seconds of a step. */
  history(): ReturnType<HistoryPanel["table"]>;
  /** The regions of the newest frame, with their spectra. */
  regions(): { name: string; pixels: number; events: number; all: number; spectrum: number[] }[];
  /** What the newest frame says of itself; null while it is not one of what was asked for last. */
  head(): Head | null;
  /** Pictures next to the large one: their names, and the sums of their counts; null before the first frame. */
  further(): { name: string; sum: number | null }[];
  /** The view that is chosen, and whether something else is looked at. */
  view(): { name: string | null; changed: boolean };
  /** What the page looks at, and what it asks of the server for it. */
  looked(): Looked;
  look(): Look | null;
  /** Values per pixel of the reference in the cells of the picture; null without one. */
  reference(): number[] | null;
  /** Where the image is drawn in its canvas, in CSS pixels; null before the first picture. */
  plot(): Box | null;
  /** Where a time of flight lies in the spectrum, in CSS pixels from the left of its plot. */
  spectrumPlace(ns: number): number | null;
  /** Whether monitor data are collected, and the newest that are shown. */
  monitor(): { on: boolean; data: MonitorData | null };
  /** The middle of a channel's bar in its canvas, in CSS pixels; null before it is drawn. */
  channelBar(index: number): { left: number; top: number } | null;
  /** What is drawn at a value on the axis of the amplitudes: pixels in the colour of lines, and the height of the box. */
  amplitudeLine(value: number): { drawn: number; height: number } | null;
  /** Readouts in the maps of amplitude against channel; 0 for one that is not shown. */
  amplitudeMaps(): number[];
  /** What is known besides the events; null before it is there. And the spectrum of a beam monitor that is drawn. */
  beam(): Beam | null;
  monitorSpectrum(): MonitorSpectrum | null;
  state(): {
    phase: Phase;
    hello: Hello | null;
    status: Status | null;
    /** Frames received since the page was loaded, and updates per second. */
    pictures: number;
    updatesPerSecond: number;
    /** Events in the window, whatever the slice. */
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

interface Parts {
  model: Model;
  view: View;
  connection: Connection;
  header: Header;
  image: ImagePanel;
  spectrum: SpectrumChart;
  monitor: MonitorPanel;
  reference: Reference;
  looker: Looker;
  history: HistoryPanel;
  beam: BeamPanel;
}

export function installProbe({ model, view, connection, header, image, spectrum, monitor, reference, looker, history, beam }: Parts): void {
  window.evforge = {
    feed: () => header.feed(),
    image: () => {
      const { frame } = model;
      if (!frame) return { name: "", nx: 0, ny: 0, counts: [] };
      const { columns, rows, counts } = frame.image;
      return { name: frame.head.picture, nx: columns, ny: rows, counts: Array.from(counts) };
    },
    block: () => image.block(),
    spectrum: () => ({ bin_ns: model.frame?.head.bins.width_ns ?? 0, counts: Array.from(model.frame?.spectrum ?? []) }),
    regions: () => (model.frame?.regions ?? []).map((region) => ({ ...region, spectrum: Array.from(region.spectrum) })),
    head: () => (model.frame && model.frameOf === connection.asked ? model.frame.head : null),
    looked: () => view.looked,
    further: () =>
      (model.hello ? besideOf(view, model.hello) : []).map(({ name }) => ({
        name,
        sum: model.further.has(name) ? Array.from(model.further.get(name)!.image.counts).reduce((sum, count) => sum + count, 0) : null,
      })),
    view: () => ({ name: view.chosen?.name ?? null, changed: view.isChanged() }),
    look: () => looker.look(),
    reference: () => {
      const { frame } = model;
      const values = frame && reference.valuesLike(frame.head.picture, frame.image, view.looked.per);
      return values ? Array.from(values) : null;
    },
    history: () => history.table(),
    plot: () => image.plot(),
    spectrumPlace: (ns) => spectrum.placeOf(ns),
    monitor: () => ({ on: monitor.feed.on, data: monitor.data }),
    channelBar: (index) => monitor.channels.middleOf(index),
    amplitudeLine: (value) => monitor.amplitudes.lineAt(value),
    amplitudeMaps: () => monitor.maps.map((map) => map.readouts),
    beam: () => beam.feed.beam,
    monitorSpectrum: () => beam.spectrum(),
    state: () => ({
      phase: connection.phase,
      hello: model.hello,
      status: model.status,
      pictures: model.pictures,
      updatesPerSecond: model.updatesPerSecond(),
      total: model.shownEvents(),
      restarts: model.restarts,
      clearedAt: view.looked.window.kind === "since" ? view.looked.window.ms : null,
      points: model.points.length,
    }),
  };
}
