//! Events that everybody knows: a letter in a frame, as ev44. Whoever sees it at the other end knows that the chain is alive, and
//! that nothing is turned or mirrored on the way.

use super::pacer::Pacer;
use super::{Outgoing, Sender};
use crate::client::ClientError;
use evforge_messages::{Encoder, Ev44};
use std::sync::atomic::{AtomicBool, Ordering};

/// The letter F: it looks like itself in one orientation only. A row of bits, the left one first.
const LETTER: [u8; 7] = [0b11111, 0b10000, 0b10000, 0b11110, 0b10000, 0b10000, 0b10000];
const LETTER_WIDTH: u32 = 5;

/// What is sent.
#[derive(Clone, Debug)]
pub struct TestImage {
    /// Pixels in a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// The id of the first pixel; the next are counted along the rows.
    pub first_pixel: i32,
    /// The name of the source.
    pub source: String,
    /// Events of a pulse.
    pub events: usize,
    /// Nanoseconds from pulse to pulse.
    pub period_ns: i64,
    /// How many pulses; none: until somebody ends it.
    pub pulses: Option<u64>,
}

impl TestImage {
    /// The pixels of the picture: the frame, and the letter in it. Row 0 is the lowest, as in all of evforge's pictures.
    ///
    /// # Errors
    /// If the detector is too small for it, or has more pixels than ids.
    pub fn pixels(&self) -> Result<Vec<i32>, String> {
        let (width, height) = (self.width, self.height);
        let letter_height = LETTER.len() as u32;
        if width < LETTER_WIDTH + 4 || height < letter_height + 4 {
            return Err(format!(
                "a test image needs at least {} x {} pixels, found {width} x {height}",
                LETTER_WIDTH + 4,
                letter_height + 4
            ));
        }
        let last = u64::from(width) * u64::from(height) - 1;
        if i64::try_from(last).is_ok_and(|last| i64::from(self.first_pixel) + last > i64::from(i32::MAX)) {
            return Err(format!(
                "pixel ids end at {}: {width} x {height} pixels from {} on are too many",
                i32::MAX,
                self.first_pixel
            ));
        }
        // As large as it fits, with a gap to the frame.
        let scale = ((width - 4) / LETTER_WIDTH).min((height - 4) / letter_height);
        let left = (width - scale * LETTER_WIDTH) / 2;
        let top = (height - scale * letter_height) / 2;
        let is_lit = |x: u32, y: u32| {
            let is_frame = x == 0 || y == 0 || x == width - 1 || y == height - 1;
            // The letter is written from above.
            let row = height - 1 - y;
            let is_letter = x >= left
                && row >= top
                && LETTER.get(((row - top) / scale) as usize).is_some_and(|bits| {
                    let column = (x - left) / scale;
                    column < LETTER_WIDTH && bits >> (LETTER_WIDTH - 1 - column) & 1 == 1
                });
            is_frame || is_letter
        };
        let all = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
        let lit = all.filter(|(x, y)| is_lit(*x, *y));
        Ok(lit.map(|(x, y)| self.first_pixel + (y * width + x) as i32).collect())
    }

    /// The events of a pulse: pixels in turn, and times that are spread evenly over the period.
    pub fn pulse(&self, lit: &[i32], number: u64) -> (Vec<i32>, Vec<i32>) {
        let events = self.events;
        let begin = usize::try_from(number).unwrap_or(0).wrapping_mul(events) % lit.len().max(1);
        let pixels = lit.iter().cycle().skip(begin).take(events).copied().collect();
        let longest = self.period_ns.min(i64::from(i32::MAX));
        let time = |event: usize| i32::try_from(longest * event as i64 / events.max(1) as i64).unwrap_or(0);
        ((0..events).map(time).collect(), pixels)
    }
}

/// Sends pulses from `now_ns` on, each when it is due. How many were sent.
///
/// # Errors
/// If sending is impossible.
pub fn send_image(
    image: &TestImage,
    lit: &[i32],
    now_ns: i64,
    sender: &mut Sender,
    stop: &AtomicBool,
) -> Result<u64, ClientError> {
    let mut pacer = Pacer::new(Some(1.0));
    let mut encoder = Encoder::new();
    let mut number = 0;
    while image.pulses.is_none_or(|pulses| number < pulses) && !stop.load(Ordering::Relaxed) {
        let time = now_ns + image.period_ns.saturating_mul(i64::try_from(number).unwrap_or(i64::MAX));
        if !pacer.wait(time, sender, stop) {
            break;
        }
        let (times, pixels) = image.pulse(lit, number);
        let pulse_time = [time];
        let message = Ev44 {
            source_name: &image.source,
            message_id: i64::try_from(number).unwrap_or(i64::MAX) + 1,
            reference_time: pulse_time.as_slice().into(),
            reference_time_index: (&[0]).into(),
            time_of_flight: times.as_slice().into(),
            pixel_id: pixels.as_slice().into(),
        };
        let payload = message.encode(&mut encoder);
        let key = Some(image.source.as_bytes());
        if !sender.send(&Outgoing { key, payload, ..Outgoing::default() }, stop)? {
            break;
        }
        number += 1;
    }
    Ok(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(width: u32, height: u32) -> TestImage {
        TestImage {
            width,
            height,
            first_pixel: 1,
            source: "test".to_owned(),
            events: 10,
            period_ns: 1_000_000_000 / 14,
            pulses: None,
        }
    }

    #[test]
    fn the_smallest_picture_is_an_f_in_a_frame() {
        let lit = image(9, 11).pixels().unwrap();
        let rows: Vec<String> = (0..11)
            .rev()
            .map(|y| (0..9).map(|x| if lit.contains(&(y * 9 + x + 1)) { '#' } else { '.' }).collect())
            .collect();
        let expected = [
            "#########",
            "#.......#",
            "#.#####.#",
            "#.#.....#",
            "#.#.....#",
            "#.####..#",
            "#.#.....#",
            "#.#.....#",
            "#.#.....#",
            "#.......#",
            "#########",
        ];
        assert_eq!(rows, expected);
    }

    #[test]
    fn every_pixel_has_its_turn_and_times_are_within_the_period() {
        let image = image(64, 48);
        let lit = image.pixels().unwrap();
        let pulses = lit.len() as u64;
        let mut counts = std::collections::BTreeMap::new();
        for number in 0..pulses {
            let (times, pixels) = image.pulse(&lit, number);
            assert_eq!((times.len(), pixels.len()), (10, 10));
            assert!(times.is_sorted() && times[9] < 71_428_571);
            pixels.into_iter().for_each(|pixel| *counts.entry(pixel).or_insert(0) += 1);
        }
        assert!(counts.len() == lit.len() && counts.values().all(|count| *count == 10));
    }

    #[test]
    fn a_detector_that_is_too_small_or_too_large_is_refused() {
        assert!(image(8, 20).pixels().unwrap_err().contains("at least 9 x 11"));
        assert!(image(60_000, 60_000).pixels().unwrap_err().contains("too many"));
    }
}
