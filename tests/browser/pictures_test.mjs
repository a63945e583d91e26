// Checks the pictures of the live view with a real browser, on servers of its own with made-up events.
//
//   node pictures_test.mjs LIVE_EXAMPLE [FOLDER_FOR_SCREENSHOTS]
//
// LIVE_EXAMPLE is target/release/examples/live. Checked: a detector with depth has xy, xz and yz, each with all events; the
// choice survives a reload; "Clear" holds for all of them; axes are binned by themselves and the page says so; what is
// drawn has the colours of the table.

import { image, open, state, until, untilHead } from "./browser.mjs";
import { check, conclude } from "./checks.mjs";
import { serve } from "./server.mjs";

const [program, folder] = process.argv.slice(2);
if (!program) {
  console.error("usage: node pictures_test.mjs LIVE_EXAMPLE [FOLDER_FOR_SCREENSHOTS]");
  process.exit(2);
}
const total = ({ counts }) => counts.reduce((sum, count) => sum + count, 0);

/** Runs `look` on the page of a live view that was started with `more`. */
async function withPage(more, look, window = {}) {
  const { server, address } = await serve(program, "127.0.0.1:0", more);
  const { browser, page, complaints } = await open(`http://${address}`, window);
  try {
    await until(page, (s) => s?.pictures >= 2, "a second picture");
    await untilHead(page, () => true, "the picture for this window");
    await look(page, address);
    check(complaints.length === 0, `the console is empty${complaints.map((line) => `\n      ${line}`).join("")}`);
    if (folder) await page.screenshot({ path: `${folder}/${more.filter((_, at) => at % 2).join("-")}.png` });
  } catch (error) {
    check(false, error.message);
  } finally {
    await browser.close();
    server.kill();
  }
}

/** The brightness of the middle of each pixel as it is drawn, row by row from the bottom. */
const drawn = (page, nx, ny) =>
  page.evaluate(([nx, ny]) => {
    const canvas = document.getElementById("image");
    const plot = window.evforge.plot();
    const ratio = canvas.width / canvas.getBoundingClientRect().width;
    // Read from a copy: Chromium warns of canvases that are read several times.
    const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true });
    copy.drawImage(canvas, 0, 0);
    const { data, width } = copy.getImageData(0, 0, canvas.width, canvas.height);
    return Array.from({ length: nx * ny }, (_, index) => {
      const [x, y] = [index % nx, Math.floor(index / nx)];
      const left = Math.floor((plot.left + ((x + 0.5) / nx) * plot.width) * ratio);
      const top = Math.floor((plot.top + (1 - (y + 0.5) / ny) * plot.height) * ratio);
      return [...data.subarray((top * width + left) * 4, (top * width + left) * 4 + 3)];
    });
  }, [nx, ny]);

/** Two asked one after the other, with a picture in between perhaps: until no picture came. */
async function still(page, ask) {
  for (;;) {
    const before = (await state(page)).pictures;
    const answer = await ask();
    if ((await state(page)).pictures === before) return answer;
  }
}

