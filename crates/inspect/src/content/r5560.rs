//! Tubes behind CAEN R5560 digitisers: front ends with their groups and charges, and what packets have besides.

use crate::channels::{Channels, Span};
use crate::report::{Line, line};
use evforge_core::quantity::grouped;
use evforge_wire::ess::{R5560_RECORD, R5560Fault, R5560Readout, TICKS_PER_SECOND};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashSet};

/// Readouts that are kept, twice, to find the same one on the other fibre of its ring.
const MOST_KEPT: usize = 2048;

/// The largest value of a signed charge.
const LARGEST_SIGNED: u16 = i16::MAX as u16;

/// What one front end has sent.
#[derive(Clone, Debug, Default)]
pub struct TubesSeen {
    /// Sound readouts on the even fibre of the ring and on the odd one.
    pub by_fibre: [u64; 2],
    /// Tubes, or groups of tubes.
    pub groups: Channels,
    /// A + B, both unsigned.
    pub sum: Span,
    /// A / (A + B) in thousandths, rounded down, where the sum is not 0.
    pub share: Span,
    /// Readouts whose A + B is 0.
    pub zero: u64,
    /// Readouts with a charge C or D.
    pub with_last: u64,
    /// Readouts with a charge that would be negative if it were signed.
    pub negative: u64,
}

/// All tubes of a type.
#[derive(Clone, Debug, Default)]
pub struct Tubes {
    /// By ring and FEN: both have limits, so that there are at most 288.
    pub fens: BTreeMap<(u8, u8), TubesSeen>,
    /// Readouts by their flags.
    flags: BTreeMap<u8, u64>,
    /// Readouts whose bytes 14 and 15 are not 0.
    counted: u64,
    /// Readouts with more ticks than a second has.
    past_the_second: u64,
    /// Readouts that have come on the other fibre of their ring, too.
    pairs: u64,
    /// The latest readouts, and those before them.
    kept: [HashSet<[u8; R5560_RECORD]>; 2],
    /// Packets with bytes that are not read, and these bytes.
    not_read: (u64, u64),
}

impl Tubes {
    /// Notes that so many bytes of a packet are not read.
    pub(super) fn note_not_read(&mut self, bytes: usize) {
        self.not_read.0 += u64::from(bytes > 0);
        self.not_read.1 += bytes as u64;
    }

    /// Takes a sound readout.
    pub(super) fn take(&mut self, readout: R5560Readout) {
        let [a, b, c, d] = readout.charges();
        let seen = self.fens.entry((readout.ring(), readout.fen())).or_default();
        seen.by_fibre[usize::from(readout.fibre() % 2)] += 1;
        seen.groups.insert(readout.group().into());
        let sum = u32::from(a) + u32::from(b);
        seen.sum.take(sum);
        match (1000 * u32::from(a)).checked_div(sum) {
            Some(share) => seen.share.take(share),
            None => seen.zero += 1,
        }
        seen.with_last += u64::from((c, d) != (0, 0));
        seen.negative += u64::from([a, b, c, d].into_iter().any(|charge| charge > LARGEST_SIGNED));
        *self.flags.entry(readout.flags()).or_default() += 1;
        self.counted += u64::from(readout.counter() != 0);
        self.past_the_second += u64::from(readout.time().ticks >= TICKS_PER_SECOND);
        self.find_pair(readout);
    }

    /// Whether the same has come on the other fibre of the ring, at most 2048 readouts before.
    fn find_pair(&mut self, readout: R5560Readout) {
        let mut fields = readout.fields();
        let own = fields.encode();
        fields.fibre ^= 1;
        let other = fields.encode();
        let [latest, before] = &mut self.kept;
        if latest.remove(&other) || before.remove(&other) {
            self.pairs += 1;
        } else {
            if latest.len() >= MOST_KEPT {
                std::mem::swap(latest, before);
                latest.clear();
            }
            latest.insert(own);
        }
    }

