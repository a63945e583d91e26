// The program itself, for tests of what its page shows of real packets.

import { spawn, spawnSync } from "node:child_process";

/** Runs `program` to its end; throws with what it said if it fails. */
export function finish(program, ...args) {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`${args.join(" ")} ended with ${status}: ${stdout}${stderr}`);
  return stdout;
}

/** Starts a live run with a page; resolves once it says where both are. */
export function live(program, args) {
  const started = ["run", "--address", "127.0.0.1", "--port", "0", ...(args.includes("--view") ? [] : ["--view", "127.0.0.1:0"]), ...args];
  return started_by(program, started, /live view at (http:\S+)/, /receiving at UDP (\S+)/);
}

/** Shows a file; resolves once it says where its page is. */
export const viewed = (program, args) => started_by(program, ["view", ...args], /live view at (http:\S+)/, null);

/** Starts the demonstration; resolves once it says where its page is. */
export const demonstration = (program, args) => started_by(program, ["demo", ...args], /live view at (http:\S+)/, null);

function started_by(program, args, pageIs, addressIs) {
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
  const run = { child, said: "", printed: "", page: "", address: "" };
  run.ended = new Promise((resolve) => child.on("exit", (code) => resolve(code)));
  child.stdout.on("data", (text) => (run.printed += text));
  return new Promise((resolve, reject) => {
    child.on("exit", (code) => reject(new Error(`it ended with ${code}: ${run.said}`)));
    child.stderr.on("data", (text) => {
      run.said += text;
      run.page = pageIs.exec(run.said)?.[1] ?? "";
      run.address = addressIs?.exec(run.said)?.[1] ?? "";
      if (run.page && (run.address || addressIs === null)) resolve(run);
    });
  });
}

/** Sends a capture again and again until it is stopped. */
export class Sending {
  constructor(program, capture, address) {
    this.args = ["replay", capture, "--to", address];
    this.program = program;
    this.goesOn = true;
    this.done = this.send();
  }

  async send() {
    while (this.goesOn) {
      this.child = spawn(this.program, this.args, { stdio: "ignore" });
      await new Promise((resolve) => this.child.on("exit", resolve));
    }
  }

  async stop() {
    this.goesOn = false;
    this.child?.kill("SIGINT");
    await this.done;
  }
}
