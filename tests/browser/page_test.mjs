// Checks the live view with a real browser.
//
//   node page_test.mjs URL EXPECTED.json [SCREENSHOT.png]
//
// EXPECTED.json is {"nx":…,"ny":…,"values":[…]}: what each pixel should have in proportion, row by row from
// y = 0. Checked: the counts grow; the image, taken from the page's data, has a correlation of at least 0.9
// with what is expected and below 0.3 with its mirror images; what is drawn agrees with the data; nothing
// scrolls at 1280 x 800; "Clear" counts afresh; a reload comes back; the console is empty.

import { readFileSync } from "node:fs";
import { image, open, state, until, untilHead, waitUntil } from "./browser.mjs";
import { check, conclude } from "./checks.mjs";
import { correlation, mirrored } from "./images.mjs";

const [url, expectedPath, screenshot] = process.argv.slice(2);
if (!url || !expectedPath) {
  console.error("usage: node page_test.mjs URL EXPECTED.json [SCREENSHOT.png]");
  process.exit(2);
}
const expected = JSON.parse(readFileSync(expectedPath, "utf8"));
const total = (counts) => counts.reduce((sum, count) => sum + count, 0);

/** Brightness of the canvas where the image is drawn, put back on the detector's grid. */
const drawnBrightness = (page, nx, ny) =>
  page.evaluate(([nx, ny]) => {
    const canvas = document.getElementById("image");
    const plot = window.evforge.plot();
    const ratio = canvas.width / canvas.getBoundingClientRect().width;
    // A copy is read: where this is done again, the browser would complain of reading the page's own canvas.
    const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true });
    copy.drawImage(canvas, 0, 0);
    const { data, width } = copy.getImageData(0, 0, canvas.width, canvas.height);
    const values = [];
    for (let y = 0; y < ny; y++) {
      for (let x = 0; x < nx; x++) {
        const left = Math.floor((plot.left + ((x + 0.5) / nx) * plot.width) * ratio);
        const top = Math.floor((plot.top + (1 - (y + 0.5) / ny) * plot.height) * ratio);
        const at = (top * width + left) * 4;
        values.push(data[at] + data[at + 1] + data[at + 2]);
      }
    }
    return values;
  }, [nx, ny]);

const { browser, page, complaints } = await open(url);
try {
  await until(page, (s) => s?.pictures >= 2, "a second picture");
  const before = await image(page);
  check(before.nx === expected.nx && before.ny === expected.ny, `the image has ${expected.nx} x ${expected.ny} pixels`);
  // The more counts, the higher the correlation with what is right, and with nothing else.
  const isEnough = ({ counts }) => total(counts) > total(before.counts) && correlation(counts, expected.values) >= 0.9;
  const after = await waitUntil(page, () => image(page), isEnough, "counts that grow, and look as expected");
  check(total(after.counts) > total(before.counts), `counts grow: ${total(before.counts)}, then ${total(after.counts)}`);

  const right = correlation(after.counts, expected.values);
  check(right >= 0.9, `correlation with what is expected: ${right.toFixed(3)} (at least 0.9)`);
  for (const [name, turn] of [["x", { x: true }], ["y", { y: true }], ["x and y", { x: true, y: true }]]) {
    const wrong = correlation(after.counts, mirrored(expected, turn));
    check(wrong < 0.3, `correlation with its mirror image in ${name}: ${wrong.toFixed(3)} (below 0.3)`);
  }
  // Brightness is no count: it takes more of them to look as expected.
  const brightness = async () => correlation(await drawnBrightness(page, expected.nx, expected.ny), expected.values);
  const drawn = await waitUntil(page, brightness, (found) => found >= 0.8, "a drawn picture as expected");
  check(drawn >= 0.8, `correlation of the drawn picture, y upwards: ${drawn.toFixed(3)} (at least 0.8)`);

  // Of a busy host there may be fewer updates for a while.
  const now = await waitUntil(page, () => state(page), (s) => s.updatesPerSecond >= 2 && s.points >= 4, "updates and a rate over time");
  check(now.phase === "connected" && now.status.ledger !== undefined, "connected, with a ledger");
  check(now.updatesPerSecond >= 2, `${now.updatesPerSecond.toFixed(1)} updates/s (at least 2), ${now.status.skipped} skipped`);
  check(now.points >= 4, `${now.points} points of the rate`);
  const scrolls = await page.evaluate(() => {
    const { scrollWidth, scrollHeight } = document.documentElement;
    return scrollWidth > innerWidth || scrollHeight > innerHeight;
  });
  check(!scrolls, "nothing scrolls at 1280 x 800");
  if (screenshot) await page.screenshot({ path: screenshot });

  await page.click("#clear");
  const { clearedAt } = await state(page);
  await untilHead(page, ({ since_ms }) => since_ms >= clearedAt - 1000, "a picture since \"Clear\"");
  const cleared = total((await image(page)).counts);
  check(cleared < total(after.counts) / 2, `after "Clear" the image has ${cleared} counts`);
  await page.click("#show-all");
  await untilHead(page, ({ since_ms }) => since_ms < clearedAt - 1000, "a picture of all counts");
  check(total((await image(page)).counts) >= total(after.counts), '"Show all" brings them back');

  await page.reload();
  await until(page, (s) => s?.pictures >= 1, "a picture after the reload");
  check(total((await image(page)).counts) >= total(after.counts), "a reload shows all counts again");
  check((await state(page)).points >= now.points, "a reload keeps the rate's history");
  check(complaints.length === 0, `the console is empty${complaints.map((line) => `\n      ${line}`).join("")}`);
} catch (error) {
  check(false, error.message);
} finally {
  await browser.close();
}
conclude("the page is right");
