//! The highest peak of pulses that are received whole.

use crate::measured_link::{LossFree, LossFreeSearch, MeasureError, MeasuredPoint, highest_loss_free};

/// The first peak that is tried, over what is expected: high enough that packets are lost.
const FIRST: f64 = 1.5;
/// A sender that gets to less of the peak that was asked for is at its own limit.
const REACHED: f64 = 0.9;
/// The share of the peak that was found at which pulses are sent again, to see them whole.
const BELOW: f64 = 0.9;

/// The highest peak that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundPeak {
    /// What was found: rates are those in pulses, in packets per second.
    pub found: LossFree,
    /// What was measured at 90 % of it; none if none was found.
    pub below: Option<MeasuredPoint>,
}

impl FoundPeak {
    /// True if the sender and not the buffer limits what was found: it cannot make higher peaks, or did not get to the one that was asked
    /// for.
    pub fn is_of_sender(&self) -> bool {
        let is_found = |point: &MeasuredPoint| Some(point.sent_per_second) == self.found.rate;
        let missed = self.found.tried.iter().any(|(asked, point)| {
            is_found(point) && asked.is_some_and(|asked| point.sent_per_second < REACHED * asked as f64)
        });
        self.found.is_senders_limit || missed
    }
}

/// Searches the highest peak, in packets per second, at which every packet of all pulses comes. `measure` sends pulses with a peak
/// rate, `expected` is where packets are thought to be lost.
///
/// # Errors
/// Those of `measure`, and if it sent no pulses.
pub fn highest_whole_peak(
    search: &LossFreeSearch,
    expected: f64,
    mut measure: impl FnMut(f64) -> Result<MeasuredPoint, MeasureError>,
) -> Result<FoundPeak, MeasureError> {
    let mut first = FIRST * expected;
    let mut tried = Vec::new();
    let mut found = loop {
        let mut at = |peak: Option<u64>| measure(peak.map_or(first, |peak| peak as f64));
        let found = highest_loss_free(search, |peak| at(peak)?.in_pulses().ok_or(MeasureError::NoPulses))?;
        let is_reached = found.rate.is_some_and(|rate| rate >= REACHED * first);
        if !(found.is_senders_limit && is_reached) {
            break found;
        }
        // More is received than was expected, and more can be sent.
        tried.extend(found.tried);
        first *= 2.0;
    };
    tried.append(&mut found.tried);
    found.tried = tried;
    let below = found.rate.map(|rate| measure(BELOW * rate)).transpose()?;
    Ok(FoundPeak { found, below })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured_link::LossFreeCriterion;

    const SEARCH: LossFreeSearch =
        LossFreeSearch { criterion: LossFreeCriterion::Whole, tolerance: 0.03, confirmations: 1, most: 20 };

    /// A receiver that keeps a pulse of so many packets, each a second long, and a sender that cannot be faster than another rate.
    fn system(limit: f64, fastest: f64) -> impl FnMut(f64) -> Result<MeasuredPoint, MeasureError> {
        move |peak| {
            let sent = peak.min(fastest);
            let received = sent.min(limit) as u64;
            let sent_in_all = sent as u64;
            Ok(MeasuredPoint {
                sent: sent_in_all,
                received,
                lost: sent_in_all - received,
                peak_per_second: Some(sent),
                // On average, and slower than sent: only what comes is what counts.
                sent_per_second: sent / 10.0,
                received_per_second: sent / 20.0,
                ..MeasuredPoint::default()
            })
        }
    }

    #[test]
    fn a_known_peak_is_found_wherever_it_was_expected() {
        for expected in [20e3, 95e3, 100e3, 400e3] {
            let found = highest_whole_peak(&SEARCH, expected, system(1e5, 2e6)).expect("figures");
            let peak = found.found.rate.unwrap_or_else(|| panic!("{expected}: none"));
            assert!(peak <= 1e5 && peak > 0.95e5, "{expected}: {peak}");
            assert!(!found.is_of_sender());
            assert!(found.below.is_some_and(|below| below.is_whole()), "{expected}");
        }
    }

    #[test]
    fn a_sender_that_cannot_make_the_peak_is_named_as_the_limit() {
        let found = highest_whole_peak(&SEARCH, 100e3, system(5e5, 120e3)).expect("figures");
        assert_eq!((found.found.rate, found.found.is_senders_limit), (Some(120e3), true));
    }

    #[test]
    fn a_peak_that_the_sender_did_not_get_to_is_its_own() {
        let mut truth = system(1e5, 2e6);
        let found = highest_whole_peak(&SEARCH, 100e3, |peak| truth(0.8 * peak)).expect("figures");
        assert!(found.found.rate.is_some_and(|rate| rate <= 1e5), "{found:?}");
        assert!(found.is_of_sender() && !found.found.is_senders_limit);
    }

    #[test]
    fn where_packets_are_lost_at_every_peak_none_is_found() {
        let found = highest_whole_peak(&SEARCH, 100e3, system(0.0, 1e6)).expect("figures");
        assert_eq!((found.found.rate, found.below), (None, None));
    }

    #[test]
    fn packets_that_came_evenly_have_no_peak() {
        let evenly = |_| Ok(MeasuredPoint { sent: 1, received: 1, ..MeasuredPoint::default() });
        assert!(matches!(highest_whole_peak(&SEARCH, 1e5, evenly), Err(MeasureError::NoPulses)));
    }
}
