//! The highest rate without loss, by halving.

use super::{MeasureError, MeasuredPoint};

/// When a rate is loss-free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossFreeCriterion {
    /// Every packet came, and as fast as it was sent: what a receiver takes for as long as one likes
    /// ([`MeasuredPoint::is_sustained`]).
    Sustained,
    /// Every packet came, however late: what a receiver takes with the help of its buffer ([`MeasuredPoint::is_whole`]).
    Whole,
}

impl LossFreeCriterion {
    fn is_met_by(self, point: &MeasuredPoint) -> bool {
        match self {
            Self::Sustained => point.is_sustained(),
            Self::Whole => point.is_whole(),
        }
    }
}

/// How to search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossFreeSearch {
    /// When a rate is loss-free.
    pub criterion: LossFreeCriterion,
    /// Ends when the highest loss-free rate and the lowest lossy one are so close, as a share of the latter (0 to 1).
    pub tolerance: f64,
    /// How often the rate that was found must be loss-free again.
    pub confirmations: usize,
    /// Measurements at most, all together.
    pub most: usize,
}

impl Default for LossFreeSearch {
    fn default() -> Self {
        Self { criterion: LossFreeCriterion::Sustained, tolerance: 0.03, confirmations: 2, most: 20 }
    }
}

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub struct LossFree {
    /// Packets per second as sent; none if there was loss at every rate that was tried, or if no rate was loss-free often enough before
    /// [`LossFreeSearch::most`] measurements were made: on a host with other work, a rate that was loss-free once may be lossy the next time.
    pub rate: Option<f64>,
    /// True if the sender cannot send faster, so that the receiver may take more.
    pub is_senders_limit: bool,
    /// Every measurement: packets per second asked for (none: as fast as possible), and what it measured.
    pub tried: Vec<(Option<u64>, MeasuredPoint)>,
}

/// Searches: first as fast as the sender can; if packets are lost, between nothing and 1.3 times what arrived. What is found is measured
/// again, and given up for a lower rate if packets are lost then: one good moment is no rate. What is loss-free, the search's
/// [criterion](LossFreeCriterion) says.
///
/// # Errors
/// Those of `measure`.
pub fn highest_loss_free(
    search: &LossFreeSearch,
    mut measure: impl FnMut(Option<u64>) -> Result<MeasuredPoint, MeasureError>,
) -> Result<LossFree, MeasureError> {
    let mut found = LossFree { rate: None, is_senders_limit: false, tried: Vec::new() };
    let is_good = |point: &MeasuredPoint| search.criterion.is_met_by(point);
    let unpaced = measure(None)?;
    found.tried.push((None, unpaced.clone()));
    let mut confirmed = usize::from(is_good(&unpaced));
    while confirmed > 0 && confirmed <= search.confirmations {
        let again = measure(None)?;
        confirmed = if is_good(&again) { confirmed + 1 } else { 0 };
        found.tried.push((None, again));
    }
    if confirmed > 0 {
        found.rate = Some(lowest_sent(&found.tried));
        found.is_senders_limit = true;
        return Ok(found);
    }
    let mut low = 0.0;
    let mut high = (1.3 * unpaced.received_per_second).min(unpaced.sent_per_second);
    let mut good: Vec<MeasuredPoint> = Vec::new();
    while found.tried.len() < search.most {
        let is_narrow = high - low <= search.tolerance * high;
        if is_narrow && (good.len() > search.confirmations || low <= 0.0) {
            break;
        }
        let rate = if is_narrow { low } else { f64::midpoint(low, high) };
        let asked = Some(rate as u64);
        let point = measure(asked)?;
        found.tried.push((asked, point.clone()));
        match (is_good(&point), is_narrow) {
            (true, true) => good.push(point),
            (true, false) => (low, good) = (rate, vec![point]),
            (false, true) => {
                // It was a good moment: everything below is open again.
                (high, low, good) = (low, 0.9 * low, Vec::new());
            }
            (false, false) => high = rate,
        }
    }
    found.rate = good.iter().map(|point| point.sent_per_second).min_by(f64::total_cmp);
    Ok(found)
}

fn lowest_sent(tried: &[(Option<u64>, MeasuredPoint)]) -> f64 {
    let sent = tried.iter().map(|(_, point)| point.sent_per_second);
    sent.min_by(f64::total_cmp).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A receiver that loses packets beyond a rate, and a sender that cannot be faster than another.
    fn system(limit: f64, fastest: f64) -> impl FnMut(Option<u64>) -> Result<MeasuredPoint, MeasureError> {
        move |asked| {
            let rate = asked.map_or(fastest, |asked| (asked as f64).min(fastest));
            let received = rate.min(limit);
            let (sent, came) = (rate as u64, received as u64);
            Ok(MeasuredPoint {
                sent,
                received: came,
                lost: sent - came,
                sent_per_second: rate,
                received_per_second: received,
                ..MeasuredPoint::default()
            })
        }
    }

    #[test]
    fn a_known_limit_is_found() {
        for limit in [1e3, 87_654.0, 1e6] {
            let found = highest_loss_free(&LossFreeSearch::default(), system(limit, 3e6)).expect("figures");
            let rate = found.rate.expect("a rate");
            assert!(rate <= limit && rate > 0.95 * limit, "{rate} of {limit}");
            assert!(!found.is_senders_limit);
            let confirmed = found.tried.iter().filter(|(asked, _)| *asked == Some(rate as u64)).count();
            assert!(confirmed > 2, "measured {confirmed} times");
        }
    }

    #[test]
    fn what_a_buffer_keeps_is_whole_and_not_sustained() {
        // Everything comes up to 50 000 packets/s, but half as fast as it was sent.
        let kept = || {
            let mut truth = system(5e4, 1e6);
            move |asked| {
                let point = truth(asked)?;
                let received_per_second = 0.5 * point.received_per_second;
                Ok(MeasuredPoint { received_per_second, ..point })
            }
        };
        let search = LossFreeSearch { criterion: LossFreeCriterion::Whole, ..LossFreeSearch::default() };
        let whole = highest_loss_free(&search, kept()).expect("figures");
        assert!(whole.rate.is_some_and(|rate| rate <= 5e4), "{whole:?}");
        let sustained = highest_loss_free(&LossFreeSearch::default(), kept()).expect("figures");
        assert_eq!(sustained.rate, None);
    }

    #[test]
    fn a_sender_that_is_slower_than_the_receiver_is_named_as_the_limit() {
        let found = highest_loss_free(&LossFreeSearch::default(), system(1e6, 4e5)).expect("figures");
        assert_eq!((found.rate, found.is_senders_limit), (Some(4e5), true));
        assert_eq!(found.tried.len(), 3);
    }

    #[test]
    fn a_good_moment_is_not_taken_for_a_rate() {
        // Beyond 100 000 packets/s every second measurement is good.
        let mut count = 0;
        let mut truth = system(1e5, 1e6);
        let mut lucky = system(1e9, 1e6);
        let found = highest_loss_free(&LossFreeSearch { most: 60, ..LossFreeSearch::default() }, |asked| {
            count += 1;
            if count % 2 == 0 { lucky(asked) } else { truth(asked) }
        })
        .expect("figures");
        assert!(found.rate.is_some_and(|rate| rate <= 1e5), "{found:?}");
    }

    #[test]
    fn nothing_is_found_where_every_rate_is_lossy() {
        let found = highest_loss_free(&LossFreeSearch::default(), system(0.0, 1e6)).expect("figures");
        assert_eq!(found.rate, None);
        assert!(found.tried.len() <= LossFreeSearch::default().most);
    }
}
