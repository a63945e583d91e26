// Checks that the page survives a restart of the server.
//
//   node restart_test.mjs LIVE [SCREENSHOT.png]
//
// LIVE is the program target/release/examples/live (cargo build --release -p evforge-view --example live).
// Checked: while the server is away the page says so and keeps its picture; when another one is there, the
// page says that too, and starts afresh.

import { spawn } from "node:child_process";
import { image, open, until } from "./browser.mjs";

const [program, screenshot] = process.argv.slice(2);
if (!program) {
  console.error("usage: node restart_test.mjs LIVE [SCREENSHOT.png]");
  process.exit(2);
}

/** Starts a live view; resolves once it says where it is. */
function serve(address) {
  const server = spawn(program, ["--address", address, "--rate", "50000"], { stdio: ["ignore", "pipe", "inherit"] });
  return new Promise((resolve, reject) => {
    server.on("error", reject);
    server.on("exit", (code) => reject(new Error(`${program} ended with ${code}`)));
    server.stdout.on("data", (text) => {
      const found = /http:\/\/(\S+)/.exec(text);
      if (found) resolve({ server, address: found[1] });
    });
  });
}

const failures = [];
function check(holds, what) {
  console.log(`${holds ? "ok  " : "FAIL"}  ${what}`);
  if (!holds) failures.push(what);
}
const total = ({ counts }) => counts.reduce((sum, count) => sum + count, 0);
const pill = (page) => page.textContent("#connection");

let { server, address } = await serve("127.0.0.1:0");
const { browser, page } = await open(`http://${address}`);
try {
  await until(page, (s) => s?.pictures >= 3, "a third picture");
  check((await pill(page)) === "Live", "the page says that it is live");
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
  ({ server } = await serve(address));
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
console.log(failures.length === 0 ? "the page survives a restart" : `${failures.length} checks failed`);
process.exit(failures.length === 0 ? 0 : 1);
