//! Which packets and trains have faults: those on given places, and others by chance, from a seed.

use super::fault::{Fault, PacketFault, TrainFault};
use super::fault_rates::FaultRates;
use super::pattern::mix;
use thiserror::Error;

/// A plan of faults is impossible.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum FaultPlanError {
    /// No probability.
    #[error("a probability of {found} that {what} is not possible: expected 0 to 1")]
    Probability {
        /// Of what.
        what: &'static str,
        /// What it is.
        found: f64,
    },
    /// More faults than packets, or trains.
    #[error(
        "the probabilities of the faults of a {of} add up to {sum}: expected at most 1, because each has one fault at most"
    )]
    Sum {
        /// `packet` or `train`.
        of: &'static str,
        /// Their sum.
        sum: f64,
    },
    /// A packet displaced by nothing.
    #[error("packets displaced by 0 are in their place: expected at least 1")]
    DisplacedByNothing,
    /// Two faults in one place.
    #[error("`{0}` and `{1}` are in the same place: each packet, and each train, has one fault at most")]
    SamePlace(Box<Fault>, Box<Fault>),
}

/// Faults on given places, and by chance. What becomes of a packet depends on the seed, its train and its number alone: not on what was
/// asked before.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FaultPlan {
    seed: u64,
    of_packets: Chances<5>,
    of_trains: Chances<7>,
    displaced_by: u32,
    /// Sorted by train and packet.
    packets: Vec<(u64, u32, PacketFault)>,
    /// Sorted by train.
    trains: Vec<(u64, TrainFault)>,
}

/// Faults of which one happens at most: those below each threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Chances<const KINDS: usize> {
    /// Added up, in parts of 2^64.
    thresholds: [u128; KINDS],
}

impl<const KINDS: usize> Default for Chances<KINDS> {
    fn default() -> Self {
        Self { thresholds: [0; KINDS] }
    }
}

impl<const KINDS: usize> Chances<KINDS> {
    fn new(of: &'static str, probabilities: [(f64, &'static str); KINDS]) -> Result<Self, FaultPlanError> {
        let (mut sum, mut thresholds) = (0.0, [0; KINDS]);
        for (threshold, (found, what)) in thresholds.iter_mut().zip(probabilities) {
            if !(0.0..=1.0).contains(&found) {
                return Err(FaultPlanError::Probability { what, found });
            }
            sum += found;
            *threshold = (sum * 2_f64.powi(64)) as u128;
        }
        if sum > 1.0 + 1e-9 {
            return Err(FaultPlanError::Sum { of, sum });
        }
        Ok(Self { thresholds })
    }

    #[inline]
    fn is_none(&self) -> bool {
        self.thresholds.last() == Some(&0)
    }

    /// Which fault this number stands for; none for most.
    #[inline]
    fn kind(&self, number: u64) -> Option<usize> {
        self.thresholds.iter().position(|&threshold| u128::from(number) < threshold)
    }
}

impl FaultPlan {
    /// Faults on places and, with such probabilities, by chance. Where there is a fault on a given place, there is none by chance.
    ///
    /// # Errors
    /// If a probability is none, they add up to more than 1, or two faults are in the same place.
    pub fn new(placed: &[Fault], rates: &FaultRates, seed: u64) -> Result<Self, FaultPlanError> {
        let of_packets = [
            (rates.lost, "a packet is lost"),
            (rates.repeated, "a packet is repeated"),
            (rates.displaced, "a packet is displaced"),
            (rates.truncated, "a datagram is truncated"),
            (rates.shortened, "the data of a packet are cut"),
        ];
        let of_trains = [
            (rates.missing_first, "the first packet of a train is missing"),
            (rates.missing_last, "the last packet of a train is missing"),
            (rates.wrong_begin, "a train begins with a wrong magic number"),
            (rates.wrong_end, "a train ends with a wrong magic number"),
            (rates.wrong_number, "a train has a wrong number"),
            (rates.late, "a train is late"),
            (rates.interleaved, "a train takes turns with the next one"),
        ];
        if rates.displaced > 0.0 && rates.displaced_by == 0 {
            return Err(FaultPlanError::DisplacedByNothing);
        }
        let (mut packets, mut trains) = (Vec::new(), Vec::new());
        for &fault in placed {
            match fault {
                Fault::Packet { fault: PacketFault::Displaced { by: 0 }, .. } => {
                    return Err(FaultPlanError::DisplacedByNothing);
                }
                Fault::Packet { train, packet, fault } => packets.push((train, packet, fault)),
                Fault::Train { train, fault } => trains.push((train, fault)),
            }
        }
        packets.sort_by_key(|&(train, packet, _)| (train, packet));
        trains.sort_by_key(|&(train, _)| train);
        let same = |a, b| FaultPlanError::SamePlace(Box::new(a), Box::new(b));
        if let Some(&[a, b]) = packets.array_windows().find(|[a, b]| (a.0, a.1) == (b.0, b.1)) {
            let of = |(train, packet, fault)| Fault::Packet { train, packet, fault };
            return Err(same(of(a), of(b)));
        }
        if let Some(&[a, b]) = trains.array_windows().find(|[a, b]| a.0 == b.0) {
            let of = |(train, fault)| Fault::Train { train, fault };
            return Err(same(of(a), of(b)));
        }
        Ok(Self {
            seed,
            of_packets: Chances::new("packet", of_packets)?,
            of_trains: Chances::new("train", of_trains)?,
            displaced_by: rates.displaced_by,
            packets,
            trains,
        })
    }