    /// The front ends in a few words.
    pub(super) fn places(&self) -> impl Iterator<Item = String> + '_ {
        self.fens.iter().map(|((ring, fen), seen)| format!("ring {ring} FEN {fen} {}", groups(&seen.groups)))
    }

    /// For people.
    pub(super) fn lines(&self) -> Vec<Line> {
        let fen = |((ring, fen), seen): (&(u8, u8), &TubesSeen)| {
            line(format!("ring {ring} FEN {fen}"), seen.in_words())
        };
        let mut lines: Vec<Line> = self.fens.iter().map(fen).collect();
        if !lines.is_empty() {
            let flags =
                self.flags.iter().map(|(flags, count)| format!("{flags:#04x} in {}", grouped(*count)));
            lines.push(line("flags", flags.collect::<Vec<_>>().join(", ")));
        }
        let mut put = |count: u64, title: &str, what: String| {
            if count > 0 {
                lines.push(line(title, format!("{} {what}", grouped(count))));
            }
        };
        put(self.pairs, "both fibres", "readouts have come on both fibres of a ring".to_owned());
        put(self.counted, "counter", "readouts with bytes 14 and 15 that are not 0".to_owned());
        let what = "readouts have more ticks than a second has, and count as later".to_owned();
        put(self.past_the_second, "peculiarity", what);
        let (packets, bytes) = self.not_read;
        let what =
            format!("bytes of {} packets are no whole record or behind a wrong length", grouped(packets));
        put(bytes, "not read", what);
        lines
    }

    /// For programs.
    pub(super) fn json(&self) -> Value {
        let fen = |((ring, fen), seen): (&(u8, u8), &TubesSeen)| {
            json!({
                "ring": ring, "fen": fen, "readouts": seen.readouts(), "by_fibre": seen.by_fibre,
                "groups": seen.groups.iter().collect::<Vec<_>>(), "sum": seen.sum.ends(),
                "share_of_a_in_thousandths": seen.share.ends(), "sum_is_0": seen.zero,
                "with_c_or_d": seen.with_last, "negative_if_signed": seen.negative,
            })
        };
        let flags = |(flags, readouts): (&u8, &u64)| json!({ "flags": flags, "readouts": readouts });
        json!({
            "fens": self.fens.iter().map(fen).collect::<Vec<_>>(),
            "flags": self.flags.iter().map(flags).collect::<Vec<_>>(),
            "with_counter": self.counted,
            "past_the_second": self.past_the_second,
            "on_both_fibres": self.pairs,
            "not_read": { "packets": self.not_read.0, "bytes": self.not_read.1 },
        })
    }
}

impl TubesSeen {
    fn readouts(&self) -> u64 {
        self.by_fibre.iter().sum()
    }

    /// "1 204 readouts (602 even fibre, 602 odd), groups 0-11 (12 of them), A+B 55-32000, A/(A+B) 0.001-0.998".
    fn in_words(&self) -> String {
        let [even, odd] = self.by_fibre.map(grouped);
        let mut text = format!(
            "{} readouts ({even} even fibre, {odd} odd), {}, A+B {}",
            grouped(self.readouts()),
            groups(&self.groups),
            self.sum
        );
        if let Some((least, largest)) = self.share.ends() {
            let [least, largest] = [least, largest].map(|share| share as f64 / 1000.0);
            text += &format!(", A/(A+B) {least:.3}-{largest:.3}");
        }
        for (count, what) in [
            (self.zero, "without A+B"),
            (self.with_last, "with C or D"),
            (self.negative, "with a charge above 32767, negative if signed"),
        ] {
            if count > 0 {
                let percent = 100.0 * count as f64 / self.readouts() as f64;
                text += &format!(", {percent:.1} % {what}");
            }
        }
        text
    }
}

/// "groups 0-11 (12 of them)".
fn groups(groups: &Channels) -> String {
    groups.to_string().replacen("channel", "group", 1)
}

