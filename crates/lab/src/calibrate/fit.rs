//! Ends and polynomial of a tube, from where slits are and where they are seen.

/// Largest number of coefficients.
const COEFFICIENTS: usize = 4;

/// The ends of a tube.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ends {
    /// Where its beginning and its end are seen, from 0 to 1.
    pub interval: [f64; 2],
    /// Standard errors of both.
    pub errors: [f64; 2],
}

/// The straight line through where slits are seen (place, standard error) over where they are, and with it both ends.
/// None with fewer than two slits.
pub fn ends(slits: &[f64], seen: &[(f64, f64)]) -> Option<Ends> {
    let (mut w, mut x, mut y, mut xx, mut xy) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for (slit, (place, error)) in slits.iter().zip(seen) {
        let weight = 1.0 / (error * error).max(f64::MIN_POSITIVE);
        w += weight;
        x += weight * slit;
        y += weight * place;
        xx += weight * slit * slit;
        xy += weight * slit * place;
    }
    let determinant = w * xx - x * x;
    if !(determinant > 0.0 && determinant.is_finite()) {
        return None;
    }
    let (begin, slope) = ((xx * y - x * xy) / determinant, (w * xy - x * y) / determinant);
    let (of_begin, of_slope, both) = (xx / determinant, w / determinant, -x / determinant);
    let end = of_begin + of_slope + 2.0 * both;
    Some(Ends { interval: [begin, begin + slope], errors: [of_begin.sqrt(), end.max(0.0).sqrt()] })
}

/// The polynomial whose value at each place is the residual there, by least squares with these weights: a, b, c, d. It has as many
/// coefficients as the slits bear with two of them to spare; the others are 0.
pub fn polynomial(places: &[f64], residuals: &[f64], weights: &[f64]) -> [f64; COEFFICIENTS] {
    let count = places.len().saturating_sub(2).min(COEFFICIENTS);
    let mut matrix = [[0.0; COEFFICIENTS + 1]; COEFFICIENTS];
    for ((place, residual), weight) in places.iter().zip(residuals).zip(weights) {
        let powers = [1.0, *place, place.powi(2), place.powi(3)];
        for (row, power) in matrix.iter_mut().zip(powers) {
            for (cell, other) in row.iter_mut().zip(powers) {
                *cell += weight * power * other;
            }
            row[COEFFICIENTS] += weight * power * residual;
        }
    }
    solve(&mut matrix, count)
}

/// Solves the first `count` equations, by elimination with the largest pivots.
fn solve(matrix: &mut [[f64; COEFFICIENTS + 1]; COEFFICIENTS], count: usize) -> [f64; COEFFICIENTS] {
    for column in 0..count {
        let largest = (column..count)
            .max_by(|&one, &other| matrix[one][column].abs().total_cmp(&matrix[other][column].abs()));
        matrix.swap(column, largest.unwrap_or(column));
        let pivot = matrix[column];
        if pivot[column] == 0.0 {
            return [0.0; COEFFICIENTS];
        }
        for row in matrix.iter_mut().take(count).skip(column + 1) {
            let factor = row[column] / pivot[column];
            row.iter_mut().zip(pivot).for_each(|(cell, of_pivot)| *cell -= factor * of_pivot);
        }
    }
    let mut found = [0.0; COEFFICIENTS];
    for row in (0..count).rev() {
        let known: f64 = (row + 1..count).map(|column| matrix[row][column] * found[column]).sum();
        found[row] = (matrix[row][COEFFICIENTS] - known) / matrix[row][row];
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_and_a_cubic_are_found_again() {
        let slits = [0.1, 0.3, 0.5, 0.7, 0.9];
        let seen = slits.map(|slit| (0.2 + 0.5 * slit, 0.001));
        let found = ends(&slits, &seen).unwrap();
        assert!((found.interval[0] - 0.2).abs() < 1e-12 && (found.interval[1] - 0.7).abs() < 1e-12);
        // Errors as the formula of a line has them, at both ends alike because the slits are symmetrical.
        let expected = 0.001 * (1.0_f64 / 5.0 + 0.25 / 0.4).sqrt();
        assert!(found.errors.iter().all(|error| (error - expected).abs() < 1e-9), "{found:?}");
        assert_eq!(ends(&slits[..1], &seen[..1]), None);

        let places = [0.05, 0.2, 0.4, 0.5, 0.7, 0.95];
        let cubic = |p: f64| 0.01 - 0.02 * p + 0.03 * p * p - 0.015 * p * p * p;
        let found = polynomial(&places, &places.map(cubic), &[1.0; 6]);
        for (found, expected) in found.iter().zip([0.01, -0.02, 0.03, -0.015]) {
            assert!((found - expected).abs() < 1e-9, "{found} for {expected}");
        }
        // Three slits bear a constant only.
        assert_eq!(polynomial(&places[..3], &[0.1; 3], &[1.0; 3])[1..], [0.0; 3]);
    }
}
