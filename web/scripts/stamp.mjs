// Ties web/dist to its sources: `write` stores a hash of the sources beside the built page, `check` fails if
// the sources have changed since. A test of crates/view computes the same hash; keep the two alike.
//
// The hash is SHA-256 over all source files in the order of their paths: path, a zero byte, the length in
// decimal, a zero byte, content.

import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const web = join(dirname(fileURLToPath(import.meta.url)), "..");
const single = ["index.html", "package-lock.json", "package.json", "tsconfig.json", "vite.config.ts"];
const folders = ["public", "src"];

const inFolders = folders.flatMap((folder) =>
  readdirSync(join(web, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name).slice(web.length + 1)),
);
const hash = createHash("sha256");
for (const path of [...single, ...inFolders].sort()) {
  const content = readFileSync(join(web, path));
  hash.update(`${path}\0${content.length}\0`);
  hash.update(content);
}
const stamp = `${hash.digest("hex")}\n`;
const file = join(web, "dist", "sources.sha256");

if (process.argv[2] === "write") {
  writeFileSync(file, stamp);
} else {
  let found = "";
  try {
    found = readFileSync(file, "utf8");
  } catch {
    // Told below.
  }
  if (found !== stamp) {
    console.error("web/dist was not built from these sources: run `npm ci && npm run build` in web/ and commit web/dist");
    process.exit(1);
  }
}
