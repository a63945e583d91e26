// Checks that the page survives a restart of the server.
//
//   node restart_test.mjs LIVE [SCREENSHOT.png]
//
// LIVE is the program target/release/examples/live (cargo build --release -p evforge-view --example live).
// Checked: while the server is away the page says so and keeps its picture; when another one is there, the
// page says that too, and starts afresh.

import { image, open, until } from "./browser.mjs";
import { check, conclude } from "./checks.mjs";
import { serve } from "./server.mjs";

const [program, screenshot] = process.argv.slice(2);
if (!program) {
  console.error("usage: node restart_test.mjs LIVE [SCREENSHOT.png]");
  process.exit(2);
}

const total = ({ counts }) => counts.reduce((sum, count) => sum + count, 0);
const pill = (page) => page.textContent("#connection");

let { server, address } = await serve(program, "127.0.0.1:0");
const { browser, page } = await open(`http://${address}`);
try {
  await until(page, (s) => s?.pictures >= 3, "a third picture");
  // The line at the top is renewed twice a second, which may be after the third picture.
  await page.waitForTimeout(1000);
  const first = await pill(page);
  check(first === "Live", `the page says that it is live: ${first}`);
  await page.waitForTimeout(3000);
  server.kill("SIGKILL");
  await until(page, (s) => s.phase === "reconnecting", "the page notices that the server is gone");
  const kept = total(await image(page));
  check(kept > 0, `the picture stays: ${kept} counts`);
  check((await pill(page)).startsWith("No connection"), "the page says that there is no connection");
  if (screenshot) {
    await page.waitForTimeout(3500);
    await page.screenshot({ path: screenshot });
  }
  ({ server } = await serve(program, address));
  await until(page, (s) => s.phase === "connected" && s.restarts === 1, "the page finds the new server");
  await until(page, (s) => s.total > 0, "a picture of the new server");
  // Had the page added to what it had, it would show more than the new server has seen.
  const shown = total(await image(page));
  const { events } = await (await fetch(`http://${address}/api/state.json`)).json();
  check(shown <= events, `the counts start afresh: ${shown}, of ${events} at the server`);
  check((await page.textContent("#notices")).includes("restarted"), "the page tells of the restart");
} catch (error) {
  check(false, error.message);
} finally {
  await browser.close();
  server.kill("SIGKILL");
}
conclude("the page survives a restart");
