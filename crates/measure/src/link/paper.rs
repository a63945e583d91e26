//! Table 1 of *Reliable UDP at 10 Gb/s with BSD sockets* as it is printed, with the figures of the text around it, and what is wrong in it.
//!
//! The preprint, the published paper, and Table 5 of the EFU paper print the same figures.

use super::{Link, OnWire};
use crate::error::MeasureError;

/// Where the figures are from.
pub const SOURCE: &str = "Reliable UDP at 10 Gb/s with BSD sockets, Table 1 and section 3.1";
/// The paper's link: 10 Gb/s, and an MTU of 9000 bytes.
pub const SPEED: u64 = 10_000_000_000;
/// Its MTU in bytes.
pub const MTU: u32 = 9_000;
/// User data of the columns of Table 1, in bytes.
pub const SIZES: [u32; 8] = [1, 18, 82, 210, 466, 978, 1472, 8972];

/// What a figure of the paper is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Bytes of the frame.
    Frame,
    /// Overhead in percent.
    Overhead,
    /// Packets per second, in millions.
    Rate,
    /// Time on the wire in nanoseconds.
    Time,
}

impl Quantity {
    /// Its name and unit.
    pub fn heading(self) -> (&'static str, &'static str) {
        match self {
            Self::Frame => ("packet size", "B"),
            Self::Overhead => ("overhead", "%"),
            Self::Rate => ("frame rate", "Mpps"),
            Self::Time => ("time on the wire", "ns"),
        }
    }

    /// Of a packet.
    pub fn of(self, packet: &OnWire) -> f64 {
        match self {
            Self::Frame => f64::from(packet.frame),
            Self::Overhead => 100.0 * packet.overhead(),
            Self::Rate => packet.packets_per_second() / 1e6,
            Self::Time => packet.nanoseconds(),
        }
    }
}

/// A figure of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Printed {
    /// Where it is: `Table 1`, `text`.
    pub place: &'static str,
    /// User data in bytes.
    pub user: u32,
    /// Of what.
    pub quantity: Quantity,
    /// As it is printed.
    pub text: &'static str,
}

/// What is wrong with a figure of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Erratum {
    /// Which figure: user data in bytes.
    pub user: u32,
    /// Of what.
    pub quantity: Quantity,
    /// What it is, and how that is known.
    pub why: &'static str,
}

/// The errata.
pub const ERRATA: [Erratum; 2] = [
    Erratum {
        user: 978,
        quantity: Quantity::Overhead,
        why: "978 of 1044 bytes on the wire are user data, so 6.3 % are not; every other column follows the paper's formula",
    },
    Erratum {
        user: 8972,
        quantity: Quantity::Time,
        why: "9038 bytes at 10 Gb/s take 7230 ns; 902 is their number divided by 10 Gb/s, bytes taken for bits",
    },
];

const FRAMES: [&str; 8] = ["64", "64", "128", "256", "512", "1024", "1518", "9018"];
const OVERHEADS: [&str; 8] = ["98.8", "78.6", "44.6", "23.9", "12.4", "5.5", "4.3", "0.7"];
const RATES: [&str; 8] = ["14.88", "14.88", "8.45", "4.53", "2.35", "1.20", "0.81", "0.14"];
const TABLE: &str = "Table 1";
const TEXT: &str = "text";

/// All figures: the 24 cells of Table 1, then those of the text.
pub fn printed() -> Vec<Printed> {
    let rows = [(Quantity::Frame, FRAMES), (Quantity::Overhead, OVERHEADS), (Quantity::Rate, RATES)];
    let of_table = rows.into_iter().flat_map(|(quantity, cells)| {
        SIZES.into_iter().zip(cells).map(move |(user, text)| Printed { place: TABLE, user, quantity, text })
    });
    let of_text = [
        (18, Quantity::Time, "67"),
        (8972, Quantity::Time, "902"),
        (4, Quantity::Overhead, "95"),
        (8972, Quantity::Overhead, "0.73"),
    ];
    let of_text = of_text.map(|(user, quantity, text)| Printed { place: TEXT, user, quantity, text });
    of_table.chain(of_text).collect()
}

/// How a figure of the paper compares with the arithmetic.
#[derive(Clone, Debug, PartialEq)]
pub enum Agreement {
    /// The same, rounded to the digits that are printed.
    Equal,
    /// Another, and it is known why.
    Erratum(&'static str),
    /// Another.
    Different,
}

/// Compares a figure of the paper with the arithmetic, which is given as well.
///
/// # Errors
/// If the figure is no number, or of no packet.
pub fn compare(printed: &Printed) -> Result<(f64, Agreement), MeasureError> {
    let calculated = printed.quantity.of(&Link::new(SPEED, MTU)?.packet(printed.user)?);
    let number: f64 = printed
        .text
        .parse()
        .map_err(|_| MeasureError::Wrong(format!("`{}` in {} is no number", printed.text, printed.place)))?;
    let decimals = printed.text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let half = 0.5 * 10_f64.powi(-(decimals as i32));
    // The ends of the interval are rounded numbers in binary.
    let agreement = match (calculated - number).abs() <= half * (1.0 + 1e-9) {
        true => Agreement::Equal,
        false => ERRATA
            .iter()
            .find(|erratum| erratum.user == printed.user && erratum.quantity == printed.quantity)
            .map_or(Agreement::Different, |erratum| Agreement::Erratum(erratum.why)),
    };
    Ok((calculated, agreement))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cell_is_as_printed_but_the_errata() {
        let mut wrong = Vec::new();
        for printed in printed() {
            match compare(&printed).unwrap().1 {
                Agreement::Equal => {}
                other => wrong.push((printed.place, printed.user, printed.quantity, other)),
            }
        }
        let expected: Vec<_> = [TABLE, TEXT]
            .into_iter()
            .zip(ERRATA)
            .map(|(place, erratum)| (place, erratum.user, erratum.quantity, Agreement::Erratum(erratum.why)))
            .collect();
        assert_eq!(wrong, expected);
    }

    #[test]
    fn a_wrong_figure_is_noticed_in_its_last_digit() {
        let of =
            |text| compare(&Printed { place: TABLE, user: 1472, quantity: Quantity::Rate, text }).unwrap().1;
        assert_eq!(
            (of("0.81"), of("0.82"), of("0.80")),
            (Agreement::Equal, Agreement::Different, Agreement::Different)
        );
    }
}