// Depth, two panels. The events end after a while, so that all pictures can be compared.
const depth = ["--nx", "24", "--ny", "30", "--nz", "8", "--panels", "2", "--rate", "3000"];
await withPage(depth, async (page, address) => {
  const names = await page.$$eval("#picture option", (options) => options.map(({ value }) => value));
  const maps = ["x-tof", "y-tof", "z-tof"];
  check(names.join() === ["xy", "xz", "yz", ...maps].join(), `there are xy, xz, yz and maps against time of flight: ${names}`);
  names.length = 3;
  const sizes = { xy: [48, 30], xz: [48, 8], yz: [60, 8] };
  for (const name of names) {
    await page.selectOption("#picture", name);
    await untilHead(page, ({ picture }) => picture === name, name);
    const { shown, events } = await still(page, async () => ({ shown: await image(page), events: (await state(page)).total }));
    const [nx, ny] = sizes[name];
    check(shown.name === name && shown.nx === nx && shown.ny === ny, `${name} has ${nx} x ${ny} pixels`);
    const sum = total(shown);
    check(Math.abs(sum - events) <= 0.1 * events && sum > 0, `${name} has all events: ${sum} of ${events}`);
  }
  check(page.url().endsWith("#picture=yz"), `the address has the choice: ${page.url()}`);
  await page.reload();
  await until(page, (s) => s?.pictures >= 1, "a picture after the reload");
  check((await image(page)).name === "yz", "the choice survives a reload");
  check((await page.inputValue("#picture")) === "yz", "and the control shows it");

  // A section: of the 24 columns that yz adds up, one.
  await page.locator("#layer").fill("4");
  // What is dragged is asked for ten times a second.
  await page.waitForTimeout(300);
  await untilHead(page, () => true, "one column");
  const section = total(await image(page));
  const served = await (await fetch(`http://${address}/api/image.json?picture=yz&layers=3,4`)).json();
  check(section > 0 && section <= served.events && section >= 0.7 * served.events, `a section has its events: ${section} of ${served.events}`);
  check((await page.textContent("#layer-said")) === "column 3" && page.url().includes("layer=3"), "the slider says which, and the address");
  await page.locator("#layer").fill("0");
  await page.waitForTimeout(300);
  await untilHead(page, () => true, "all columns again");
  const listed = await (await fetch(`http://${address}/api/pictures.json`)).json();
  check(new Set(listed.map(({ sum }) => sum)).size === 1, `/api has one sum: ${listed.map(({ sum }) => sum)}`);

  // Colours: dark where nothing is, bright where most is.
  const { shown, colours } = await still(page, async () => {
    const shown = await image(page);
    return { shown, colours: await drawn(page, shown.nx, shown.ny) };
  });
  const most = Math.max(...shown.counts);
  const ofMost = shown.counts.findIndex((count) => count === most);
  check(colours[ofMost].join() === "255,248,208", `the most counts are brightest: ${colours[ofMost]}`);
  const empty = shown.counts.findIndex((count) => count === 0);
  check(empty < 0 || colours[empty].join() === "9,10,24", `no counts are darkest: ${colours[empty]}`);
  const lit = colours.every((colour, at) => (colour.join() !== "9,10,24") === shown.counts[at] > 0);
  check(lit, "every pixel with counts is lit, and no other");

  await page.click("#clear");
  const { clearedAt } = await state(page);
  // Events go on coming, at whatever speed this machine has: those from before the click must be missing, which the server has.
  for (const name of names) {
    await page.selectOption("#picture", name);
    await untilHead(page, ({ picture, since_ms }) => picture === name && since_ms >= clearedAt - 1000, `${name} since "Clear"`);
    const seen = await image(page);
    const server = await (await fetch(`http://${address}/api/pictures.json`)).json();
    const missing = server.find((picture) => picture.name === name).sum - total(seen);
    const text = `${missing} are missing, ${total(shown)} were there`;
    check(seen.name === name && missing >= total(shown), `"Clear" holds for ${name}: ${text}`);
  }
});

// Like FREIA: more rows than the screen has, few columns.
await withPage(["--nx", "64", "--ny", "1024", "--rate", "200000"], async (page) => {
  const block = await page.evaluate(() => window.evforge.block());
  check(block.x === 1 && block.y > 1, `64 columns stay, 1024 rows share cells: ${block.x} x ${block.y}`);
  const names = await page.$$eval("#picture option", (options) => options.map(({ value }) => value));
  check(names.join() === "xy,x-tof,y-tof", `a flat detector has one picture, and maps: ${names}`);
});
await withPage(["--nx", "1536", "--ny", "128", "--rate", "200000"], async (page) => {
  const block = await page.evaluate(() => window.evforge.block());
  check(block.x > 1 && block.y === 1, `128 rows stay, 1536 columns share cells: ${block.x} x ${block.y}`);
});

// Narrow and wide: the controls are all there, and nothing scrolls sideways.
for (const width of [390, 1280, 1920]) {
  await withPage(["--nx", "24", "--nz", "8", "--rate", String(50_000 + width)], async (page) => {
    const { beyond, cut } = await page.evaluate(() => {
      const panel = document.getElementById("image-panel").getBoundingClientRect();
      const controls = [...document.querySelectorAll("#image-panel select, #image-panel button, #image-panel .figure")];
      const shown = controls.filter((control) => control.offsetParent !== null);
      const outside = shown.filter((control) => control.getBoundingClientRect().right > panel.right + 0.5);
      return {
        beyond: document.documentElement.scrollWidth - innerWidth,
        cut: [...outside, ...shown.filter((control) => control.scrollWidth > control.clientWidth + 1)].map(({ id }) => id),
      };
    });
    check(beyond <= 0, `nothing scrolls sideways at ${width} points`);
    check(cut.length === 0, `no control of the picture is cut at ${width} points: ${cut}`);
  }, { width });
}

conclude("the pictures are right");
