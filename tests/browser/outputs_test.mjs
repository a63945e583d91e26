// Checks the table of outputs with a real browser.
//
//   node outputs_test.mjs LIVE [SCREENSHOT.png]
//
// LIVE is the program target/release/examples/live (cargo build --release -p evforge-view --example live).
// Checked: without outputs there is no table; an output to which all is well shows growing committed events; one that
// waits shows why, and what it dropped in red; one that only needs to be up to date drops without red; one that has failed
// shows why, as text; what each counts itself opens with a click, and stays open; the console is empty.

import { open, until } from "./browser.mjs";
import { check, conclude } from "./checks.mjs";
import { serve } from "./server.mjs";

const [program, screenshot] = process.argv.slice(2);
if (!program) {
  console.error("usage: node outputs_test.mjs LIVE [SCREENSHOT.png]");
  process.exit(2);
}

/** The outputs as the server told them last, and as they are drawn, at the same moment. */
const shown = (page) =>
  page.evaluate(() => {
    const number = (cell) => ({
      text: cell.textContent.replaceAll("\u202f", ""),
      value: Number(cell.title.split(" ")[0].replaceAll("\u202f", "")),
      colour: getComputedStyle(cell).color,
    });
    const lines = [...document.querySelectorAll("#outputs tbody")].map((body) => {
      const [first, numbers, state, details] = body.rows;
      const [committed, waiting, lost] = [...numbers.cells].map(number);
      return {
        name: body.querySelector("button").textContent,
        committed,
        waiting,
        lost,
        // Only what can be seen.
        state: [first.cells[1], state].filter((part) => part.checkVisibility()).map((part) => part.textContent).join(" "),
        markup: state.querySelectorAll("b").length,
        details: details.hidden ? null : details.textContent,
      };
    });
    // Colours as the style sheet has them, in the form in which the browser gives them.
    const probe = document.createElement("span");
    document.body.append(probe);
    probe.style.color = "var(--bad)";
    const bad = getComputedStyle(probe).color;
    probe.remove();
    return { told: window.evforge.state().status?.outputs ?? [], lines, bad };
  });
const isVisible = (page) => page.isVisible("#outputs");
const told = (s) => s?.status?.outputs?.length ?? 0;

{
  const { server, address } = await serve(program, "127.0.0.1:0");
  const { browser, page } = await open(`http://${address}`);
  try {
    await until(page, (s) => s?.status?.ledger !== undefined, "a ledger");
    check(!(await isVisible(page)), "without outputs there is no table");
  } catch (error) {
    check(false, error.message);
  } finally {
    await browser.close();
    server.kill("SIGKILL");
  }
}

const { server, address } = await serve(program, "127.0.0.1:0", ["--outputs", "--rate", "1000000"]);
const { browser, page, complaints } = await open(`http://${address}`);
try {
  const ready = (s) =>
    told(s) === 4 && s.status.outputs[3].failure !== undefined && s.status.outputs[1].events.dropped > 1_000_000;
  await until(page, ready, "an output that has failed and one that has dropped events");
  check(await isVisible(page), "with outputs there is a table");
  const first = await shown(page);
  const [good, slow, picture, broken] = first.lines;
  first.told.forEach(({ name, events }, at) => {
    const line = first.lines[at];
    const holds =
      line.name === name &&
      line.committed.value === events.committed &&
      line.waiting.value === events.queued + events.pending &&
      line.lost.value === events.dropped + events.missed;
    const { committed, waiting, lost } = line;
    check(holds, `${name}: ${committed.value} committed, ${waiting.value} waiting, ${lost.value} lost, as the server told`);
  });
  const numbers = first.lines.flatMap(({ committed, waiting, lost }) => [committed, waiting, lost]);
  const exact = numbers.filter(({ value }) => value < 1_000_000);
  check(exact.every(({ text, value }) => text === String(value)), "numbers below a million are shown with all digits");
  check(/^\d\.\d\dM$/.test(slow.lost.text), `larger losses are shortened: ${slow.lost.text}`);
  check(good.committed.value > 0 && good.state === "ok", `${good.name}: ${good.state}`);
  check(good.lost.value === 0 && good.lost.colour !== first.bad, "nothing lost is not red");
  check(slow.state === "waiting: asked to wait for ever, by --outputs", `${slow.name}: ${slow.state}`);
  check(slow.lost.value > 0 && slow.lost.colour === first.bad, "what a slow output dropped is red");
  check(picture.lost.value > 0 && picture.lost.colour !== first.bad, "what a picture dropped is not");
  const { offered } = first.told[3].events;
  const sum = broken.committed.value + broken.lost.value;
  check(broken.committed.value > 0 && broken.lost.value > 0 && sum === offered, "the failed output keeps what it committed, and lost the rest");
  check(broken.state === "failed: asked to fail, <b>boldly</b>, by --outputs", `${broken.name}: ${broken.state}`);
  check(broken.markup === 0 && broken.lost.colour === first.bad, "its reason is text, not markup; its losses are red");

  await page.click("#outputs tbody:nth-of-type(1) button");
  await until(page, (s) => s.status.outputs[0].events.committed > good.committed.value, "more committed events");
  const later = await shown(page);
  check(later.lines[0].committed.value > good.committed.value, `committed events grow: ${good.committed.value}, then ${later.lines[0].committed.value}`);
  const { details } = later.lines[0];
  check(/offered[\d\u202f]+committed/.test(details ?? "") && /batches\d+/.test(details ?? ""), "its counters are open, and stay so");
  check(later.lines.slice(1).every((line) => line.details === null), "those of the others are closed");
  if (screenshot) await page.screenshot({ path: screenshot });
  await page.click("#outputs tbody:nth-of-type(1) button");
  check((await shown(page)).lines[0].details === null, "another click closes them");

  const fits = await page.evaluate(() => {
    const ledger = document.getElementById("ledger");
    const text = document.createRange();
    // What is aligned to the right runs over on the left, where no scroll bar tells of it.
    const isInside = (cell) => {
      text.selectNodeContents(cell);
      const [inner, outer] = [text.getBoundingClientRect(), cell.getBoundingClientRect()];
      return inner.width === 0 || (inner.left >= outer.left + 3 && inner.right <= outer.right + 1);
    };
    const cells = [...document.querySelectorAll("#outputs tr:nth-child(2) td")];
    return ledger.scrollWidth <= ledger.clientWidth && cells.length === 12 && cells.every(isInside);
  });
  check(fits, "the table fits into its panel");
  check((await page.textContent("#notices")).includes("FAILED OUTPUT"), "the top of the page tells of the failure");
  check(complaints.length === 0, `the console is empty${complaints.map((line) => `\n      ${line}`).join("")}`);
} catch (error) {
  check(false, error.message);
} finally {
  await browser.close();
  server.kill("SIGKILL");
}
conclude("the outputs are right");