    /// The fault of the train with this index and number.
    pub fn of_train(&self, index: u64, number: u64) -> Option<TrainFault> {
        if let Ok(place) = self.trains.binary_search_by_key(&index, |&(train, _)| train) {
            return Some(self.trains[place].1);
        }
        if self.of_trains.is_none() {
            return None;
        }
        let fault = match self.of_trains.kind(self.chance(index, u64::MAX))? {
            0 => TrainFault::MissingFirst,
            1 => TrainFault::MissingLast,
            2 => TrainFault::WrongBegin,
            3 => TrainFault::WrongEnd,
            4 => TrainFault::WrongNumber { number: number ^ 1 << 63 },
            5 => TrainFault::Late,
            _ => TrainFault::Interleaved,
        };
        Some(fault)
    }

    /// The fault of a packet with so many bytes of data, of the train with this index.
    #[inline]
    pub fn of_packet(&self, index: u64, packet: u32, data_bytes: usize) -> Option<PacketFault> {
        if !self.packets.is_empty() {
            let place =
                self.packets.binary_search_by_key(&(index, packet), |&(train, packet, _)| (train, packet));
            if let Ok(place) = place {
                return Some(self.packets[place].2);
            }
        }
        if self.of_packets.is_none() {
            return None;
        }
        let chance = self.chance(index, packet.into());
        let fault = match self.of_packets.kind(chance)? {
            0 => PacketFault::Lost,
            1 => PacketFault::Repeated,
            2 => PacketFault::Displaced { by: self.displaced_by },
            3 => PacketFault::Truncated { bytes: 1 + (mix(chance) % 7) as usize },
            _ => {
                let most = data_bytes.saturating_sub(1) as u64;
                PacketFault::Shortened { bytes: 1 + (mix(chance).checked_rem(most).unwrap_or(0)) as usize }
            }
        };
        Some(fault)
    }

