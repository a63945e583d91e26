/** The page: one model, fed by the connection, drawn by the panels; and one view, which says what is looked at. */

import "./style.css";
import { BeamPanel } from "./beam_panel";
import { Connection } from "./connection";
import { FramesPanel } from "./frames_panel";
import { Header } from "./header";
import { HistoryPanel } from "./history_panel";
import { ImagePanel } from "./image_panel";
import { LedgerPanel } from "./ledger_panel";
import { Looker } from "./looker";
import { Model } from "./model";
import { MonitorPanel } from "./monitor_panel";
import { element } from "./page_elements";
import { PixelTable } from "./pixel_table";
import { installProbe } from "./probe";
import { Reference } from "./reference";
import { RegionTable } from "./region_table";
import { ShownPanels } from "./shown_panels";
import { besideOf, SidePictures } from "./side_pictures";
import { drawSnapshot, saveSnapshot } from "./snapshot";
import { SpectrumChart } from "./spectrum_chart";
import { SpectrumControls } from "./spectrum_controls";
import { View } from "./view";
import { ViewBar } from "./view_bar";
import { ViewChoice } from "./view_choice";

const model = new Model();
const view = new View();
const reference = new Reference();
const image = new ImagePanel(model, view, reference, () => looker.soon());
const further = new SidePictures(model, view, () => looker.soon());
const rate = new HistoryPanel(model);
const spectrum = new SpectrumChart(model, view);
const spectrumControls = new SpectrumControls(model, view, spectrum);
const regions = new RegionTable(model, view, image.tools, () => image.plan());
const values = new PixelTable(model);
const framesPanel = new FramesPanel(model, view);
const beam = new BeamPanel(model, (series) => void rate.open(series));
const ledger = new LedgerPanel(model, () => beam.feed.beam?.runs ?? []);
const monitor = new MonitorPanel(model);
const looker = new Looker(model, view, () => connection, () => image.points(), () => ({
  plans: model.hello ? besideOf(view, model.hello) : [],
  points: further.points(),
}));
const bar = new ViewBar(model, view, reference, looker, () => image.shown(), drawAll);
const choice = new ViewChoice(model, view);
const panels = new ShownPanels(view);

/** Draws what comes with a frame. */
function drawFrame(): void {
  image.update();
  further.update();
  spectrum.update();
  spectrumControls.update();
  regions.update();
  values.update();
}

function drawAll(): void {
  // A hidden page takes the data but spares the drawing.
  if (document.hidden) return;
  drawFrame();
  rate.update();
  framesPanel.update();
  beam.update();
  ledger.update();
  bar.update();
  choice.update();
  header.update();
}

const connection = new Connection({
  onHello(hello) {
    if (model.greet(hello)) reference.forget();
    view.offer(hello.views);
    looker.now();
    monitor.greet();
    panels.update();
    rate.greet();
    drawAll();
  },
  onUpdate(status, frames) {
    model.update(status, frames);
    if (document.hidden) return;
    if (frames.size > 0) drawFrame();
    if (status.points.length > 0) rate.update();
    framesPanel.update();
    beam.update();
    ledger.update();
    bar.update();
    header.update();
  },
  onRefused(message) {
    bar.refuse(message);
  },
  onPhase() {
    header.update();
    rate.tell();
  },
});
const header = new Header(model, connection);
installProbe({ model, view, connection, header, image, spectrum, monitor, reference, looker, history: rate, beam });
setInterval(() => {
  header.update();
  rate.tell();
  ledger.updateAge();
}, 500);
header.update();

document.addEventListener("visibilitychange", drawAll);
element("snapshot").onclick = () => {
  const canvas = drawSnapshot(model, view, further.canvases(), [bar.since(), header.feed().text]);
  saveSnapshot(canvas, model.hello?.title ?? "evforge");
};
