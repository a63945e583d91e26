#!/usr/bin/env node
// The pictures of the page in the documents: docs/pictures/live-view.png and live-view-dark.png, of a simulated Gd-GEM, and those
// of docs/live-view.md, which scenes.mjs lists.
//
//   node scripts/pictures.mjs [EVFORGE [NAME …]]     `make pictures` runs it; the program is target/release/evforge; all pictures
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
import { finish, live, viewed } from "../tests/browser/evforge.mjs";
import { problems } from "../tests/browser/layout.mjs";
import { scenes } from "./scenes.mjs";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const [given, ...chosen] = process.argv.slice(2);
const program = resolve(given ?? join(root, "target/release/evforge"));
const python = process.env.EVFORGE_PYTHON ?? join(root, ".venv/bin/python");
// The port is on the picture.
const pageAddress = "127.0.0.1:8080";

// The page as README.md and docs/live-page.md have it. 64 s fill the minute that the chart of rates shows; 1600 points wide, so that
// letters are still legible at the width of a document.
const whole = {
  name: "live-view",
  config: "gdgem-srs",
  simulate: [],
  seconds: Number(process.env.SECONDS_OF_BEAM ?? 64),
  hash: "",
  height: 900,
  dark: "live-view-dark",
};

// So that the file has all events while their rate is still that of the beam.
const quick = ["--set", 'outputs.nexus.flush_interval="50ms"'];

// After the counts of a second, in milliseconds.
const lead = 650;

/** What depends on the time of day or on the speed of the processor. */
const timed = [
  "#age", // how long ago the newest event was
  "header > :not(h1)", // since when it counts
  "#notices", // how many packets have been lost in the last minute
  "#rate-panel", // the rate in each second, and what time that was
  "#ledger-age", // how long ago the counts were read
  "#ledger-below > dl:last-of-type", // how often the page was told, and what it was too slow for
];

// A spot that is not where it belongs.
const spot = `
from PIL import Image, ImageFilter
image = Image.new("L", (128, 128), 2)
image.paste(255, (74, 36, 90, 62))
image.filter(ImageFilter.GaussianBlur(5)).save("spot.png")
`;

/** Whether the ledger, the picture and every output have the same events, and no others have come for a moment. */
const isComplete = ({ isPart = false }) => (shown) => {
  const { ledger, feed, outputs = [] } = shown?.status ?? {};
  const has = ({ events }) => events.committed === ledger.events;
  const isPictured = isPart ? shown.total > 0 : shown?.total === ledger?.events;
  return ledger?.events > 0 && isPictured && feed.event_ms > 200 && outputs.length > 0 && outputs.every(has);
};

const simulation = ({ config, simulate, seconds }) => {
  const file = join(root, `configs/${config}.toml`);
  const all = ["simulate", "--config", file, "--pulses", 14 * seconds, "--start", "fixed", "--seed", 1, ...simulate];
  // Files are relative to the configuration.
  return all.map((one) => String(one).replace("{spot}", join(process.cwd(), "spot.png")));
};

/** Sends the simulated pulses, each when it is due; resolves when all are sent. */
function send(scene, address) {
  const child = spawn(program, [...simulation(scene), "--to", address], { stdio: ["ignore", "ignore", "inherit"] });
  return new Promise((done, failed) => {
    child.on("exit", (code) => (code === 0 ? done() : failed(new Error(`the simulation ended with ${code}`))));
  });
}

/** Waits until all that was sent is events, and where it belongs. */
async function settled(page, scene) {
  const { loses = false } = scene;
  await until(page, isComplete(scene), "all events in all outputs", 5000);
  const { status } = await state(page);
  const { packets, unaccounted } = status.ledger;
  if (Boolean(packets.lost) !== loses || unaccounted) throw new Error(`${packets.lost} packets lost, ${unaccounted} unaccounted for: try again`);
  if (status.feed.state !== "live") throw new Error(`the page says "${status.feed.text}": it was too late for a picture`);
}

