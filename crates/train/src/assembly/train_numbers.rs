//! Whether the number of a train follows those before it.
//!
//! Numbers of a source grow by the stride; where trains were lost, by several strides. A number may be wrong (one flipped bit), and then
//! the trains after it must not pay for it. A train may become whole after the one that was sent after it: the numbers of the frames tell.
//!
//! | the number is | the train is |
//! |---|---|
//! | one stride ahead of the newest | good |
//! | several strides ahead, up to the largest gap | good, after a gap |
//! | between those of the frames before and after its own | good, out of order |
//! | of before the gap that the newest made, and its frame is newer | good: the number that made the gap was wrong |
//! | one stride after that of the train that was just rejected | good: the sender has started over elsewhere |
//! | anything else | rejected |

/// What is wrong with the number of a train.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberFault {
    /// It is that of the train before.
    Repeated,
    /// It is lower.
    Back,
    /// It is ahead, and not by strides.
    OffStride,
    /// It is ahead by more than the largest gap.
    FarAhead,
    /// It is another one than was announced before the train, over TCP.
    NotAnnounced,
}

/// How the number of a good train came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NumberStep {
    /// One stride ahead, or the first one.
    Follows,
    /// Several strides ahead.
    Gap,
    /// After one of a higher number.
    OutOfOrder,
    /// Elsewhere, and confirmed.
    Restart,
}

/// Good trains that are remembered.
const REMEMBERED: usize = 16;

/// Follows the numbers of one source.
#[derive(Clone, Debug)]
pub(crate) struct TrainNumbers {
    stride: u64,
    largest_gap: u64,
    /// Frame and number of good trains, in the order of their frames.
    good: Vec<(u32, u64)>,
    /// The number of the train that was rejected last, if none was good since.
    suspect: Option<u64>,
}

impl TrainNumbers {
    /// None has been there. `stride` is at least 1.
    pub(crate) fn new(stride: u64, largest_gap: u64) -> Self {
        Self { stride, largest_gap, good: Vec::with_capacity(REMEMBERED), suspect: None }
    }

    /// Judges the next train that is whole.
    pub(crate) fn judge(&mut self, frame: u32, number: u64) -> Result<NumberStep, NumberFault> {
        let Some(&(newest_frame, newest)) = self.good.last() else {
            self.good.push((frame, number));
            return Ok(NumberStep::Follows);
        };
        let is_older = |other: u32| frame.wrapping_sub(other).cast_signed() < 0;
        let step = match self.strides(newest, number) {
            Ok(strides) => {
                if is_older(newest_frame) {
                    // The frames have started over, and the trains have not.
                    self.good.clear();
                }
                self.insert(self.good.len(), frame, number);
                if strides == 1 { NumberStep::Follows } else { NumberStep::Gap }
            }
            Err(_) if is_older(newest_frame) && self.fits_between(frame, number) => NumberStep::OutOfOrder,
            Err(_) if !is_older(newest_frame) && self.is_of_before_a_gap(number) => {
                self.good.pop();
                self.insert(self.good.len(), frame, number);
                NumberStep::Restart
            }
            Err(_) if self.suspect.is_some_and(|suspect| self.strides(suspect, number) == Ok(1)) => {
                self.good.clear();
                self.good.push((frame, number));
                NumberStep::Restart
            }
            Err(fault) => {
                self.suspect = Some(number);
                return Err(fault);
            }
        };
        self.suspect = None;
        Ok(step)
    }

    /// Puts a train that is older than the newest in its place, if its number fits there.
    fn fits_between(&mut self, frame: u32, number: u64) -> bool {
        let place =
            self.good.iter().take_while(|(good, _)| frame.wrapping_sub(*good).cast_signed() >= 0).count();
        let follows = match place.checked_sub(1) {
            Some(before) => self.strides(self.good[before].1, number).is_ok(),
            // None before it has been forgotten.
            None => self.good.len() < REMEMBERED,
        };
        let fits =
            follows && self.good.get(place).is_some_and(|(_, after)| self.strides(number, *after).is_ok());
        if fits {
            self.insert(place, frame, number);
        }
        fits
    }

    /// True if the newest came after a gap, and this number follows the one before that.
    fn is_of_before_a_gap(&self, number: u64) -> bool {
        let [.., (_, before), (_, newest)] = *self.good else { return false };
        self.strides(before, newest).is_ok_and(|strides| strides > 1) && self.strides(before, number).is_ok()
    }

