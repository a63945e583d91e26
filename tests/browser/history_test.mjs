// Checks the history, the signs and the advice with a real browser, on servers of its own with made-up events.
//
//   node history_test.mjs LIVE_EXAMPLE [FOLDER_FOR_SCREENSHOTS]
//
// LIVE_EXAMPLE is target/release/examples/live. Checked: a spike of one second is in what is drawn at every range, also where
// many seconds are one point; losses are marked and told above everything; series are searched for and chosen by the keyboard;
// zooming by mouse and keyboard; the address keeps all of it; reasons of discards open; while nothing comes the page shows what
// the doctor finds; everything can be read at 390, 1280 and 1920 pixels; the console is empty.

import { open, until, waitUntil } from "./browser.mjs";
import { check, conclude } from "./checks.mjs";
import { atAllWidths } from "./layout.mjs";
import { serve } from "./server.mjs";

const [program, folder] = process.argv.slice(2);
if (!program) {
  console.error("usage: node history_test.mjs LIVE_EXAMPLE [FOLDER_FOR_SCREENSHOTS]");
  process.exit(2);
}
const rate = 2000;
const drawn = (page) => page.evaluate(() => window.evforge.history());
const largest = (values) => values.reduce((most, value) => Math.max(most, value?.max ?? 0), 0);
const hash = (page) => page.evaluate(() => location.hash);
const text = (page, id) => page.textContent(`#${id}`);

/** Waits until what is drawn is as wanted, and gives it. */
const untilDrawn = (page, wanted, what) => waitUntil(page, () => drawn(page), wanted, what);

async function fits(page, label) {
  const problems = await atAllWidths(page, folder, label);
  check(problems.length === 0, `${label}: everything can be read${problems.map((line) => `\n      ${line}`).join("")}`);
}

async function withPage(more, look) {
  const { server, address } = await serve(program, "127.0.0.1:0", more);
  const { browser, page, complaints } = await open(`http://${address}`);
  try {
    await look(page, address);
    check(complaints.length === 0, `the console is empty${complaints.map((line) => `\n      ${line}`).join("")}`);
  } catch (error) {
    check(false, error.stack);
  } finally {
    await browser.close();
    server.kill();
  }
}

