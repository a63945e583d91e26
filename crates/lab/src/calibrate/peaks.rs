//! Peaks in places along a tube.

use super::spectra::BINS;

/// Readouts that a peak needs.
const FEWEST: f64 = 50.0;
/// Share of the window at each of its ends whose readouts are background.
const EDGE: f64 = 0.1;
/// A peak is at most so far from where it is expected, in reaches.
const FURTHEST: f64 = 1.25;
/// Times that a window is moved onto its peak.
const STEPS: usize = 12;

/// A peak.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Peak {
    /// Its place, from 0 to 1.
    pub place: f64,
    /// Standard error of the place.
    pub error: f64,
    /// Readouts above the background.
    pub count: f64,
}

/// The peak near `expected`, in a window that reaches `reach` to both sides; none where too little is there.
pub fn find(bins: &[u32], expected: f64, reach: f64) -> Option<Peak> {
    let mut middle = expected;
    let mut peak = None;
    for _ in 0..STEPS {
        let found = within(bins, middle, reach)?;
        let moved = (found.place - middle).abs();
        if (found.place - expected).abs() > FURTHEST * reach {
            return None;
        }
        middle = found.place;
        peak = Some(found);
        if moved < 0.01 / BINS as f64 {
            break;
        }
    }
    peak
}

/// The peak in a window.
fn within(bins: &[u32], middle: f64, reach: f64) -> Option<Peak> {
    let bin = |place: f64| (place.clamp(0.0, 1.0) * bins.len() as f64) as usize;
    let (first, end) = (bin(middle - reach), bin(middle + reach));
    let window = bins.get(first..end).filter(|window| window.len() >= 8)?;
    let edge = ((window.len() as f64 * EDGE) as usize).max(1);
    let mean = |bins: &[u32]| bins.iter().map(|&count| f64::from(count)).sum::<f64>() / bins.len() as f64;
    let background = mean(&window[..edge]).min(mean(&window[window.len() - edge..]));
    let place = |number: usize| (first as f64 + number as f64 + 0.5) / bins.len() as f64;
    let (mut count, mut sum) = (0.0, 0.0);
    for (number, &bin) in window.iter().enumerate() {
        let above = f64::from(bin) - background;
        count += above;
        sum += above * place(number);
    }
    if count < FEWEST {
        return None;
    }
    let centre = sum / count;
    let square = |(number, &bin): (usize, &u32)| f64::from(bin) * (place(number) - centre).powi(2);
    let spread: f64 = window.iter().enumerate().map(square).sum();
    Some(Peak { place: centre, error: spread.sqrt() / count, count })
}
