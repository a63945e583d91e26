// Checks the views of the page, several pictures at once, and panels where they stand.
//
//   node views_test.mjs LIVE [FOLDER_FOR_SCREENSHOTS]
//
// LIVE is the program target/release/examples/live (cargo build --release -p evforge-view --example live).
// Checked: every view that is shipped for a Multi-Grid and for a Gd-GEM shows its pictures, and their sums are the events; the
// address has its name and what differs from it, so that a link and a reload show the same; Reset view; a picture beside the
// large one changes places with it, by mouse and by key; panels that a view leaves out are hidden; a view that was saved is the
// same when a server offers it; everything can be read at three sizes; axe finds nothing serious; panels stand where they are;
// blades are shown one by one; the console is empty.

import { writeFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { checkAxe } from "./axe.mjs";
import { open, redrawn, state, until, waitUntil } from "./browser.mjs";
import { check, conclude } from "./checks.mjs";
import { problems } from "./layout.mjs";
import { serve } from "./server.mjs";

const [program, folder] = process.argv.slice(2);
if (!program) {
  console.error("usage: node views_test.mjs LIVE [FOLDER_FOR_SCREENSHOTS]");
  process.exit(2);
}
const sum = (counts) => counts.reduce((total, count) => total + count, 0);
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

const shown = (page) =>
  page.evaluate(() => {
    const { evforge } = window;
    return { head: evforge.head(), looked: evforge.looked(), beside: evforge.further(), view: evforge.view(), image: evforge.image() };
  });

/** Waits until `condition` holds for what is shown; gives it. */
const untilShown = (page, condition, what) => waitUntil(page, () => shown(page), (now) => now.head && condition(now), what);

async function withPage(more, look, behind = "") {
  const { server, address } = await serve(program, "127.0.0.1:0", more);
  const { browser, page, complaints } = await open(`http://${address}/${behind}`, { height: 720 });
  try {
    await until(page, (s) => s?.pictures >= 1 && s.total > 1000, "a picture with counts");
    await look(page, address);
    check(complaints.length === 0, `the console is empty${complaints.map((line) => `\n      ${line}`).join("")}`);
  } catch (error) {
    check(false, error.message);
  } finally {
    await browser.close();
    server.kill();
  }
}

/** Waits until a view shows its pictures, and checks their sums. */
async function checkView(page, view) {
  const [main, ...others] = view.pictures;
  const isMap = (name) => name.endsWith("-tof");
  // Pictures of one update have the same events; maps and layers are counted by themselves, a moment earlier.
  const isOfAll = (name) => !isMap(name) && !isMap(main) && view.look.layers === undefined;
  const isThere = ({ head, beside, view: { name } }) =>
    name === view.name &&
    head.picture === main &&
    same(beside.map(({ name }) => name), others) &&
    beside.every(({ name, sum }) => (isOfAll(name) ? sum === head.all : sum > 0));
  const now = await untilShown(page, isThere, `the pictures of ${view.name}`);
  const counts = sum(now.image.counts);
  // Events without a bin are in no map.
  const isRight = isMap(main) ? counts > 0 && counts <= now.head.events : counts === now.head.events;
  check(isRight, `${view.name}: ${main} has ${counts} of ${now.head.events} events`);
  if (others.length > 0) check(true, `${view.name}: beside it ${now.beside.map(({ name, sum }) => `${name} has ${sum}`).join(", ")}`);
  check((await page.textContent("#view-hint")) === view.hint, `${view.name}: the hint says what to look for`);
  const panels = { image: "#image-panel", rate: "#rate-panel", spectrum: "#spectrum-panel", ledger: "#ledger-panel" };
  for (const [name, selector] of Object.entries(panels)) {
    const isShown = await page.isVisible(selector);
    check(isShown === (view.panels?.includes(name) ?? true), `${view.name}: ${name} is ${isShown ? "shown" : "hidden"}`);
  }
  return now;
}

/** What cannot be read at the sizes of a telephone, a notebook and a wall. */
async function atThreeSizes(page, label) {
  for (const [width, height] of [[390, 844], [1280, 720], [1920, 1080]]) {
    await page.setViewportSize({ width, height });
    await redrawn(page);
    const found = await problems(page);
    check(found.length === 0, `${label} can be read at ${width} x ${height}${found.map((line) => `\n      ${line}`).join("")}`);
    if (folder) await page.screenshot({ path: `${folder}/views-${label.replaceAll(" ", "-")}-${width}.png`, fullPage: width < 1000 });
  }
  await page.setViewportSize({ width: 1280, height: 720 });
}

const scratch = mkdtempSync(`${tmpdir()}/views-`);
const deep = ["--nx", "24", "--ny", "40", "--nz", "8", "--rate", "20000", "--detector", "multigrid"];
let saved = null;

await withPage(deep, async (page) => {
  const { views } = (await state(page)).hello;
  const names = views.map(({ name }) => name);
  for (const name of ["three sides", "overview", "line-up", "thresholds", "dead channels", "run"]) {
    check(names.includes(name), `a Multi-Grid has the view ${name}`);
  }
  check(new Set(names).size === names.length, "names differ");
  for (const view of views) {
    await page.selectOption("#view", view.name);
    await checkView(page, view);
    if (["run", "three sides"].includes(view.name)) await atThreeSizes(page, view.name);
  }
  await page.selectOption("#view", "line-up");
  const centre = await untilShown(page, ({ head }) => head.regions.length === 1, "its region");
  check(centre.head.regions[0].pixels > 0 && (await page.inputValue("#region-table tbody th input")) === "centre", "line-up has a region in the middle");

  // Beside the large one: by mouse and by key.
  await page.selectOption("#view", "three sides");
  await untilShown(page, ({ head, beside }) => head.picture === "xy" && beside.length === 2, "three sides");
  check(new URL(page.url()).hash === "#view=three%20sides", `the address has the view alone: ${page.url()}`);
  await checkAxe(page, "with several pictures");
  await page.click("#further button[data-picture=yz]");
  let now = await untilShown(page, ({ head, beside }) => head.picture === "yz" && same(beside.map(({ name }) => name), ["xz", "xy"]), "yz is the large one");
  check(now.view.changed && (await page.isVisible("#reset-view")), "the view is another one now");
  check(page.url().endsWith("#view=three%20sides&picture=yz&with=xz;xy"), `the address has the view and what differs: ${page.url()}`);
  await page.focus("#further button[data-picture=xz]");
  await page.keyboard.press("Enter");
  now = await untilShown(page, ({ head, beside }) => head.picture === "xz" && same(beside.map(({ name }) => name), ["yz", "xy"]), "xz is the large one, by key");
  check((await page.evaluate(() => document.activeElement?.dataset.picture)) === "yz", "the focus stays where it was");

  // A link and a reload show the same; so does a browser of somebody else.
  for (const [field, text] of [["#slice-from", "3.25"], ["#slice-to", "20"]]) {
    await page.click(field);
    await page.keyboard.press("Control+A");
    await page.keyboard.type(text);
    await page.keyboard.press("Enter");
  }
  await page.selectOption("#window", "last:60");
  now = await untilShown(page, ({ head, looked }) => looked.slice?.[1] === 20e6 && looked.window.kind === "last" && head.events > 0, "a slice and a window");
  const before = now.looked;
  await page.reload();
  now = await untilShown(page, ({ head }) => head.picture === "xz", "the same after a reload");
  check(same(now.looked, before) && now.view.name === "three sides", "a reload keeps view and changes");
  check((await page.inputValue("#view")) === "three sides", "the choice says which view it is");
  const link = page.url();
  await page.goto("about:blank");
  await page.goto(link);
  now = await untilShown(page, ({ head }) => head.picture === "xz", "the same with the link");
  check(same(now.looked, before), "a link shows the same");

  // Saved as a file.
  await page.click("#save-view");
  const file = await page.textContent("#view-file");
  check(file.includes('pictures = ["xz", "yz", "xy"]') && file.includes('slice = ["3.25ms", "20ms"]'), `the file has what is shown:\n${file}`);
  await page.click("#close-view");
  saved = { file: `${scratch}/mine.toml`, looked: before };
  writeFileSync(saved.file, file.replace('name = "three sides"', 'name = "mine"'));

  await page.click("#reset-view");
  now = await untilShown(page, ({ head, view }) => head.picture === "xy" && !view.changed, "the view as it is");
  check(page.url().endsWith("#view=three%20sides"), "Reset view shows it as it is");
  // What the view says can be taken back, too.
  await page.selectOption("#view", "line-up");
  await page.selectOption("#window", "all");
  await untilShown(page, ({ looked }) => looked.window.kind === "all", "since the start");
  check(page.url().endsWith("#view=line-up&window="), `an address says what is not as in the view: ${page.url()}`);
  await page.reload();
  now = await untilShown(page, ({ view }) => view.name === "line-up", "the view after a reload");
  check(now.looked.window.kind === "all" && now.looked.per === "second", "a reload keeps that");
  await page.selectOption("#view", "");
  now = await untilShown(page, ({ view }) => view.name === null, "no view");
  check(!now.view.changed && !page.url().includes("view="), "without a view the page is as it was");
  // Snapshots have all pictures.
  await page.selectOption("#view", "three sides");
  await untilShown(page, ({ beside }) => beside.length === 2 && beside.every(({ sum }) => sum > 0), "three sides");
  const [download] = await Promise.all([page.waitForEvent("download"), page.click("#snapshot")]);
  if (folder) await download.saveAs(`${folder}/views-snapshot.png`);
  check((await download.path()) !== null, "a snapshot is saved");
});

// A file of one's own takes the place of what is shipped.
if (saved) {
  await withPage([...deep, "--views", saved.file], async (page) => {
    const { views } = (await state(page)).hello;
    check(same(views.map(({ name }) => name), ["mine"]), "the views are those of the file");
    await page.selectOption("#view", "mine");
    const now = await untilShown(page, ({ head, view }) => view.name === "mine" && head.picture === "xz", "the saved view");
    check(same(now.looked, saved.looked), `what was saved is shown: ${JSON.stringify(now.looked)}`);
  });
}

await withPage(["--nx", "128", "--ny", "128", "--rate", "20000", "--detector", "gdgem"], async (page) => {
  const { views } = (await state(page)).hello;
  check(views.length >= 7 && views[0].name === "clusters", `a Gd-GEM has views of its own first: ${views.map(({ name }) => name).join(", ")}`);
  for (const view of views) {
    await page.selectOption("#view", view.name);
    await checkView(page, view);
  }
});

// Panels where they stand: two by two, panel 0 at the lower right, with gaps between them.
const panel = (x, y) => ({ distance: "1m", offset: [`${x}mm`, `${y}mm`, "0mm"] });
const placement = { pitch: ["1mm", "1mm"], figures: "plausible", panel: [panel(12, 0), panel(0, 0), panel(0, 10), panel(12, 10)] };
const four = ["--nx", "10", "--ny", "8", "--panels", "4", "--rate", "20000"];
await withPage([...four, "--placement", JSON.stringify(placement)], async (page) => {
  const { hello } = await state(page);
  check(same(hello.pictures[0].corners, [[12, 0], [0, 0], [0, 10], [12, 10]]), "panels have their places");
  const now = await untilShown(page, ({ image }) => image.nx === 22 && image.ny === 18, "the picture of all");
  const empty = now.image.counts.every((count, at) => count === 0 || !((at % 22 >= 10 && at % 22 < 12) || (at / 22 >= 8 && at / 22 < 10)));
  check(empty && sum(now.image.counts) === now.head.events, "counts are in panels, and all of them");
  const said = async (x, y) => {
    const { left, top } = await page.evaluate(([x, y]) => {
      const box = document.getElementById("image").getBoundingClientRect();
      const plot = window.evforge.plot();
      return { left: box.left + plot.left + ((x + 0.5) / 22) * plot.width, top: box.top + plot.top + (1 - (y + 0.5) / 18) * plot.height };
    }, [x, y]);
    await page.mouse.move(left, top);
    return page.textContent("#cursor");
  };
  const text = await said(13, 12);
  check(text.startsWith("panel 3  ·  x 1 (2.5 mm)  ·  y 2 (3.5 mm)  ·  pixel id 262  ·"), `a pixel says its panel: ${text}`);
  check((await said(11, 3)) === "between the panels", "so does the gap");
  if (folder) await page.screenshot({ path: `${folder}/views-panels.png` });
});

// Blades: a row for each; the slider takes one.
const arc = { along: "rows", size: 32, step: "0.15deg", inclination: "5deg" };
const blades = { pitch: ["4mm", "4mm"], figures: "plausible", panel: [{ distance: "4m" }], arc };
await withPage(["--nx", "32", "--ny", "192", "--rate", "20000", "--detector", "multiblade", "--placement", JSON.stringify(blades)], async (page) => {
  const { views } = (await state(page)).hello;
  check(views[0].name === "blades", "a Multi-Blade has the view blades first");
  await page.selectOption("#view", "blades");
  const now = await checkView(page, views[0]);
  check(now.image.nx === 32 && now.image.ny === 6, `a row for each blade: ${now.image.nx} x ${now.image.ny}`);
  await page.selectOption("#view", "inside a blade");
  await untilShown(page, ({ head }) => head.picture === "blade", "the blades on one another");
  check((await page.textContent("#layer-said")) === "all blades", "the slider has all blades");
  await page.focus("#layer");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  const one = await untilShown(page, ({ looked, head, image }) => looked.layer === 1 && sum(image.counts) === head.events && head.events > 0, "one blade");
  check((await page.textContent("#layer-said")) === "blade 1" && one.image.ny === 32, "the slider takes one blade");
  if (folder) await page.screenshot({ path: `${folder}/views-blade.png` });
});

rmSync(scratch, { recursive: true });
conclude("the views are right");
