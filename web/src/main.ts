/** The page: one model, fed by the connection, drawn by the panels. */

import "./style.css";
import { Connection } from "./connection";
import { Header } from "./header";
import { HistoryPanel } from "./history_panel";
import { ImagePanel } from "./image_panel";
import { LedgerPanel } from "./ledger_panel";
import { Model } from "./model";
import { MonitorPanel } from "./monitor_panel";
import { installProbe } from "./probe";
import { SpectrumChart } from "./spectrum_chart";

const model = new Model();
const image = new ImagePanel(model);
const rate = new HistoryPanel(model);
const spectrum = new SpectrumChart(model);
const ledger = new LedgerPanel(model);
const monitor = new MonitorPanel(model);

function drawAll(): void {
  // A hidden page takes the data but spares the drawing.
  if (document.hidden) return;
  image.update();
  rate.update();
  spectrum.update();
  ledger.update();
  header.update();
}

const connection = new Connection({
  onHello(hello) {
    model.greet(hello);
    monitor.greet();
    rate.greet();
    drawAll();
  },
  onUpdate(status, picture) {
    model.update(status, picture);
    if (document.hidden) return;
    if (picture) {
      image.update();
      spectrum.update();
    }
    if (status.points.length > 0) rate.update();
    ledger.update();
    header.update();
  },
  onPhase() {
    header.update();
    rate.tell();
  },
});
const header = new Header(model, connection);
installProbe(model, connection, header, image, monitor, rate);
setInterval(() => {
  header.update();
  rate.tell();
  ledger.updateAge();
}, 500);
header.update();

document.addEventListener("visibilitychange", drawAll);
document.getElementById("clear")!.onclick = () => {
  model.clear();
  drawAll();
};
document.getElementById("show-all")!.onclick = () => {
  model.showAll();
  drawAll();
};
