// Checks the monitor of the live view with a real browser, while packets come in.
//
//   node monitor_test.mjs URL [SCREENSHOT.png]          with the token of the run in EVFORGE_TOKEN
//
// Checked: without the token the switch does not work, and says why; the token does not stay in the address bar and is kept when the
// page is loaded again; the monitor is closed and off at first and asks for nothing; switched on, it shows counts per channel,
// which grow and are drawn; thresholds are named and drawn, with the readouts below them; maps of amplitude against channel have the
// readouts of the histograms; a channel can be pointed at and clicked; parts without data are hidden; switched off,
// it is off for everybody and shows nothing; the console is empty.

import { launch, openIn, waitFor, waitUntil } from "./browser.mjs";
import { check, conclude } from "./checks.mjs";

const [url, screenshot] = process.argv.slice(2);
if (!url) {
  console.error("usage: node monitor_test.mjs URL [SCREENSHOT.png]");
  process.exit(2);
}

const monitor = (page) => page.evaluate(() => window.evforge.monitor());
const readouts = ({ data }) => (data?.channels ?? []).reduce((sum, channel) => sum + channel.readouts, 0);
const server = async () => (await fetch(`${url}/monitor.json`)).json();

/** Waits until `condition` holds for what the monitor shows; gives that. */
const until = (page, condition, what) => waitUntil(page, () => monitor(page), condition, what);
/** An open monitor asks once a second. That one does not can only be seen after that time: twice it. */
const whileItWouldAsk = (page) => page.waitForTimeout(2000);

/** Pixels of a canvas that are not empty. */
const drawnPixels = (page, id) =>
  page.evaluate((id) => {
    const canvas = document.getElementById(id);
    // A copy is read: reading the page's own canvas often would make it slower, and the browser complain.
    const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true });
    copy.drawImage(canvas, 0, 0);
    const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
    let drawn = 0;
    for (let at = 3; at < data.length; at += 4) if (data[at] > 0) drawn += 1;
    return drawn;
  }, id);

/** Every part: whether the data have something for it. */
const parts = {
  channels: ({ channels }) => channels.length > 0,
  noticed: ({ channels }) => channels.length > 0,
  amplitudes: ({ channels }) => channels.some(({ spectrum }) => spectrum.some((count) => count > 0)),
  "map-0": (data) => hasMap(data, 0),
  "map-1": (data) => hasMap(data, 1),
  "sizes-0": ({ planes }) => hasClusters(planes[0]),
  "sizes-1": ({ planes }) => hasClusters(planes[1]),
  correlation: ({ correlation }) => correlation.some((count) => count > 0),
  "track-0": ({ tracks }) => hasHits(tracks, 0),
  "track-1": ({ tracks }) => hasHits(tracks, 1),
  "strips-0": ({ tracks }) => hasHits(tracks, 0),
  "strips-1": ({ tracks }) => hasHits(tracks, 1),
};
const hasMap = ({ channels }, plane) => {
  const hasPlanes = channels.some((channel) => channel.plane !== undefined);
  const shown = channels.filter((channel) => (hasPlanes ? channel.plane === plane : plane === 0));
  return shown.some(({ spectrum }) => spectrum.some((count) => count > 0));
};
const hasClusters = (plane) =>
  plane !== undefined && [...plane.multiplicity, ...plane.lone_multiplicity].some((count) => count > 0);
const hasHits = (tracks, plane) =>
  (tracks.findLast(({ hits }) => hits.length > 0)?.hits ?? []).some((hit) => hit.plane === plane);

