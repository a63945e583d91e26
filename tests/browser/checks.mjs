// What all tests of the page print: a line for each check, and how many of them failed.

const failures = [];

/** Prints whether `what` holds. */
export function check(holds, what) {
  console.log(`${holds ? "ok  " : "FAIL"}  ${what}`);
  if (!holds) failures.push(what);
}

/** Ends the program: with `success` and status 0 if all checks held, else with status 1. */
export function conclude(success) {
  console.log(failures.length === 0 ? success : `${failures.length} checks failed`);
  process.exit(failures.length === 0 ? 0 : 1);
}
