// Checks what the page can be asked: regions, slices, windows, comparisons, links, keyboard, screen readers.
//
//   node view_test.mjs LIVE [FOLDER_FOR_SCREENSHOTS]
//
// LIVE is the program target/release/examples/live (cargo build --release -p evforge-view --example live).
// Checked: a rectangle has exactly the pixels it was drawn over, its counts are those of the picture there; a slice drawn on the
// spectrum has exactly its bins, and the picture exactly their counts; a polygon, its corners and its name can be changed by mouse
// and keyboard; a link shows the same, as does a reload, and a server that was started again; windows, values per second,
// reference, difference; that events are missing; the value under the cursor by keys; a snapshot; everything can be read at all widths, in light and dark; axe
// finds nothing serious; the console is empty.

import { readFileSync } from "node:fs";
import { checkAxeInThemes } from "./axe.mjs";
import { image, open, state, until, waitUntil } from "./browser.mjs";
import { check, conclude } from "./checks.mjs";
import { atAllWidths } from "./layout.mjs";
import { serve } from "./server.mjs";

const [program, folder] = process.argv.slice(2);
if (!program) {
  console.error("usage: node view_test.mjs LIVE [FOLDER_FOR_SCREENSHOTS]");
  process.exit(2);
}
const sum = (counts) => counts.reduce((total, count) => total + count, 0);
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

/** Picture, spectrum and regions of one frame. */
const shown = (page) =>
  page.evaluate(() => {
    const { evforge } = window;
    return { head: evforge.head(), looked: evforge.looked(), image: evforge.image(), block: evforge.block(), spectrum: evforge.spectrum(), regions: evforge.regions() };
  });

/** Waits until `condition` holds for one frame; gives it. */
const untilShown = (page, condition, what) => waitUntil(page, () => shown(page), (now) => now.head && condition(now), what);

/** The middle of a pixel of the whole picture, on the page. */
const place = (page, x, y) =>
  page.evaluate(([x, y]) => {
    const box = document.getElementById("image").getBoundingClientRect();
    const plot = window.evforge.plot();
    const { hello } = window.evforge.state();
    const plan = hello.pictures.find(({ name }) => name === window.evforge.image().name);
    const { x0, y0, x1, y1 } = window.evforge.looked().part ?? { x0: 0, y0: 0, x1: plan.across.pixels, y1: plan.up.pixels };
    const left = box.left + plot.left + ((x + 0.5 - x0) / (x1 - x0)) * plot.width;
    return { left, top: box.top + plot.top + (1 - (y + 0.5 - y0) / (y1 - y0)) * plot.height };
  }, [x, y]);

/** Drags from one place to another. */
async function drag(page, from, to, shift = false) {
  await page.mouse.move(from.left, from.top);
  if (shift) await page.keyboard.down("Shift");
  await page.mouse.down();
  await page.mouse.move((from.left + to.left) / 2, (from.top + to.top) / 2, { steps: 3 });
  await page.mouse.move(to.left, to.top, { steps: 3 });
  await page.mouse.up();
  if (shift) await page.keyboard.up("Shift");
}

/** Where a time of flight lies on the page. */
const spectrumPlace = (page, ns) =>
  page.evaluate((ns) => {
    const box = document.querySelector("#spectrum .u-over").getBoundingClientRect();
    return { left: box.left + window.evforge.spectrumPlace(ns), top: box.top + box.height / 3 };
  }, ns);

/** Counts of the picture in columns x0 to x1 - 1 and rows y0 to y1 - 1. */
const within = ({ nx, counts }, x0, y0, x1, y1) =>
  sum(counts.filter((_, at) => at % nx >= x0 && at % nx < x1 && Math.floor(at / nx) >= y0 && Math.floor(at / nx) < y1));