const secret = process.env.EVFORGE_TOKEN ?? "";
const browser = await launch();
{
  const { page, complaints } = await openIn(browser, url);
  await page.waitForSelector("#monitor-panel", { state: "visible" });
  await page.click("#monitor-panel summary");
  await page.waitForSelector("#monitor-on", { state: "visible" });
  await page.waitForFunction(() => document.getElementById("monitor-note").textContent !== "");
  check(await page.isDisabled("#monitor-on"), "without the token the switch does not work");
  check((await page.textContent("#monitor-note")).includes("#token="), "and the page says why");
  const refused = await page.evaluate(async () => (await fetch("/monitor/on", { method: "POST" })).status);
  check(refused === 401 && (await server()).on === false, `nor does it without the switch: ${refused}`);
  const others = complaints.filter((line) => !line.includes("401"));
  check(others.length === 0, `nothing else is wrong ${others.join(" ")}`);
  await page.close();
}
const { page, complaints } = await openIn(browser, `${url}/#token=${secret}`);
await page.waitForFunction(() => location.hash === "");
check(!page.url().includes(secret), "the token does not stay in the address bar");
await page.reload();
check((await page.evaluate(() => sessionStorage.getItem("evforge-token"))) === secret, "it is kept for this tab");
const asked = [];
page.on("request", (request) => {
  if (new URL(request.url()).pathname.startsWith("/monitor")) asked.push(request);
});
const questions = () => asked.length;
try {
  await page.waitForSelector("#monitor-panel", { state: "visible" });
  await whileItWouldAsk(page);
  check(questions() === 0 && (await server()).on === false, "while it is closed, the page asks for nothing; it is off");

  await page.click("#monitor-panel summary");
  await page.waitForSelector("#monitor-on", { state: "visible" });
  await whileItWouldAsk(page);
  check(questions() === 1, `open but off, the page asks once: ${questions()}`);
  check(!(await page.isVisible("#channels-part")), "nothing is shown while it is off");

  await page.click("#monitor-on");
  const first = await until(page, (shown) => shown.on && readouts(shown) > 0, "counts per channel");
  check((await server()).on === true, "the run collects");
  const later = await until(page, (shown) => readouts(shown) > readouts(first), "growing counts");
  check(true, `counts per channel appear and grow: ${readouts(first)}, then ${readouts(later)} readouts`);
  const before = questions();
  await waitFor(page, () => questions() >= before + 5, "further questions");
  // Never more often; a busy host makes it seldomer. As the browser has the times: several may be heard of at once.
  const times = asked.slice(before, before + 4).map((request) => request.timing().startTime);
  const rate = (1000 * 3) / (times[3] - times[0]);
  check(rate < 1.5, `at most one question a second: ${rate}`);

  const shown = await page.evaluate((ids) => {
    // All at one moment: the page is renewed every second.
    const { data } = window.evforge.monitor();
    const having = data.channels.filter(({ threshold }) => threshold !== undefined);
    const line = window.evforge.amplitudeLine(Math.min(...having.map(({ threshold }) => threshold)));
    const text = document.getElementById("amplitudes-threshold").textContent;
    const listed = [...document.querySelectorAll("#noticed-table tbody th")].map(({ textContent }) => textContent);
    const told = document.getElementById("mask").textContent;
    return { data, line, text, listed, told, maps: window.evforge.amplitudeMaps(), visible: ids.filter((id) => !document.getElementById(`${id}-part`).hidden) };
  }, Object.keys(parts));
  for (const [id, isThere] of Object.entries(parts)) {
    const expected = isThere(shown.data);
    check(shown.visible.includes(id) === expected, `${id} is ${expected ? "shown" : "hidden: nothing was collected"}`);
    if (expected && id !== "noticed") check((await drawnPixels(page, id)) > 500, `${id} is drawn`);
  }
  const { line, text, maps } = shown;
  const { channels, amplitude_bits, spectrum_bins } = shown.data;
  const having = channels.filter(({ threshold }) => threshold !== undefined);
  const digits = (text) => text.replaceAll(/[^0-9]/g, "");
  if (having.length === 0) check(text === "no threshold", `no threshold is told of: ${text}`);
  else {
    const below = having.reduce((sum, channel) => sum + channel.below, 0);
    const not = having.reduce((sum, channel) => sum + channel.readouts, 0) - below;
    const values = [...new Set(having.map(({ threshold }) => threshold))].sort((a, b) => a - b);
    const [what, sides] = text.split(":");
    check(digits(what) === [...new Set([values[0], values.at(-1)])].join(""), `the thresholds are named: ${what}`);
    check(digits(sides) === `${below}${not}`, `and how many readouts are below and not: ${sides}`);
    const described = await page.getAttribute("#amplitudes", "aria-describedby");
    check(described === "amplitudes-threshold", "the chart is described by that");
    // The line: a column of the colour of bad things where the threshold is.
    const inRange = values[0] < 2 ** amplitude_bits;
    check(!inRange || (line !== null && line.drawn > line.height * 0.9), `a line stands at ${values[0]}: ${JSON.stringify(line)}`);
  }
  // Bin for bin: below the threshold are those of whole bins below it at least, and those of the one it is in at most.
  const wrong = having.filter(({ spectrum, threshold, below }) => {
    const bin = Math.floor((threshold * spectrum_bins) / 2 ** amplitude_bits);
    const least = spectrum.slice(0, bin).reduce((sum, count) => sum + count, 0);
    return below < least || below > least + (spectrum[bin] ?? 0);
  });
  check(wrong.length === 0, `counts below the thresholds are those of the spectra ${wrong.map(({ name }) => name).join()}`);
  const sum = (counts) => counts.reduce((a, b) => a + b, 0);
  const hasPlanes = channels.some(({ plane }) => plane !== undefined);
  for (const [plane, map] of maps.entries()) {
    const onPlane = channels.filter((channel) => (hasPlanes ? channel.plane === plane : plane === 0));
    const counted = sum(onPlane.map(({ spectrum }) => sum(spectrum)));
    check(map === counted, `map ${plane} has the readouts of the histograms: ${map} and ${counted}`);
  }
  const { noticed, mask } = shown.data;
  check(shown.listed.join() === noticed.slice(0, 100).map(({ name }) => name).join(), `channels that stand out are listed: ${noticed.length}`);
  check(shown.told === mask, "with the mask of them");

  const busiest = shown.data.channels.reduce((a, b) => (b.readouts > a.readouts ? b : a));
  const place = await page.evaluate((index) => window.evforge.channelBar(index), busiest.index);
  await page.hover("#channels", { position: { x: place.left, y: place.top } });
  const note = await page.textContent("#channels-note");
  check(note.startsWith(`${busiest.name}: `) && /\d readouts/.test(note), `the busiest channel is named: ${note}`);
  if (shown.visible.includes("amplitudes")) {
    await page.click("#channels", { position: { x: place.left, y: place.top } });
    check((await page.textContent("#amplitudes-note")) === busiest.name, "a click shows its amplitudes");
  }
  const linear = await drawnPixels(page, "channels");
  await page.click("#monitor-logarithmic");
  const logarithmic = await drawnPixels(page, "channels");
  check(logarithmic > linear, `bars are higher on the logarithmic scale: ${linear}, then ${logarithmic} pixels`);
  if (screenshot) await page.screenshot({ path: screenshot, fullPage: true });

  await page.click("#monitor-off");
  await until(page, (now) => !now.on && now.data === null, "the end of the monitor");
  check((await server()).on === false, "it is switched off for everybody");
  check(!(await page.isVisible("#channels-part")), "and shows nothing any more");
  const end = questions();
  await whileItWouldAsk(page);
  check(questions() === end, "nor asks for anything");
  check(complaints.length === 0, `the console is empty${complaints.map((line) => `\n      ${line}`).join("")}`);
} catch (error) {
  check(false, error.message);
} finally {
  await browser.close();
}
conclude("the monitor is right");
