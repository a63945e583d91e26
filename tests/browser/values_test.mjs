// Checks what the page shows of what came besides events: values, pulses, spectra of beam monitors, what a run tells of itself.
//
//   node values_test.mjs URL [FOLDER_FOR_SCREENSHOTS]
//
// URL is the page of `evforge view --kafka` with such messages: crates/evforge/tests/kafka/view_values.rs sends them, and runs this.
// Checked: the panel is closed at first and says what is in it; values are those of the server, with unit and age; a click on one shows
// its series in the history; the spectrum of a monitor is that of the server, and is drawn; counts per µAh are counts divided by the charge of
// the window, in every window; what the run tells of itself is in the ledger under its own heading; everything can be read at all
// widths; axe finds nothing serious; the console is empty.

import { checkAxeInThemes } from "./axe.mjs";
import { open, until, untilHead, waitFor } from "./browser.mjs";
import { check, conclude } from "./checks.mjs";
import { atAllWidths } from "./layout.mjs";

const [url, folder] = process.argv.slice(2);
if (!url) {
  console.error("usage: node values_test.mjs URL [FOLDER_FOR_SCREENSHOTS]");
  process.exit(2);
}
const server = async (path) => (await fetch(`${url}${path}`)).json();


const { browser, page, complaints } = await open(url);
await until(page, (s) => s?.status?.beam === true, "the server has values");
await page.waitForSelector("#beam-panel", { state: "visible" });
check(!(await page.isVisible("#log-value-table")), "the panel is closed at first");
const summary = await page.textContent("#beam-summary");
check(/pulses/.test(summary) && /µAh/.test(summary) && /values/.test(summary) && /spectra/.test(summary), `and says what is in it: ${summary}`);
await page.click("#beam-panel summary");
await page.waitForSelector("#log-value-table tbody tr");
check(page.url().includes("beam=open"), "the address keeps that it is open");

// Values.
const known = await server("/api/beam.json");
const line = page.locator("#log-value-table tbody tr", { has: page.getByRole("button", { name: "temperature", exact: true }) });
const cells = (await line.locator("td").allTextContents()).map((text) => text.trim());
const temperature = known.values.find(({ name }) => name === "temperature");
check(Number(cells[0]) === temperature.value && cells[1] === temperature.unit, `a value is that of the server: ${cells.join(", ")}`);
check(/\d\u202f(s|min)/.test(cells[2]), `and has an age: ${cells[2]}`);
check((await page.locator("#log-value-table tbody tr").count()) === known.values.length, `all ${known.values.length} values are there`);
const pulses = (await page.locator("#pulse-table tbody td").allTextContents()).map((text) => text.trim());
const { pulses: raw, pulses_good: good, charge_uah: charge } = known.pulses[0];
check(Number(pulses[0]) === raw && Number(pulses[1]) === good && Number(pulses[2]) === charge, `pulses raw and good, charge: ${pulses.join(", ")}`);

// A click opens the chart.
await line.getByRole("button").click();
const drawn = await waitFor(
  page,
  () => page.evaluate((value) => {
    const table = window.evforge.history();
    // Until the answer is there, the chart before is shown.
    return table.lines[0]?.findLast((point) => point)?.mean === value ? table : null;
  }, temperature.value),
  "the series of the value is drawn",
);
const means = drawn.lines[0].filter((point) => point).map(({ mean }) => mean);
check(means.at(-1) === temperature.value, `the history shows it: ${means.at(-1)}`);
check((await page.textContent("#rate-title")) === "History" && page.url().includes("evforge_view_value"), "and the address says so");

// Spectra of monitors.
for (const name of ["cave", "beam"]) {
  await page.selectOption("#monitor-spectrum-choice", name);
  const shown = await waitFor(
    page,
    () => page.evaluate((name) => {
      const shown = window.evforge.monitorSpectrum();
      return shown?.name === name ? shown : null;
    }, name),
    `the spectrum of ${name}`,
  );
  const told = await server(`/api/monitor-spectrum.json?name=${name}`);
  check(JSON.stringify(shown.counts) === JSON.stringify(told.counts), `the spectrum of ${name} is that of the server: ${shown.counts}`);
}
const pixels = await page.evaluate(() => {
  const canvas = document.querySelector("#monitor-spectrum canvas");
  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true });
  copy.drawImage(canvas, 0, 0);
  const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
  let drawn = 0;
  for (let at = 3; at < data.length; at += 4) if (data[at] > 0) drawn += 1;
  return drawn;
});
check(pixels > 500, `and is drawn: ${pixels} points`);
await page.click("#monitor-spectrum-log");
check((await page.getAttribute("#monitor-spectrum-log", "aria-pressed")) === "true", "it can be logarithmic");

// Per µAh.
await page.selectOption("#per", "charge");
const head = await untilHead(page, ({ charge_uah }) => charge_uah > 0, "the charge of the window");
check(Math.abs(head.charge_uah - charge) < 1e-9, `the window has the charge: ${head.charge_uah} µAh`);
// The page may be laid out again meanwhile: the cursor is moved until it is over the first block.
const read = await waitFor(
  page,
  async () => {
    const corner = await page.evaluate(() => {
      const [box, plot] = [document.getElementById("image").getBoundingClientRect(), window.evforge.plot()];
      return { left: box.left + plot.left + 1, top: box.top + plot.top + plot.height - 1 };
    });
    await page.mouse.move(corner.left, corner.top);
    const text = await page.textContent("#cursor");
    return /\bx 0\b.*\by 0\b.*\/µAh/.test(text) ? text : null;
  },
  "the value of the first block is per µAh",
);
const expected = await page.evaluate(() => {
  const { x, y } = window.evforge.block();
  return window.evforge.image().counts[0] / (x * y);
});
const value = Number(/([\d.]+)\u202f? ?\/µAh/.exec(read)?.[1]);
check(expected > 0 && Math.abs(value / (expected / head.charge_uah) - 1) < 0.05, `${read}: ${expected} per pixel / ${head.charge_uah} µAh`);
check((await page.isHidden("#view-problem")) && page.url().includes("per=charge"), "the address keeps it, and there is no problem");
await page.click("#clear");
await waitFor(
  page,
  async () => !(await page.isHidden("#view-problem")) && (await page.textContent("#view-problem")).includes("no proton charge"),
  "a window without charge says so",
);
check((await untilHead(page, ({ charge_uah }) => charge_uah === 0, "the window since now")).charge_uah === 0, "since now there is none");
await page.click("#show-all");

// The ledger.
const ledger = await waitFor(
  page,
  async () => {
    const text = await page.textContent("#ledger");
    return text.includes("Told by the run freia") ? text : null;
  },
  "what the run tells of itself",
);
check(/packets lost7/.test(ledger) && /events not in the topic2/.test(ledger), "the ledger has what the run has lost, under its own heading");
check(/the run says that it is not complete/.test(ledger), "and that it is not complete");

const problems = await atAllWidths(page, folder, "values");
check(problems.length === 0, `everything can be read${problems.map((problem) => `\n      ${problem}`).join("")}`);
await checkAxeInThemes(page);
// A link shows the same.
await page.reload();
await page.waitForSelector("#log-value-table tbody tr");
check(await page.isVisible("#monitor-spectrum"), "a reload shows the panel open");
check(complaints.length === 0, `the console is empty${complaints.map((complaint) => `\n      ${complaint}`).join("")}`);
await browser.close();
conclude("what came besides events is on the page");
