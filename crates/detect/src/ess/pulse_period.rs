//! The period of the pulses, found from the pulses themselves.

/// Distances within this part of one another are the same: one percent.
const TOLERANCE: u64 = 100;

/// True if two distances are the same period.
pub(super) fn is_same(distance: u64, period: u64) -> bool {
    distance.abs_diff(period) <= period / TOLERANCE
}

/// Finds the distance that most pulses have from the one before: the vote of Boyer and Moore, which needs to remember one
/// candidate only.
#[derive(Clone, Copy, Debug, Default, get_size2::GetSize)]
pub(super) struct PeriodVote {
    candidate: u64,
    votes: u64,
    /// Distances seen.
    seen: u64,
}

impl PeriodVote {
    /// Takes a distance above 0.
    pub(super) fn see(&mut self, distance: u64) {
        self.seen += 1;
        if self.votes == 0 {
            (self.candidate, self.votes) = (distance, 1);
        } else if is_same(distance, self.candidate) {
            self.votes += 1;
        } else {
            self.votes -= 1;
        }
    }

    /// The period, if there is a candidate.
    pub(super) fn period(&self) -> Option<u64> {
        (self.votes > 0).then_some(self.candidate)
    }

    /// The period, once at least `least` distances have been seen, and how clear it is.
    pub(super) fn settled(&self, least: u64) -> Option<(u64, u64)> {
        self.period().filter(|_| self.seen >= least).map(|period| (self.votes, period))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_of_most_pulses_is_the_period() {
        let mut vote = PeriodVote::default();
        assert_eq!((vote.period(), vote.settled(1)), (None, None));
        for distance in [5000, 1000, 1009, 2000, 1000, 999, 300, 1000] {
            vote.see(distance);
        }
        assert_eq!(vote.period(), Some(1000));
        assert_eq!((vote.settled(9), vote.settled(8).map(|(_, period)| period)), (None, Some(1000)));
    }
}
