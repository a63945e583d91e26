#!/usr/bin/env node
// The pictures of the page in the documents: docs/pictures/live-view.png and live-view-dark.png, of a simulated Gd-GEM.
//
//   node scripts/pictures.mjs [EVFORGE]     `make pictures` runs it; the program is target/release/evforge
//
// The same pulses are simulated every time and sent over UDP to a live run; the picture is taken when all of them are events,
// before the page says that no more come. Everything on it is then the same from run to run but for what `timed` lists. A
// committed picture that differs in nothing else stays (scripts/keep-picture.py).

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { open, state, until } from "../tests/browser/browser.mjs";
import { finish, live } from "../tests/browser/evforge.mjs";
import { problems } from "../tests/browser/layout.mjs";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const program = resolve(process.argv[2] ?? join(root, "target/release/evforge"));
const config = join(root, "configs/gdgem-srs.toml");
// 64 s fill the minute that the chart of rates shows; the port is on the picture.
const pulses = 14 * Number(process.env.SECONDS_OF_BEAM ?? 64);
const pageAddress = "127.0.0.1:8080";
// 1600 points wide, so that letters are still legible at the width of a document.
const size = { width: 1280, height: 900, scale: 1.25 };

// So that the file has all events while their rate is still that of the beam.
const quick = ["--set", 'outputs.nexus.flush_interval="50ms"'];

// After the counts of a second, in milliseconds.
const lead = 650;

/** What depends on the time of day or on the speed of the processor. */
const timed = [
  "#age", // how long ago the newest event was
  "header > :not(h1)", // since when it counts
  "#rate-panel", // the rate in each second, and what time that was
  "#ledger-age", // how long ago the counts were read
  "#ledger-below > dl:last-of-type", // how often the page was told, and what it was too slow for
];

/** Whether the ledger, the picture and every output have the same events, and no others have come for a moment. */
function isComplete(shown) {
  const { ledger, feed, outputs = [] } = shown?.status ?? {};
  const has = ({ events }) => events.committed === ledger.events;
  return ledger?.events > 0 && shown.total === ledger.events && feed.event_ms > 200 && outputs.length > 0 && outputs.every(has);
}

/** Sends the simulated pulses, each when it is due; resolves when all are sent. */
function send(address) {
  const args = ["simulate", "--config", config, "--pulses", pulses, "--start", "fixed", "--seed", 1, "--to", address];
  const child = spawn(program, args.map(String), { stdio: ["ignore", "ignore", "inherit"] });
  return new Promise((done, failed) => {
    child.on("exit", (code) => (code === 0 ? done() : failed(new Error(`the simulation ended with ${code}`))));
  });
}

/** Waits until all that was sent is events, and where it belongs. */
async function settled(page) {
  await until(page, isComplete, "all events in all outputs", 5000);
  const { status } = await state(page);
  const { packets, unaccounted } = status.ledger;
  if (packets.lost || unaccounted) throw new Error(`${packets.lost} packets lost, ${unaccounted} unaccounted for: try again`);
  if (status.feed.state !== "live") throw new Error(`the page says "${status.feed.text}": it was too late for a picture`);
}

/** The places of `timed` on a picture, in its points: left, top, width, height. */
function places(page) {
  return page.evaluate(
    ([selectors, scale]) =>
      selectors.flatMap((selector) =>
        [...document.querySelectorAll(selector)].map((element) => {
          const box = element.getBoundingClientRect();
          return [box.left, box.top, box.width, box.height].map((value) => value * scale);
        }),
      ),
    [timed, size.scale],
  );
}

const folder = mkdtempSync(join(tmpdir(), "evforge-pictures-"));
process.chdir(folder);
let run = null;
let browser = null;
try {
  run = await live(program, ["--config", config, "--view", pageAddress, "--nexus", "run.nxs", ...quick]);
  let page, complaints;
  ({ browser, page, complaints } = await open(run.page, size));
  await until(page, (shown) => shown?.status, "the page", 5000);
  // The beam ends shortly before the page gets the counts of a second: so its last second is nearly whole.
  const { points } = await state(page);
  await until(page, (shown) => shown.points > points, "the next second", 5000);
  await page.waitForTimeout(lead);
  await send(run.address);
  await settled(page);
  const masked = await places(page);
  const taken = { light: "live-view.png", dark: "live-view-dark.png" };
  for (const [colorScheme, name] of Object.entries(taken)) {
    await page.emulateMedia({ colorScheme });
    await page.waitForTimeout(200);
    await page.screenshot({ path: name });
  }
  // Nothing has changed in between.
  await settled(page);
  const faults = [...(await problems(page)), ...complaints];
  if (faults.length) throw new Error(faults.join("\n"));
  writeFileSync("masked.json", JSON.stringify(masked));
  for (const name of Object.values(taken)) {
    const keep = [join(root, "scripts/keep-picture.py"), name, join(root, "docs/pictures", name), "masked.json"];
    process.stdout.write(finish(process.env.EVFORGE_PYTHON ?? join(root, ".venv/bin/python"), ...keep));
  }
} catch (error) {
  console.error(`the pictures of the page could not be made: ${error.message}\n${run?.said ?? ""}`);
  process.exitCode = 1;
} finally {
  await browser?.close();
  run?.child.kill("SIGINT");
  await run?.ended;
  process.chdir(root);
  rmSync(folder, { recursive: true, force: true });
}
