// A live view of its own for a test.

import { spawn } from "node:child_process";

/** Starts `program`, a live view of made-up events; resolves once it says where it is. */
export function serve(program, address, more = ["--rate", "50000"]) {
  const server = spawn(program, ["--address", address, ...more], { stdio: ["ignore", "pipe", "inherit"] });
  return new Promise((resolve, reject) => {
    server.on("error", reject);
    server.on("exit", (code) => reject(new Error(`${program} ended with ${code}`)));
    server.stdout.on("data", (text) => {
      const found = /http:\/\/(\S+)/.exec(text);
      if (found) resolve({ server, address: found[1] });
    });
  });
}