    fn insert(&mut self, place: usize, frame: u32, number: u64) {
        if self.good.len() < REMEMBERED {
            self.good.insert(place, (frame, number));
        } else if let Some(last) = place.checked_sub(1) {
            self.good[..=last].rotate_left(1);
            self.good[last] = (frame, number);
        }
    }

    /// By how many strides a number is ahead of another.
    fn strides(&self, from: u64, to: u64) -> Result<u64, NumberFault> {
        match to.checked_sub(from) {
            None => Err(NumberFault::Back),
            Some(0) => Err(NumberFault::Repeated),
            Some(ahead) if ahead / self.stride > self.largest_gap => Err(NumberFault::FarAhead),
            Some(ahead) if !ahead.is_multiple_of(self.stride) => Err(NumberFault::OffStride),
            Some(ahead) => Ok(ahead / self.stride),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Judges trains one after the other.
    fn judged(stride: u64, numbers: &[u64]) -> Vec<Result<NumberStep, NumberFault>> {
        let mut check = TrainNumbers::new(stride, 100);
        // The frames wrap on the way.
        numbers.iter().zip(0_u32..).map(|(number, at)| check.judge(at.wrapping_sub(2), *number)).collect()
    }

    #[test]
    fn numbers_grow_by_strides() {
        use NumberStep::{Follows, Gap};
        assert_eq!(judged(16, &[5, 21, 69, 85]), [Ok(Follows), Ok(Follows), Ok(Gap), Ok(Follows)]);
        let off = judged(16, &[5, 21, 38, 37]);
        assert_eq!(off, [Ok(Follows), Ok(Follows), Err(NumberFault::OffStride), Ok(Follows)]);
    }

    #[test]
    fn one_wrong_number_is_rejected_and_harms_none_after_it() {
        use NumberStep::Follows;
        let faults = [
            (11, NumberFault::Repeated),
            (3, NumberFault::Back),
            (1 << 63, NumberFault::FarAhead),
            (u64::MAX, NumberFault::FarAhead),
            (0, NumberFault::Back),
        ];
        for (wrong, fault) in faults {
            let expected = [Ok(Follows), Ok(Follows), Err(fault), Ok(NumberStep::Gap), Ok(Follows)];
            assert_eq!(judged(1, &[10, 11, wrong, 13, 14]), expected, "{wrong}");
        }
    }

    #[test]
    fn a_wrong_number_that_looks_like_a_gap_harms_none_after_it() {
        use NumberStep::{Follows, Gap, Restart};
        assert_eq!(
            judged(1, &[10, 11, 75, 13, 14]),
            [Ok(Follows), Ok(Follows), Ok(Gap), Ok(Restart), Ok(Follows)]
        );
    }

    #[test]
    fn a_sender_that_starts_over_is_believed_with_its_second_train() {
        use NumberStep::{Follows, Restart};
        let numbers = judged(1, &[10, 11, 2, 3, 4]);
        assert_eq!(numbers, [Ok(Follows), Ok(Follows), Err(NumberFault::Back), Ok(Restart), Ok(Follows)]);
        let stuck = judged(1, &[10, 11, 11, 11, 12]);
        let repeated = Err(NumberFault::Repeated);
        assert_eq!(stuck, [Ok(Follows), Ok(Follows), repeated, repeated, Ok(Follows)]);
    }

    #[test]
    fn frames_that_start_over_are_no_fault_of_the_numbers() {
        let mut check = TrainNumbers::new(1, 100);
        let steps = [(7000, 10), (7001, 11), (0, 12), (1, 13), (0, 13)]
            .map(|(frame, number)| check.judge(frame, number));
        let follows = Ok(NumberStep::Follows);
        assert_eq!(steps, [follows, follows, follows, follows, Err(NumberFault::Repeated)]);
    }

    #[test]
    fn trains_may_become_whole_out_of_order() {
        let mut check = TrainNumbers::new(1, 100);
        let order = [12, 10, 14, 11, 17, 16, 13, 15, 18];
        for number in order {
            // The frames wrap between 13 and 14.
            let step = check.judge((number as u32).wrapping_sub(14), number);
            assert!(step.is_ok(), "{number}: {step:?}");
        }
        // There is no room for any of them once more, and none for what has been forgotten.
        for number in (10..19).rev() {
            assert!(check.judge((number as u32).wrapping_sub(14), number).is_err(), "{number}");
        }
        for number in 19..40 {
            assert_eq!(check.judge(number as u32 - 14, number), Ok(NumberStep::Follows), "{number}");
        }
        assert_eq!(check.judge(9_u32.wrapping_sub(14), 9), Err(NumberFault::Back));
    }
}
