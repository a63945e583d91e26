//! The peak of a run: its first sample that no other one exceeds.

/// What a run of samples is told by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peak {
    /// Place of the first largest sample in the run, from 0.
    pub index: usize,
    /// The largest sample.
    pub amplitude: u16,
    /// Mean of all samples, rounded down.
    pub mean: u16,
}

impl Peak {
    /// The peak of a run, or none if it has no samples.
    pub fn find(samples: impl Iterator<Item = u16>) -> Option<Self> {
        let mut peak: Option<(usize, u16)> = None;
        let (mut sum, mut count) = (0_u64, 0_u64);
        for (index, amplitude) in samples.enumerate() {
            if peak.is_none_or(|(_, largest)| amplitude > largest) {
                peak = Some((index, amplitude));
            }
            sum += u64::from(amplitude);
            count += 1;
        }
        // A mean of 16-bit numbers is one.
        peak.map(|(index, amplitude)| Self { index, amplitude, mean: (sum / count) as u16 })
    }
}

/// Place of the first sample that reaches the threshold: the leading edge of a signal. None if no sample does.
pub fn leading_edge(mut samples: impl Iterator<Item = u16>, threshold: u16) -> Option<usize> {
    samples.position(|sample| sample >= threshold)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_leading_edge_is_where_the_threshold_is_reached() {
        let edge = |samples: &[u16]| leading_edge(samples.iter().copied(), 5);
        assert_eq!(
            (edge(&[1, 4, 5, 9]), edge(&[8, 1]), edge(&[4, 4]), edge(&[])),
            (Some(2), Some(0), None, None)
        );
    }

    #[test]
    fn section_5_the_first_of_equal_samples_counts() {
        let find = |samples: &[u16]| Peak::find(samples.iter().copied());
        assert_eq!(find(&[3, 9, 1, 9]), Some(Peak { index: 1, amplitude: 9, mean: 5 }));
        assert_eq!(find(&[0, 0]), Some(Peak { index: 0, amplitude: 0, mean: 0 }));
        assert_eq!(find(&[u16::MAX; 3]), Some(Peak { index: 0, amplitude: u16::MAX, mean: u16::MAX }));
        assert_eq!(find(&[]), None);
    }
}
