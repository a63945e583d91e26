// Checks with a real browser that the page says what comes in: real packets, sent to the real program.
//
//   node states_test.mjs EVFORGE CONFIGS FOLDER [SCREENSHOTS]
//
// EVFORGE is the program, CONFIGS the folder configs/, FOLDER one for captures. Checked: waiting, live, stalled, rejecting,
// ended and disconnected are each shown as such, by the page as by /api/state.json; a picture that is not of now does not look
// as if it were; the age goes on; in each state everything can be read at 390, 1280 and 1920 pixels; many sources of which
// none has lost anything are one line, which opens by the keyboard.

import { join } from "node:path";
import { open, until, waitFor, waitUntil } from "./browser.mjs";
import { check, conclude } from "./checks.mjs";
import { demonstration, finish, live, Sending } from "./evforge.mjs";
import { atAllWidths } from "./layout.mjs";

const [program, configs, folder, screenshots] = process.argv.slice(2);
if (!folder) {
  console.error("usage: node states_test.mjs EVFORGE CONFIGS FOLDER [SCREENSHOTS]");
  process.exit(2);
}
const children = [];
const config = join(configs, "gdgem-srs.toml");
const file = (name) => join(folder, name);
const feed = (page) => page.evaluate(() => window.evforge.feed());
const api = async (url) => (await fetch(`${url}/api/state.json`)).json();

/** What a person sees. */
const seen = (page) =>
  page.evaluate(() => {
    const banner = document.getElementById("banner");
    const opacity = (selector) => Number(getComputedStyle(document.querySelector(selector)).opacity);
    return {
      pill: document.getElementById("connection").textContent,
      tone: document.getElementById("connection").dataset.tone,
      banner: banner.checkVisibility() ? banner.textContent : null,
      opacity: Math.max(opacity("#image"), ...[...document.querySelectorAll(".uplot")].map((chart) => Number(getComputedStyle(chart).opacity))),
      rate: document.getElementById("rate-value").textContent,
      age: document.getElementById("age").textContent,
      notices: document.getElementById("notices").textContent,
    };
  });

/** Waits until the page is in this state. */
function untilFeed(page, name) {
  const look = async () => {
    const now = await feed(page).catch(() => null);
    // The banner follows within half a second.
    return { now, shown: await page.evaluate(() => document.body.dataset.feed) };
  };
  return waitUntil(page, look, ({ now, shown }) => now?.name === name && shown === name, name);
}

/** What a person sees once this holds for it; in any case in the end. */
const seenOnce = (page, condition, what) => waitUntil(page, () => seen(page), condition, what);

/** Checks the layout in this state. */
async function fits(page, label) {
  const problems = await atAllWidths(page, screenshots, label);
  check(problems.length === 0, `${label}: everything can be read${problems.map((line) => `\n      ${line}`).join("")}`);
}