let { server, address } = await serve(program, "127.0.0.1:0", ["--nx", "64", "--ny", "48", "--rate", "20000"]);
const { browser, page, complaints } = await open(`http://${address}/#other=1`);
try {
  await until(page, (s) => s?.pictures >= 2 && s.total > 5000, "a picture with counts");
  const { hello } = await state(page);
  check(hello.protocol === 3 && hello.selections, "the server takes looks");

  // A rectangle: its pixels are those from where the mouse went down to where it went up.
  await page.click("#rectangle-tool");
  await drag(page, await place(page, 5, 20), await place(page, 14, 45));
  let now = await untilShown(page, ({ regions }) => regions.length === 1, "a region");
  check(same(now.looked.regions[0].points, [[5, 20], [15, 46]]), `the rectangle has the pixels it was drawn over: ${now.looked.regions[0].points.join(" ")}`);
  check(now.regions[0].pixels === 10 * 26, `they are ${now.regions[0].pixels}, of 260`);
  now = await untilShown(page, ({ regions, image }) => regions[0].all === within(image, 5, 20, 15, 46) && regions[0].all > 500, "the region's counts are those of the picture there");
  check(true, `its counts are those of the picture there: ${now.regions[0].all}`);
  check(sum(now.regions[0].spectrum) === now.regions[0].all, "so are those of its spectrum");
  const beside = within(now.image, 6, 20, 16, 46);
  check(beside !== now.regions[0].all, `a pixel beside it there would be others: ${beside}`);

  // A slice of whole bins.
  const width = now.head.bins.width_ns;
  const [from, to] = [30 * width, 90 * width];
  await drag(page, await spectrumPlace(page, from), await spectrumPlace(page, to));
  now = await untilShown(page, ({ head, looked }) => looked.slice !== null && head.events < head.all, "a slice");
  check(same(now.looked.slice, [from, to]), `the slice is that between the places: ${now.looked.slice}, drawn ${from},${to}`);
  now = await untilShown(page, ({ head, spectrum }) => head.events === sum(spectrum.counts.slice(30, 90)), "the picture has the counts of the slice's bins");
  check(sum(now.image.counts) === now.head.events, `the picture has the counts of these bins: ${now.head.events} of ${now.head.all}`);
  check(sum(now.spectrum.counts.slice(31, 91)) !== now.head.events, "a bin later there would be others");
  check(now.regions[0].events === within(now.image, 5, 20, 15, 46), `the region has ${now.regions[0].events} of them`);
  check((await page.inputValue("#slice-from")) === String(from / 1e6), `the fields have its ends: ${await page.inputValue("#slice-from")} to ${await page.inputValue("#slice-to")}`);
  // Its end is pulled, then both are written.
  await drag(page, await spectrumPlace(page, to), await spectrumPlace(page, 120 * width));
  await untilShown(page, ({ looked }) => same(looked.slice, [from, 120 * width]), "the slice with its end pulled");
  await page.fill("#slice-from", String((40 * width) / 1e6));
  await page.fill("#slice-to", String((100 * width) / 1e6));
  await page.press("#slice-to", "Enter");
  await untilShown(page, ({ looked, head, spectrum }) => same(looked.slice, [40 * width, 100 * width]) && head.events === sum(spectrum.counts.slice(40, 100)), "the slice that was written");
  check(true, "the slice is pulled at its end, and written in the fields");
  // The spectrum is zoomed with the shift key, and the slice stays.
  await drag(page, await spectrumPlace(page, 20 * width), await spectrumPlace(page, 200 * width), true);
  now = await shown(page);
  const zoomed = now.looked.zoom ?? [0, 0];
  check(Math.abs(zoomed[0] - 20 * width) < 2 * width && Math.abs(zoomed[1] - 200 * width) < 2 * width, `with the shift key it zooms: ${zoomed}`);
  check(same(now.looked.slice, [40 * width, 100 * width]), "and the slice stays");
  await page.click("#whole-spectrum");

  // A polygon by clicks; a corner is pulled; its name is written.
  await page.click("#polygon-tool");
  for (const [x, y] of [[40, 5], [60, 5], [50, 20]]) {
    const { left, top } = await place(page, x, y);
    await page.mouse.click(left, top);
  }
  await page.focus("#image");
  await page.keyboard.press("Enter");
  now = await untilShown(page, ({ regions }) => regions.length === 2, "a polygon");
  check(now.looked.regions[1].shape === "polygon" && same(now.looked.regions[1].points, [[40.5, 5.5], [60.5, 5.5], [50.5, 20.5]]), `a polygon: ${now.looked.regions[1].points.join(" ")}`);
  await page.click("#zoom-tool");
  await drag(page, await place(page, 50, 20), await place(page, 50, 30));
  now = await untilShown(page, ({ looked }) => looked.regions[1].points[2][1] > 30, "the pulled corner");
  const pixels = now.regions[1].pixels;
  const names = page.locator("#region-table tbody th input");
  await names.nth(1).fill("spot");
  await names.nth(1).press("Enter");
  now = await untilShown(page, ({ regions }) => regions[1]?.name === "spot", "its new name");
  check(now.regions[1].pixels >= pixels, `pulled at a corner, and named: ${now.regions[1].name}, ${now.regions[1].pixels} pixels`);
  // By the keyboard alone: another rectangle, its corners written.
  await page.focus("#add-rectangle");
  await page.keyboard.press("Enter");
  await untilShown(page, ({ looked }) => looked.regions.length === 3, "a region by the keyboard");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Control+A");
  await page.keyboard.type("0,0 64,48");
  await page.keyboard.press("Enter");
  now = await untilShown(page, ({ regions }) => regions[2]?.pixels === 64 * 48, "its corners as written");
  check(now.regions[2].all === now.head.all, `a region of all pixels has all events: ${now.regions[2].all}`);
  const cells = await page.locator("#region-table tbody").nth(2).locator("td").allTextContents();
  check(cells[4] === "100\u202f%", `and all of the share: ${cells[4]}`);
  await page.getByRole("button", { name: "Remove region 2" }).click();
  await untilShown(page, ({ regions }) => regions.length === 2, "the region removed");

  // Zoom, values, map: then the link, in another window.
  await drag(page, await place(page, 2, 3), await place(page, 41, 42));
  await untilShown(page, ({ head }) => same(head.part, [2, 3, 42, 43]), "the part that was dragged over");
  await page.selectOption("#map", "viridis");
  await page.selectOption("#per", "second");
  await page.click("#linear");
  await page.click("#spectrum-logarithmic");
  await page.selectOption("#unit", "wavelength");
  await page.fill("#flight-path", "30");
  await page.press("#flight-path", "Enter");
  const label = await page.evaluate(() => document.getElementById("slice-unit").textContent);
  // A neutron of 1 Å flies 3956.034 m in a second.
  const angstrom = (40 * width * 1e-9 * 3956.034) / 30;
  check(label === "Å" && Math.abs(Number(await page.inputValue("#slice-from")) - angstrom) < 1e-4, `the slice in wavelength: ${await page.inputValue("#slice-from")} ${label}`);
  await page.click("#clear");
  now = await untilShown(page, ({ looked, head }) => looked.window.kind === "since" && head.since_ms >= looked.window.ms - 1000 && head.events > 0, "counts since clear");
  const cleared = now.looked.window.ms;
  check(Math.abs(cleared - Date.now()) < 20_000 && Math.abs(now.head.since_ms - cleared) < 2000, `cleared by the server's clock: ${cleared}, counted since ${now.head.since_ms}`);
  const before = await page.evaluate(() => ({ looked: window.evforge.looked(), look: window.evforge.look() }));
  for (const key of ["picture", "part", "slice_ns", "window", "regions"]) check(before.look[key] !== undefined, `asked for: ${key} ${JSON.stringify(before.look[key])}`);
  check(page.url().includes("other=1"), "what else the address says stays in it");
  const other = await browser.newPage({ viewport: page.viewportSize() });
  await other.goto(page.url());
  await untilShown(other, ({ regions, head }) => regions.length === 2 && head.part[0] === 2, "the link in another window");
  const after = await other.evaluate(() => ({ looked: window.evforge.looked(), look: window.evforge.look() }));
  check(same(after.looked, before.looked), `a link shows the same${same(after.looked, before.looked) ? "" : `: ${JSON.stringify(after.looked)}, not ${JSON.stringify(before.looked)}`}`);
  check(same(after.look, before.look), "and asks for the same");
  const there = await untilShown(other, () => true, "its newest frame");
  check(there.head.since_ms === now.head.since_ms, `counts begin at the same time there: ${there.head.since_ms}`);
  await other.close();
  await page.reload();
  now = await untilShown(page, ({ regions }) => regions.length === 2, "the page after a reload");
  check(same(now.looked, before.looked), "a reload keeps it");
  await page.click("#show-all");
  now = await untilShown(page, ({ head, looked }) => looked.window.kind === "all" && head.since_ms < cleared, "all counts again");

  // The last seconds.
  await page.selectOption("#window", "other");
  await page.fill("#window-seconds", "3");
  await page.press("#window-seconds", "Enter");
  now = await untilShown(page, ({ head, looked }) => same(looked.window, { kind: "last", seconds: 3 }) && head.seconds > 1 && head.seconds < 6, "the last three seconds");
  check(now.head.all < 8 * 20_000, `a window of 3 s has ${now.head.all} events of ${now.head.seconds.toFixed(1)} s`);
  await page.selectOption("#window", "all");

  // A reference, the difference to it.
  await page.click("#whole");
  await page.click("#clear-slice");
  await page.selectOption("#per", "counts");
  await untilShown(page, ({ head, looked }) => looked.part === null && looked.slice === null && looked.window.kind === "all" && head.nx === 64 && head.events === head.all && head.seconds > 6, "the whole picture");
  await page.click("#keep-reference");
  await page.waitForFunction(() => window.evforge.reference() !== null);
  const reference = await page.evaluate(() => window.evforge.reference());
  now = await untilShown(page, ({ image }) => sum(image.counts) > sum(reference), "counts after the reference");
  check(now.image.counts.every((count, at) => count >= reference[at]), `no pixel has less than the reference: ${sum(now.image.counts)}, ${sum(reference)}`);
  check(now.looked.compare === "difference", "the difference is shown");
  await page.selectOption("#compare", "ratio");
  check((await shown(page)).looked.compare === "ratio", "or the ratio");
  if (folder) await page.screenshot({ path: `${folder}/view-ratio.png` });
  await page.click("#forget-reference");

  // Keys on the picture.
  await page.focus("#image");
  await page.keyboard.press("Home");
  const first = await page.textContent("#cursor-said");
  await page.keyboard.press("ArrowRight");
  const second = await page.textContent("#cursor-said");
  check(/^x 32 .*counts/.test(first) && /^x 33 .*counts/.test(second), `keys read pixels: "${first}", then "${second}"`);
  await page.keyboard.press("+");
  await untilShown(page, ({ looked }) => looked.part !== null, "the part that + shows");
  await page.keyboard.press("0");
  await untilShown(page, ({ looked, head }) => looked.part === null && head.part[2] === 64, "the whole picture by 0");
  await page.click("#values summary");
  await page.waitForSelector("#value-table td");
  const table = await page.evaluate(() => [...document.querySelectorAll("#value-table tbody td")].map((cell) => Number(cell.textContent.replaceAll("\u202f", ""))));
  check(table.length === 64 && Math.abs(sum(table) - (await state(page)).total) < 0.3 * sum(table), `the table has all counts: ${sum(table)} in ${table.length} cells`);

  // Maps against time of flight.
  await page.selectOption("#picture", "x-tof");
  now = await untilShown(page, ({ head }) => head.picture === "x-tof", "a map");
  check(now.head.ny === 64 && sum(now.image.counts) <= now.head.all, `a map of ${now.head.part[2]} bins and ${now.head.ny} columns`);
  const bins = Math.ceil(now.head.part[2] / now.head.block[0]);
  check(now.head.nx === bins, `its cells have ${now.head.block[0]} bins each`);
  await page.selectOption("#picture", "xy");
  await untilShown(page, ({ head }) => head.picture === "xy", "the picture again");

  // A picture to keep.
  const [download] = await Promise.all([page.waitForEvent("download"), page.click("#snapshot")]);
  const png = readFileSync(await download.path());
  check(png.subarray(1, 4).toString() === "PNG" && png.readUInt32BE(16) >= 720 && png.length > 20_000, `a snapshot: ${download.suggestedFilename()}, ${png.readUInt32BE(16)} x ${png.readUInt32BE(20)}`);
  if (folder) await download.saveAs(`${folder}/snapshot.png`);

  // Everything can be read, and reached.
  await page.selectOption("#unit", "d");
  const problems = await atAllWidths(page, folder, "view");
  check(problems.length === 0, `everything can be read${problems.map((line) => `\n      ${line}`).join("")}`);
  await checkAxeInThemes(page);
  await page.reload();
  check((await page.evaluate(() => document.documentElement.dataset.theme)) === "dark", "the theme is kept");
  await page.selectOption("#theme", "system");
  check(complaints.length === 0, `the console is empty${complaints.map((line) => `\n      ${line}`).join("")}`);

  // A server that is started again is asked for the same.
  await page.fill("#slice-from", "3");
  await page.fill("#slice-to", "20");
  await page.press("#slice-to", "Enter");
  await untilShown(page, ({ head }) => head.events < head.all, "a slice");
  server.kill("SIGKILL");
  await until(page, (s) => s.phase === "reconnecting", "the page notices that the server is gone");
  ({ server } = await serve(program, address, ["--nx", "64", "--ny", "48", "--rate", "20000"]));
  await until(page, (s) => s.phase === "connected" && s.restarts === 1, "the page finds the new server");
  now = await untilShown(page, ({ head, regions }) => head.events > 0 && head.events < head.all && regions.length === 2, "regions and slice of the new server");
  check(true, `another server is asked for the same: ${now.regions.map(({ name }) => name)}, ${now.head.events} of ${now.head.all}`);
} catch (error) {
  check(false, error.message);
} finally {
  await browser.close();
  server.kill("SIGKILL");
}

