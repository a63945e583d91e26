// What a browser sees of pages whose events are all there: every picture of each, whole, with a slice and with regions.
//
//   node seen.mjs PAGES.json SEEN.json
//
// PAGES.json: [{ "page": "http://…", "events": N, "slice": [from, to] }, …]; the slice in nanoseconds.
// SEEN.json: for each page its `pictures`, as `window.evforge` has them, and `complaints` of the browser's console. What of it is
// right says tests/python/cuts.py, from the events. Pictures are chosen by hand, their cuts by the address.

import { readFileSync, writeFileSync } from "node:fs";
import { launch, openIn, state, until, waitUntil } from "./browser.mjs";

const [asked, seen] = process.argv.slice(2);
if (!seen) {
  console.error("usage: node seen.mjs PAGES.json SEEN.json");
  process.exit(2);
}

/** A rectangle and a triangle; no middle of a pixel is on an edge of either. */
function regionsOf(name, nx, ny) {
  const rectangle = [[Math.floor(nx / 4), 0], [Math.max(1, Math.floor(nx / 2)), Math.max(1, Math.floor(ny / 3))]];
  const triangle = [[0.31, 0.13], [nx - 0.21, 0.37], [nx * 0.41 + 0.017, ny - 0.11]];
  return { rectangle, triangle, text: [["rectangle", rectangle], ["polygon", triangle]].map(([shape, points]) => [name, shape, shape, ...points].join(";")).join("|") };
}

/** Everything of one frame, once its head is as it should be. */
function taken(page, condition, what) {
  const look = () =>
    page.evaluate(() => {
      const { evforge } = window;
      return { head: evforge.head(), image: evforge.image(), block: evforge.block(), spectrum: evforge.spectrum().counts, regions: evforge.regions() };
    });
  return waitUntil(page, look, ({ head }) => head && condition(head), what);
}

/** All pictures of a page, with what its console said. */
async function look(browser, { page: address, events, slice }) {
  const { page, complaints } = await openIn(browser, address, { width: 640, height: 600 });
  await until(page, (shown) => shown?.status?.events === events && shown.pictures > 0, `${events} events at ${address}`);
  // What the page offers: a beam monitor of one pixel is a number, and no picture.
  const offered = await page.$$eval("#picture option", (options) => options.map(({ value }) => value));
  const plans = (await state(page)).hello.pictures.filter(({ name }) => offered.includes(name));
  // A beam monitor's picture has its own events alone; so each is complete when it has what the server has counted there.
  const listed = await (await fetch(`${address}/api/pictures.json`)).json();
  const sums = Object.fromEntries(listed.map(({ name, sum }) => [name, sum]));
  const isWhole = (name, head) => head.picture === name && head.all === (sums[name] ?? events);
  const pictures = [];
  for (const { name, across, up } of plans) {
    if (plans.length > 1) await page.selectOption("#picture", name);
    const plain = await taken(page, (head) => isWhole(name, head), `${name} at ${address}`);
    pictures.push({ name, nx: across.pixels, ny: up.pixels, plain });
  }
  for (const picture of pictures) {
    const { name, nx, ny } = picture;
    const isMap = name.endsWith("-tof");
    const { rectangle, triangle, text } = regionsOf(name, nx, ny);
    const hash = isMap ? `picture=${name}&bins=64` : `picture=${name}&slice=${slice}&bins=64&regions=${text}`;
    await page.evaluate((hash) => (location.hash = hash), hash);
    const isAsked = (head) => isWhole(name, head) && (isMap || head.regions.length === 2);
    Object.assign(picture, { rectangle, triangle, cut: await taken(page, isAsked, `${name} with ${hash} at ${address}`) });
  }
  await page.close();
  return { page: address, pictures, complaints };
}

const browser = await launch();
try {
  const pages = JSON.parse(readFileSync(asked, "utf8"));
  const all = new Array(pages.length);
  let next = 0;
  // Several at once: most of the time is that of waiting for the next picture.
  const lookOn = async () => {
    while (next < pages.length) {
      const at = next++;
      all[at] = await look(browser, pages[at]);
    }
  };
  await Promise.all([lookOn(), lookOn(), lookOn()]);
  writeFileSync(seen, JSON.stringify(all));
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
} finally {
  await browser.close();
}