/** A live run with a page, and all pulses of the scene sent to it. */
async function measured(scene, size, made) {
  const config = join(root, `configs/${scene.config}.toml`);
  made.run = await live(program, ["--config", config, "--view", pageAddress, "--nexus", "run.nxs", ...quick, ...(scene.run ?? [])]);
  Object.assign(made, await open(`${made.run.page}/#${scene.hash}`, size));
  const { page } = made;
  await until(page, (shown) => shown?.status, "the page", 5000);
  // The beam ends shortly before the page gets the counts of a second: so its last second is nearly whole.
  const { points } = await state(page);
  await until(page, (shown) => shown.points > points, "the next second", 5000);
  await page.waitForTimeout(lead);
  await send(scene, made.run.address);
  made.stays = () => settled(page, scene);
  await made.stays();
}

/** The page of a file with all pulses of the scene. */
async function filed(scene, size, made) {
  const config = join(root, `configs/${scene.config}.toml`);
  finish(program, ...simulation(scene), "--output", "run.pcapng");
  finish(program, "run", "--config", config, "run.pcapng", "--nexus", "run.nxs", "--quiet");
  made.run = await viewed(program, ["run.nxs", "--config", config, "--view", pageAddress]);
  Object.assign(made, await open(`${made.run.page}/#${scene.hash}`, size));
  const isWhole = (shown) => shown?.status?.feed.state === "ended" && shown.total === shown.status.events;
  made.stays = () => until(made.page, isWhole, "the whole file", 20_000);
  await made.stays();
}

/** The places of `timed` on a picture, in its points: left, top, width, height. */
function places(page, scale) {
  return page.evaluate(
    ([selectors, scale]) =>
      selectors.flatMap((selector) =>
        [...document.querySelectorAll(selector)].map((element) => {
          const box = element.getBoundingClientRect();
          return [box.left, box.top, box.width, box.height].map((value) => value * scale);
        }),
      ),
    [timed, scale],
  );
}

/** That nothing sets the clock is of the host that the pictures are made on, and not of what they show. */
function withoutClock() {
  if (document.getElementById("signs").textContent !== "clock not synchronised (no chrony, ntpd or PTP running)") return;
  document.styleSheets[0].insertRule("#signs { display: none }");
}

/** Takes the picture of a scene, and a dark one if that is wanted. */
async function take(scene) {
  const folder = mkdtempSync(join(tmpdir(), "evforge-pictures-"));
  process.chdir(folder);
  const size = { width: 1280, height: scene.height ?? 800, scale: scene.dark ? 1.25 : 1 };
  // The run, the browser and its page, as far as they have come.
  const made = {};
  try {
    finish(python, "-c", spot);
    await (scene.file ? filed : measured)(scene, size, made);
    const { page, complaints, stays } = made;
    await scene.prepare?.(page);
    await page.evaluate(withoutClock);
    const masked = scene.only ? [] : await places(page, size.scale);
    const taken = { light: scene.name, ...(scene.dark ? { dark: scene.dark } : {}) };
    for (const [colorScheme, name] of Object.entries(taken)) {
      await page.emulateMedia({ colorScheme });
      await page.waitForTimeout(200);
      await (scene.only ? page.locator(scene.only) : page).screenshot({ path: `${name}.png` });
    }
    // Nothing has changed in between.
    await stays();
    const faults = [...(await problems(page)), ...complaints];
    if (faults.length) throw new Error(faults.join("\n"));
    writeFileSync("masked.json", JSON.stringify(masked));
    for (const name of Object.values(taken)) {
      const keep = [join(root, "scripts/keep-picture.py"), `${name}.png`, join(root, `docs/pictures/${name}.png`), "masked.json"];
      process.stdout.write(finish(python, ...keep));
    }
  } catch (error) {
    console.error(`${scene.name} could not be made: ${error.message}\n${made.run?.said ?? ""}`);
    process.exitCode = 1;
  } finally {
    await made.browser?.close();
    made.run?.child.kill("SIGINT");
    await made.run?.ended;
    process.chdir(root);
    rmSync(folder, { recursive: true, force: true });
  }
}

for (const scene of [whole, ...scenes]) {
  if (chosen.length === 0 || chosen.includes(scene.name)) await take(scene);
}