pub(super) fn tube_fault(fault: R5560Fault) -> &'static str {
    match fault {
        R5560Fault::Fibre => "with an impossible fibre",
        R5560Fault::Fen => "with an impossible FEN",
        R5560Fault::Length => "with a wrong length, which ends their packet",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::EssReadouts;
    use evforge_wire::ess::{EssTime, R5560Fields, R5560Payload};

    fn taken(records: &[R5560Fields], left: usize) -> EssReadouts {
        let mut bytes: Vec<u8> = records.iter().flat_map(R5560Fields::encode).collect();
        bytes.resize(bytes.len() + left, 0);
        let mut readouts = EssReadouts::default();
        readouts.take_r5560(&R5560Payload::parse(&bytes));
        readouts
    }

    #[test]
    fn front_ends_have_their_groups_charges_and_flags() {
        let record = |fibre, group, charges| R5560Fields { fibre, group, charges, ..Default::default() };
        let readouts = taken(
            &[
                record(2, 0, [300, 700, 0, 0]),
                record(3, 11, [40_000, 1, 0, 0]),
                R5560Fields { flags: 4, counter: 9, ..record(3, 5, [0, 0, 0, 7]) },
                record(0, 1, [1, 1, 0, 0]),
            ],
            5,
        );
        let lines = readouts.tubes.lines();
        let said = |title: &str| {
            let found = lines.iter().find(|(found, _)| found == title);
            found.map(|(_, text)| text.as_str()).unwrap_or_default()
        };
        assert_eq!(
            said("ring 1 FEN 0"),
            "3 readouts (1 even fibre, 2 odd), groups 0-11 (3 of them), A+B 0-40001, A/(A+B) 0.300-0.999, \
             33.3 % without A+B, 33.3 % with C or D, 33.3 % with a charge above 32767, negative if signed"
        );
        assert_eq!(
            said("ring 0 FEN 0"),
            "1 readouts (1 even fibre, 0 odd), group 1, A+B 2, A/(A+B) 0.500-0.500"
        );
        assert_eq!(said("flags"), "0x00 in 3, 0x04 in 1");
        assert_eq!(said("not read"), "5 bytes of 1 packets are no whole record or behind a wrong length");
        assert!(said("counter").starts_with("1 readouts"));
        let places: Vec<_> = readouts.tubes.places().collect();
        assert_eq!(places, ["ring 0 FEN 0 group 1", "ring 1 FEN 0 groups 0-11 (3 of them)"]);
    }

    #[test]
    fn a_wrong_length_ends_a_packet_and_an_impossible_fibre_does_not() {
        let sound = R5560Fields::default();
        let wrong = R5560Fields { length: 25, ..sound };
        let readouts = taken(&[R5560Fields { fibre: 24, ..sound }, sound, wrong, sound, sound], 0);
        assert_eq!(readouts.count, 3);
        assert_eq!(readouts.tubes.not_read, (1, 48));
        let faults: Vec<_> = readouts.faults.iter().map(|(name, count)| (*name, *count)).collect();
        assert_eq!(
            faults,
            [("with a wrong length, which ends their packet", 1), ("with an impossible fibre", 1)]
        );
        let late = R5560Fields { time: EssTime { seconds: 0, ticks: TICKS_PER_SECOND }, ..sound };
        assert_eq!(taken(&[late], 0).tubes.past_the_second, 1);
    }

    #[test]
    fn a_pair_is_the_same_readout_on_both_fibres_of_a_ring() {
        let one = R5560Fields { fibre: 6, group: 3, charges: [5, 6, 0, 0], ..Default::default() };
        let other = R5560Fields { fibre: 7, ..one };
        assert_eq!(taken(&[one, other], 0).tubes.pairs, 1);
        assert_eq!(taken(&[other, one, one, other], 0).tubes.pairs, 2);
        for different in [one, R5560Fields { group: 4, ..other }, R5560Fields { fibre: 8, ..one }] {
            assert_eq!(taken(&[one, different], 0).tubes.pairs, 0);
        }
        // As far apart as pairs are found, and much further.
        for (between, pairs) in [(MOST_KEPT - 1, 1), (3 * MOST_KEPT, 0)] {
            let others = (0..between).map(|number| R5560Fields { counter: number as u16, ..one });
            let first = R5560Fields { flags: 1, ..one };
            let all: Vec<_> =
                [first].into_iter().chain(others).chain([R5560Fields { flags: 1, ..other }]).collect();
            assert_eq!(taken(&all, 0).tubes.pairs, pairs);
        }
    }
}
