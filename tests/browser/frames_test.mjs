// Checks the frames of the page: what is known of them, and looks at some of them.
//
//   node frames_test.mjs LIVE [FOLDER_FOR_SCREENSHOTS]
//
// LIVE is the program target/release/examples/live (cargo build --release -p evforge-view --example live). Its frames are of three
// periods in turn, each fifth is vetoed, each seventh is not complete, and each has 2 µAh.
// Checked: the panel says how many there are, of which periods and with which vetoes; a period, good or vetoed frames and complete
// ones can be chosen, and the picture has their events, pulses and charge alone; values per µAh are those of the window; a link
// shows the same; a readout without frames has none of it; everything can be read; axe finds nothing serious; the console is empty.

import { checkAxe } from "./axe.mjs";
import { open, redrawn, state, until, waitUntil } from "./browser.mjs";
import { check, conclude } from "./checks.mjs";
import { problems } from "./layout.mjs";
import { serve } from "./server.mjs";

const [program, folder] = process.argv.slice(2);
if (!program) {
  console.error("usage: node frames_test.mjs LIVE [FOLDER_FOR_SCREENSHOTS]");
  process.exit(2);
}
const arguments_ = ["--nx", "32", "--ny", "24", "--rate", "20000"];
const sum = (counts) => counts.reduce((total, count) => total + count, 0);

/** Waits until the frame of what is asked for is as it should be; gives it. */
function untilShown(page, condition, what) {
  const look = () =>
    page.evaluate(() => {
      const { evforge } = window;
      return { head: evforge.head(), looked: evforge.looked(), look: evforge.look(), image: evforge.image() };
    });
  return waitUntil(page, look, (now) => now.head && condition(now), what);
}

const rows = (page, id) => page.$$eval(`#${id} tbody tr`, (lines) => lines.map((line) => Array.from(line.cells, ({ textContent }) => textContent)));

const { server, address } = await serve(program, "127.0.0.1:0", [...arguments_, "--frames"]);
const { browser, page, complaints } = await open(`http://${address}/`);
try {
  await until(page, (s) => s?.status?.ledger?.frames?.raw > 40, "frames");
  await page.click("#frames-panel summary");
  await until(page, (s) => s?.status?.ledger?.frames?.raw > 60, "more frames");
  const summary = await page.textContent("#frames-summary");
  check(/good of .*µAh, period [123], live \d/.test(summary), `the panel says in short: ${summary}`);
  const periods = await rows(page, "frame-table");
  check(periods.map(([name]) => name).join() === "all,period 1,period 2,period 3", `it has ${periods.map(([name]) => name).join(", ")}`);
  const raw = periods.map(([, count]) => Number(count.replaceAll("\u202f", "")));
  check(raw[0] === raw[1] + raw[2] + raw[3], `raw frames of the periods add up: ${raw.join(", ")}`);
  const good = periods.map(([, , count]) => Number(count.replaceAll("\u202f", "")));
  check(good[0] < raw[0] && Number(periods[0][3]) === 2 * good[0], `${good[0]} of ${raw[0]} are good, with ${periods[0][3]} µAh`);
  const vetoes = await rows(page, "frame-veto-table");
  check(vetoes.map(([name, , counts]) => `${name} ${counts}`).join() === "overflow no,SMP yes,ISIS slow yes", `vetoes: ${vetoes.map((veto) => veto.join(" ")).join("; ")}`);
  check(Number(vetoes[1][1]) === raw[0] - good[0], `SMP was in the ${vetoes[1][1]} frames that are not good`);
  check(/\d complete, \d+ incomplete, 0 late/.test(await page.textContent("#frames-now")), await page.textContent("#frames-now"));

  // Every frame has 2 µAh: pulses and charge are of the same frames.
  const all = await untilShown(page, ({ head }) => head.pulses > 60, "pulses");
  check(all.head.charge_uah === 2 * all.head.pulses, `all: ${all.head.pulses} pulses with ${all.head.charge_uah} µAh`);
  await page.selectOption("#frame-period", "2");
  let now = await untilShown(page, ({ look, head }) => look.period === 2 && head.pulses > 20 && head.pulses < 0.5 * all.head.pulses + 20, "a period");
  check(now.head.charge_uah === 2 * now.head.pulses, `period 2: ${now.head.pulses} pulses with ${now.head.charge_uah} µAh`);
  check(sum(now.image.counts) === now.head.events && now.head.events > 0, `the picture has its ${now.head.events} events`);
  await page.selectOption("#frame-kind", "vetoed");
  // Before them, those of both kinds were shown.
  const both = now.head.pulses;
  now = await untilShown(page, ({ look, head }) => look.frames === "vetoed" && look.period === 2 && head.pulses > 0 && head.pulses < both / 2, "vetoed frames");
  const vetoed = now.head.pulses;
  check(now.head.charge_uah === 2 * vetoed, `vetoed ones of period 2: ${vetoed} pulses of more than ${both}`);
  await page.selectOption("#frame-kind", "good");
  await page.check("#frame-complete");
  await page.selectOption("#per", "charge");
  now = await untilShown(page, ({ look, head }) => look.frames === "good" && look.complete === true && head.pulses > vetoed, "good and complete frames");
  check(now.head.charge_uah === 2 * now.head.pulses && now.looked.per === "charge", `good and complete ones of period 2, per µAh: ${now.head.pulses} pulses`);
  const hash = await page.evaluate(() => location.hash);
  check(/period=2/.test(hash) && /frames=good/.test(hash) && /complete=1/.test(hash), `the address has it: ${hash}`);
  await page.reload();
  now = await untilShown(page, ({ look }) => look.period === 2 && look.frames === "good" && look.complete === true, "the same after a reload");
  await until(page, (s) => s?.status?.ledger?.frames !== undefined, "frames after a reload");
  check((await page.inputValue("#frame-period")) === "2" && (await page.isChecked("#frame-complete")), "a link shows the same");
  for (const [width, height] of [[390, 844], [1280, 720]]) {
    await page.setViewportSize({ width, height });
    await redrawn(page);
    const found = await problems(page);
    check(found.length === 0, `it can be read at ${width} x ${height}${found.map((line) => `\n      ${line}`).join("")}`);
    if (folder) await page.screenshot({ path: `${folder}/frames-${width}.png`, fullPage: true });
  }
  await checkAxe(page, "with frames");
  check(complaints.length === 0, `the console is empty${complaints.map((line) => `\n      ${line}`).join("")}`);
} catch (error) {
  check(false, error.message);
} finally {
  await browser.close();
  server.kill();
}

const plain = await serve(program, "127.0.0.1:0", arguments_);
const other = await open(`http://${plain.address}/`);
try {
  await until(other.page, (s) => s?.status?.ledger !== undefined, "a ledger without frames");
  const hidden = !(await other.page.isVisible("#frames-panel")) && !(await other.page.isVisible("#frame-choice"));
  check(hidden, "a readout without frames has none of it");
  check((await state(other.page)).status.ledger.frames === undefined, "and tells none");
} catch (error) {
  check(false, error.message);
} finally {
  await other.browser.close();
  plain.server.kill();
}
conclude("the page shows frames, and what is chosen of them");