// A server that remembers few events: what is asked for late is not counted from the beginning, and the page says so.
{
  const few = await serve(program, "127.0.0.1:0", ["--nx", "64", "--ny", "48", "--rate", "200000", "--memory", String(1 << 20)]);
  const { browser, page, complaints } = await open(`http://${few.address}`);
  try {
    await until(page, (s) => s?.total > 1_000_000, "more events than are remembered");
    check(!(await page.isVisible("#view-problem")), "what was counted from the beginning is whole");
    await page.fill("#slice-from", "10");
    await page.fill("#slice-to", "30");
    await page.press("#slice-to", "Enter");
    const { head } = await untilShown(page, ({ head }) => head.events < head.all, "a slice");
    const { hello } = await state(page);
    await page.waitForSelector("#view-problem", { state: "visible" });
    const said = await page.textContent("#view-problem");
    check(head.since_ms > hello.started_ms && /^Counted only since \d/.test(said), `a slice that comes late: "${said}"`);
    await page.click("#clear");
    await untilShown(page, ({ looked, head }) => looked.window.kind === "since" && head.since_ms >= looked.window.ms - 1000 && head.events > 0, "counts since clear");
    await page.waitForSelector("#view-problem", { state: "hidden" });
    check(true, "since now nothing is missing");
    check(complaints.length === 0, `the console is empty${complaints.map((line) => `\n      ${line}`).join("")}`);
  } catch (error) {
    check(false, error.message);
  } finally {
    await browser.close();
    few.server.kill("SIGKILL");
  }
}
conclude("the view is right");