await withPage(["--rate", String(rate), "--spike", "5", "--loss", "0.05"], async (page, address) => {
  // At once, out of the rates that come by themselves.
  await until(page, (s) => s?.points >= 9, "nine seconds");
  const first = await untilDrawn(page, ({ lines }) => largest(lines[0] ?? []) > 3 * rate, "the spike");
  check(first.step_s === 1 && first.lines.length === 1, `ten minutes of events are drawn without asking: ${first.times.length} points`);
  check(first.lost.some((count) => count > 0), "seconds with losses are known");
  const asked = async (id, points) => {
    const answer = await (await fetch(`http://${address}/api/history.json?series=${encodeURIComponent(id)}&points=${points}`)).json();
    return Math.max(...answer.series[0].points.map(({ max }) => max));
  };
  const expected = await asked("evforge_view_events_total", 4000);
  check(expected > 3 * rate, `the server's history has the spike: ${expected} events/s`);
  check((await asked("evforge_view_events_total", 2)) === expected, "also in two points");

  // Every range; and with so few points that many seconds are one.
  let few = false;
  await page.route("**/api/history.json?*", (route) => {
    const url = new URL(route.request().url());
    if (few) url.searchParams.set("points", "3");
    return route.continue({ url: String(url) });
  });
  const ranges = await page.$$eval("#history-range option", (options) => options.map(({ value }) => value));
  check(ranges.length === 5 && ranges.at(-1) === String(48 * 3600), `there are ranges up to 48 hours: ${ranges}`);
  for (few of [false, true]) {
    for (const range of ranges.filter((range) => Number(range) > 600)) {
      // Another one in between, so that what is looked at is asked for again.
      await page.selectOption("#history-range", "600");
      await page.selectOption("#history-range", range);
      const has = ({ step_s, times }) => times.length > 0 && (few ? step_s > 1 : step_s === 1);
      const now = await untilDrawn(page, has, `the answer for ${range} s`);
      check(largest(now.lines[0]) === expected, `${range} s in steps of ${now.step_s} s: the spike is drawn, as high as it was`);
      check(now.lost.some((count) => count > 0), `${range} s in steps of ${now.step_s} s: losses are marked`);
    }
  }
  few = false;
  for (const range of ["60", "600"]) {
    await page.selectOption("#history-range", range);
    const now = await untilDrawn(page, ({ times }) => times.length > 0, `the last ${range} s`);
    check(largest(now.lines[0]) > 3 * rate, `${range} s: the spike is drawn`);
  }

  // Values by the keyboard.
  await page.focus("#rate");
  await page.keyboard.press("ArrowLeft");
  const newest = await text(page, "rate-value");
  await page.keyboard.press("Home");
  const oldest = await text(page, "rate-value");
  check(/events\/s at \d\d:\d\d:\d\d/.test(newest) && oldest !== newest, `arrow keys read values: "${newest}", "${oldest}"`);
  await page.keyboard.press("End");
  await page.keyboard.press("+");
  const zoomed = await untilDrawn(page, ({ times }) => times.length > 0, "a part");
  check(zoomed.times.at(-1) - zoomed.times[0] <= 62 && (await hash(page)).includes("zoom="), "+ zooms, and the address keeps it");
  await page.keyboard.press("0");
  check(!(await hash(page)).includes("zoom="), "0 shows all");

  // And by the mouse.
  await page.selectOption("#history-range", "3600");
  await untilDrawn(page, ({ times }) => times.length > 0, "an hour");
  // The band above everything comes and goes, and moves the chart: who misses it tries again.
  let part = null;
  for (let attempt = 0; part === null && attempt < 3; attempt++) {
    await page.locator("#rate .u-over").hover();
    const box = await (await page.$("#rate .u-over")).boundingBox();
    const y = box.y + box.height / 2;
    await page.mouse.move(box.x + box.width * 0.6, y);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.9, y, { steps: 5 });
    await page.mouse.up();
    part = /zoom=(\d+)-(\d+)/.exec(await hash(page));
  }
  check(part !== null && Number(part[2]) > Number(part[1]), `dragging zooms: ${part?.[0]}`);
  check(await page.isVisible("#history-all"), "a button shows all again");
  for (let attempt = 0; (await hash(page)).includes("zoom=") && attempt < 3; attempt++) {
    await page.locator("#rate .u-over").dblclick();
  }
  check(!(await hash(page)).includes("zoom="), "so does a double click");

  // Other series, by the keyboard.
  await page.focus("#series");
  await page.keyboard.press("Enter");
  await page.waitForSelector("#series-list li");
  const all = await page.$$eval("#series-list li", (options) => options.length);
  await page.keyboard.type("lost fec 2");
  await page.waitForFunction(() => document.querySelectorAll("#series-list li").length === 1).catch(() => null);
  const found = await page.$$eval("#series-list li", (options) => options.map(({ textContent }) => textContent));
  check(all > 20 && found.length === 1 && /FEC 2/.test(found[0]), `of ${all} series, searching finds ${found}`);
  await page.keyboard.press("Enter");
  for (let times = 0; times < 10; times++) await page.keyboard.press("Backspace");
  await page.keyboard.type("lost fec 3");
  await page.waitForTimeout(500);
  await page.keyboard.press("Enter");
  await page.keyboard.press("Escape");
  check(!(await page.isVisible("#series-box")), "Escape closes the list");
  let now = await untilDrawn(page, ({ lines }) => lines.length === 2 && largest(lines[0]) > 0 && largest(lines[1]) > 0, "two series");
  const legend = await page.$$eval("#history-legend li", (lines) => lines.map(({ textContent }) => textContent));
  check(legend.length === 2 && legend.every((line) => /packets\/s/.test(line)), `each has a line with its value: ${legend.join("; ")}`);
  check((await text(page, "rate-title")) === "History", "the chart is called so");
  if (folder) await page.screenshot({ path: `${folder}/history.png` });
  await fits(page, "history");

  await page.reload();
  now = await untilDrawn(page, ({ lines }) => lines.length === 2 && largest(lines[1]) > 0, "the same after a reload");
  check((await page.inputValue("#history-range")) === "3600" && now.lines.length === 2, "a reload keeps series and range");
  // A link from elsewhere to what is not here: no error, and no line.
  await page.evaluate(() => (location.hash = "history=evforge_nothing&range=60"));
  await untilDrawn(page, ({ lines }) => lines.length === 1 && lines[0].every((value) => value === null), "a series that is not here");
  check(/evforge_nothing.*(not here|–)/.test(await text(page, "history-legend")), "a series that is not here is said to be so");
  await page.click("#rate-events");
  check(!(await hash(page)).includes("history="), "events are what is shown without a choice");

  // Signs, the sound, reasons.
  await page.waitForTimeout(600);
  const sign = await text(page, "signs");
  check((await page.isVisible("#signs")) && /\d+ packets? of FEC \d lost|sources lose packets/.test(sign), `above everything stands: "${sign}"`);
  const size = await page.$eval("#signs", (band) => parseFloat(getComputedStyle(band).fontSize));
  check(size >= 30, `in letters of ${size} pixels`);
  check((await page.getAttribute("#sound", "aria-pressed")) === "false", "there is no sound until somebody wants one");
  await page.click("#sound");
  check((await page.getAttribute("#sound", "aria-pressed")) === "true", "the sound can be switched on");
  await page.focus("#discards button");
  await page.keyboard.press("Enter");
  const help = await page.$eval("#discards p:not([hidden])", ({ textContent }) => textContent);
  await page.waitForTimeout(700);
  check(help.length > 5 && (await page.isVisible("#discards p")), `a reason opens by the keyboard, and stays open: "${help}"`);
});

await withPage(["--rate", "0", "--advice"], async (page) => {
  await until(page, (s) => s?.status?.advice?.length === 1, "advice");
  await page.waitForTimeout(300);
  const advice = await text(page, "advice");
  check(/doctor.*receive buffer: net\.core\.rmem_max is 212992, wanted: 33554432.*sudo sysctl/.test(advice), `while nothing comes: "${advice}"`);
  // A note is small, and who has read it puts it away for good.
  await until(page, (s) => s?.status?.signs?.length === 1, "the note");
  await page.waitForSelector("#signs:not([hidden])");
  check((await page.getAttribute("#signs", "data-tone")) === "note", "waiting is no alarm, and a clock without a master is a note");
  check((await page.$eval("#signs", (band) => parseFloat(getComputedStyle(band).fontSize))) < 16, "in small letters");
  if (folder) await page.screenshot({ path: `${folder}/note.png` });
  await page.click("#signs button");
  check(!(await page.isVisible("#signs")), "it is put away");
  await page.reload();
  await until(page, (s) => s?.status?.signs?.length === 1, "the note after a reload");
  await page.waitForTimeout(300);
  check(!(await page.isVisible("#signs")), "and stays away");
  await fits(page, "advice");
});
conclude("the history is right");