const seconds = (text) => Number(/(\d+)/.exec(text)?.[1]);
let sending = null;
let browser = null;
try {
  finish(program, "simulate", "--config", config, "--pulses", "42", "--output", file("gdgem.pcapng"), "--fault", "lose:probability=0.01", "--overwrite");
  finish(program, "simulate", "freia", "--pulses", "42", "--output", file("freia.pcapng"), "--overwrite");
  const run = await live(program, ["--config", config, "--set", "receive.stalled_after=2s", "--events", file("events.csv"), "--nexus", file("events.nxs"), "--overwrite"]);
  children.push(run.child);
  let page, complaints;
  ({ browser, page, complaints } = await open(run.page));

  // Nothing has come yet.
  await untilFeed(page, "waiting");
  let now = await seenOnce(page, ({ banner }) => /nothing has come in [1-9]/.test(banner), "the time without packets");
  check(now.pill === "Waiting for data" && now.tone === "wait", `waiting: the page says "${now.pill}"`);
  check(/^Waiting for data.*nothing has come in \d+ s/.test(now.banner), `waiting: over the picture stands "${now.banner}"`);
  check((await api(run.page)).feed.state === "waiting", "waiting: the JSON says so");
  await fits(page, "waiting");

  // Packets come.
  sending = new Sending(program, file("gdgem.pcapng"), run.address);
  await untilFeed(page, "live");
  await until(page, (state) => state?.total > 1000 && state.points > 3, "events");
  now = await seenOnce(page, ({ rate, opacity }) => /^[1-9].* events\/s/.test(rate) && opacity === 1, "a rate");
  check(now.pill === "Live" && now.tone === "good" && now.banner === null, `live: the page says "${now.pill}", and nothing lies over the picture`);
  check(now.opacity === 1 && /^\d.* events\/s/.test(now.rate) && !now.rate.startsWith("0 "), `live: the rate is ${now.rate}`);
  const lossyRows = () => page.evaluate(() => document.querySelectorAll("#sources dl .bad").length);
  await waitUntil(page, lossyRows, (rows) => rows > 0, "sources that lose packets");
  const ledger = await page.textContent("#ledger");
  check(/Discarded/.test(ledger) && /lost/.test(ledger), "live: the ledger is there");
  const lossy = await page.evaluate(() => [...document.querySelectorAll("#sources dl .bad")].map((row) => row.textContent));
  check(lossy.length > 0 && lossy.every((row) => row.startsWith("FEC") && row.includes("lost")), `live: sources that lose packets have lines: ${lossy}`);
  await page.click("#rate-packets");
  now = await seen(page);
  check(/ packets\/s/.test(now.rate), `live: packets over time are there, too: ${now.rate}`);
  await page.click("#rate-events");
  await fits(page, "live");

  // And do not come any more.
  await sending.stop();
  await untilFeed(page, "stalled");
  const first = await seen(page);
  const ages = (now) => seconds(now.age.replace(/\D+/, ""));
  const goesOn = (now) => seconds(now.pill) - seconds(first.pill) >= 2 && ages(now) > ages(first) && now.opacity < 0.5 && /^0 /.test(now.rate);
  now = await seenOnce(page, goesOn, "further seconds");
  check(/^No data for \d+ s$/.test(now.pill) && now.tone === "bad", `stalled: the page says "${now.pill}"`);
  check(now.banner?.startsWith(now.pill) && /the picture is that of/.test(now.banner), `stalled: over the picture stands "${now.banner}"`);
  check(seconds(now.pill) - seconds(first.pill) >= 2, `stalled: the seconds are counted: "${first.pill}", then "${now.pill}"`);
  check(now.opacity < 0.5, `stalled: the pictures are dimmed: ${now.opacity}`);
  check(/^0 events\/s/.test(now.rate), `stalled: the rate is ${now.rate}`);
  check(ages(now) > ages(first), `stalled: the age goes on: "${first.age}", then "${now.age}"`);
  const told = await api(run.page);
  check(told.feed.state === "stalled" && told.feed.packet_ms > 2000 && /^No data for/.test(told.feed.text), "stalled: the JSON says so, in the same words");
  await fits(page, "stalled");

  // Packets come that nobody can use.
  sending = new Sending(program, file("freia.pcapng"), run.address);
  await untilFeed(page, "rejecting");
  now = await seenOnce(page, ({ banner, opacity }) => /FREIA/.test(banner) && opacity < 0.5, "the reason");
  check(now.pill === "Packets come, none is used" && now.tone === "bad", `rejecting: the page says "${now.pill}"`);
  check(/FREIA/.test(now.banner) && /freia\.toml/.test(now.banner), `rejecting: the reason and the format: "${now.banner}"`);
  check(now.opacity < 0.5, "rejecting: the pictures are dimmed");
  check((await api(run.page)).feed.state === "rejecting", "rejecting: the JSON says so");
  await fits(page, "rejecting");
  await sending.stop();

  // Good ones again, then the end.
  sending = new Sending(program, file("gdgem.pcapng"), run.address);
  await untilFeed(page, "live");
  await sending.stop();
  check(complaints.length === 0, `the console is empty${complaints.map((line) => `\n      ${line}`).join("")}`);
  run.child.kill("SIGINT");
  await untilFeed(page, "ended");
  const status = await run.ended;
  // It stays so, though there is no server any more: a page that has lost its server says so within three seconds.
  await page.waitForTimeout(4000);
  now = await seen(page);
  check(now.pill === "Ended: stopped on request" && now.banner?.startsWith(now.pill), `ended: the page says "${now.banner}"`);
  check(now.opacity === 1 && now.rate === "– events/s", `ended: the last counts are data, and there is no rate: ${now.rate}`);
  check(/ended +stopped on request after/.test(run.printed), "ended: the report has the same words");
  check(/ s  (Waiting for data|Live|No data for|Packets come)/.test(run.said), "the lines on the terminal begin with the state");
  check(status === 0, `what was rejected for a while is no failure of the run: status ${status}`);
  await fits(page, "ended");
  await browser.close();

  // A program that is killed says nothing.
  const other = await live(program, ["--config", config, "--quiet"].slice(0, 2));
  children.push(other.child);
  ({ browser, page } = await open(other.page));
  sending = new Sending(program, file("gdgem.pcapng"), other.address);
  await untilFeed(page, "live");
  await until(page, (state) => state?.total > 1000, "events");
  other.child.kill("SIGKILL");
  await sending.stop();
  await untilFeed(page, "disconnected");
  const gone = await seen(page);
  const counts = (now) => seconds(now.pill) > seconds(gone.pill) && now.age !== gone.age && now.opacity < 0.5;
  now = await seenOnce(page, counts, "further seconds");
  check(/^No connection to evforge for \d+\u202fs$/.test(now.pill) && now.tone === "bad", `disconnected: the page says "${now.pill}"`);
  check(now.banner?.startsWith("No connection to evforge") && now.opacity < 0.5, `disconnected: "${now.banner}", and the pictures are dimmed`);
  check(seconds(now.pill) > seconds(gone.pill), `disconnected: the seconds are counted: "${gone.pill}", then "${now.pill}"`);
  check(now.rate === "– events/s" && now.age !== gone.age, `disconnected: no rate (${now.rate}), and the age goes on (${now.age})`);
  await fits(page, "disconnected");
  await browser.close();

  // Hundreds of sources.
  const demo = await demonstration(program, ["--detector", "sonde", "--for", "10min", "--view", "127.0.0.1:0", "--output", file("demo")]);
  children.push(demo.child);
  ({ browser, page } = await open(demo.page));
  await until(page, (state) => (state?.status?.ledger?.sources.length ?? 0) >= 300, "hundreds of sources");
  const sources = (await page.evaluate(() => window.evforge.state())).status.ledger.sources.length;
  const rows = () => page.evaluate(() => [...document.querySelectorAll("#sources dl > div")].filter((row) => row.checkVisibility()).length);
  const folded = await rows();
  check(folded <= 6, `${sources} sources are ${await page.textContent("#sources summary")}: ${folded} lines besides`);
  await fits(page, "sources");
  await page.focus("#sources summary");
  await page.keyboard.press("Enter");
  const opened = await waitUntil(page, rows, (rows) => rows >= 300, "a line for each");
  check(opened >= 300, `opened by the keyboard, each has a line: ${opened}`);
  const packets = async () => (await page.evaluate(() => window.evforge.state())).status.ledger.packets.received;
  for (let change = 0; change < 3; change++) {
    const before = await packets();
    await waitFor(page, async () => (await packets()) > before, "other counts");
  }
  check((await rows()) >= opened, "they stay open while the counts change");
  await page.keyboard.press("Enter");
  await waitUntil(page, rows, (rows) => rows <= 6, "the lines are folded");
  check((await rows()) <= 6, "and are closed by the keyboard");
} catch (error) {
  check(false, error.message);
} finally {
  await sending?.stop();
  await browser?.close();
  for (const child of children) child.kill("SIGKILL");
}
conclude("the states are right");
