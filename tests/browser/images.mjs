// Comparing images: { nx, ny, values or counts }, row by row from y = 0.

/** Pearson's correlation of two equally long rows of numbers. */
export function correlation(a, b) {
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [meanA, meanB] = [mean(a), mean(b)];
  let [both, squareA, squareB] = [0, 0, 0];
  for (let at = 0; at < a.length; at++) {
    const [da, db] = [a[at] - meanA, b[at] - meanB];
    both += da * db;
    squareA += da * da;
    squareB += db * db;
  }
  return squareA > 0 && squareB > 0 ? both / Math.sqrt(squareA * squareB) : 0;
}

/** The image turned over: left and right, top and bottom, or both. */
export function mirrored({ nx, ny, values }, { x = false, y = false }) {
  return values.map((_, at) => {
    const [column, row] = [at % nx, Math.floor(at / nx)];
    return values[(y ? ny - 1 - row : row) * nx + (x ? nx - 1 - column : column)];
  });
}