    #[inline]
    fn chance(&self, index: u64, packet: u64) -> u64 {
        mix(mix(mix(self.seed).wrapping_add(index)).wrapping_add(packet))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_by_chance_are_as_many_as_asked_for_and_the_same_for_a_seed() {
        let rates = FaultRates {
            lost: 0.01,
            repeated: 0.02,
            displaced: 0.03,
            truncated: 0.04,
            shortened: 0.05,
            ..FaultRates::default()
        };
        let plan = FaultPlan::new(&[], &rates, 7).unwrap();
        let mut found = [0; 6];
        for index in 0..100 {
            for packet in 0..2000 {
                let fault = plan.of_packet(index, packet, 8184);
                assert_eq!(fault, plan.clone().of_packet(index, packet, 8184));
                found[match fault {
                    None => 5,
                    Some(PacketFault::Lost) => 0,
                    Some(PacketFault::Repeated) => 1,
                    Some(PacketFault::Displaced { by }) => by as usize - 1,
                    Some(PacketFault::Truncated { bytes }) if (1..8).contains(&bytes) => 3,
                    Some(PacketFault::Shortened { bytes }) if (1..8184).contains(&bytes) => 4,
                    Some(other) => panic!("{other:?}"),
                }] += 1;
            }
        }
        for (count, expected) in found.into_iter().zip([2000.0, 4000.0, 6000.0, 8000.0, 10_000.0, 170_000.0])
        {
            // Five standard deviations.
            assert!(
                (f64::from(count) - expected).abs() < 5.0 * f64::sqrt(expected),
                "{count}, not {expected}"
            );
        }
        let other = FaultPlan::new(&[], &rates, 8).unwrap();
        let same =
            (0..10_000).filter(|&packet| plan.of_packet(0, packet, 100) == other.of_packet(0, packet, 100));
        assert!(same.count() < 8_000, "another seed has other faults");
    }

    #[test]
    fn faults_of_trains_by_chance_are_of_every_kind() {
        let each = 1.0 / 7.0;
        let rates = FaultRates {
            missing_first: each,
            missing_last: each,
            wrong_begin: each,
            wrong_end: each,
            wrong_number: each,
            late: each,
            interleaved: each,
            ..FaultRates::default()
        };
        let plan = FaultPlan::new(&[], &rates, 1).unwrap();
        let faults: Vec<_> = (0..7000).filter_map(|index| plan.of_train(index, 5)).collect();
        assert!(faults.len() >= 6999, "{}", faults.len());
        for kind in [
            TrainFault::MissingFirst,
            TrainFault::MissingLast,
            TrainFault::WrongBegin,
            TrainFault::WrongEnd,
            TrainFault::WrongNumber { number: 5 + (1 << 63) },
            TrainFault::Late,
            TrainFault::Interleaved,
        ] {
            let count = faults.iter().filter(|&&fault| fault == kind).count();
            assert!((850..1150).contains(&count), "{kind:?}: {count}");
        }
    }

    #[test]
    fn placed_faults_are_in_their_place_and_nowhere_else() {
        let texts = [
            "lost:train=3,packet=17",
            "displaced:train=3,packet=1,by=2",
            "late:train=2",
            "wrong-end:train=0",
        ];
        let placed: Vec<Fault> = texts.iter().map(|text| text.parse().unwrap()).collect();
        let plan = FaultPlan::new(&placed, &FaultRates::default(), 1).unwrap();
        let packets = (0..10).flat_map(|index| (0..100).map(move |packet| (index, packet)));
        let found: Vec<_> = packets
            .filter_map(|(index, packet)| Some((index, packet, plan.of_packet(index, packet, 9)?)))
            .collect();
        assert_eq!(found, [(3, 1, PacketFault::Displaced { by: 2 }), (3, 17, PacketFault::Lost)]);
        let trains: Vec<_> = (0..10).filter_map(|index| Some((index, plan.of_train(index, 0)?))).collect();
        assert_eq!(trains, [(0, TrainFault::WrongEnd), (2, TrainFault::Late)]);
    }

    #[test]
    fn what_is_impossible_is_refused_with_its_reason() {
        let refuse = |placed: &[&str], rates| {
            let placed: Vec<Fault> = placed.iter().map(|text| text.parse().unwrap()).collect();
            FaultPlan::new(&placed, &rates, 1).unwrap_err().to_string()
        };
        let none = FaultRates::default();
        let twice = refuse(&["lost:train=3,packet=1", "late:train=3", "repeated:train=3,packet=1"], none);
        assert!(twice.contains("`lost:train=3,packet=1` and `repeated:train=3,packet=1`"), "{twice}");
        let trains = refuse(&["late:train=3", "interleaved:train=3"], none);
        assert!(trains.contains("same place"), "{trains}");
        for wrong in [-0.1, 1.1, f64::NAN] {
            let error = refuse(&[], FaultRates { late: wrong, ..none });
            assert!(error.contains("that a train is late"), "{error}");
        }
        let sum = refuse(&[], FaultRates { lost: 0.6, repeated: 0.6, ..none });
        assert!(sum.contains("of a packet add up to 1.2"), "{sum}");
        let by = refuse(&[], FaultRates { displaced: 0.1, displaced_by: 0, ..none });
        assert!(by.contains("at least 1"), "{by}");
    }
}
