//! A breakdown in words, as every report has it.

use super::PIECE;
use super::breakdown::{LocatedLoss, LossBreakdown};

/// A line of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LossLine {
    /// Its title.
    pub title: &'static str,
    /// How many packets.
    pub packets: u64,
    /// Where they were lost, in words that go on after the number.
    pub place: String,
}

impl LossBreakdown {
    /// The breakdown in words, a line for each place; none if nothing is lost.
    pub fn lines(&self) -> Vec<LossLine> {
        let mut lines: Vec<LossLine> = self.places.iter().map(|loss| self.line(loss)).collect();
        if self.after_the_last > 0 {
            let place = "after the last received".to_owned();
            lines.push(LossLine { title: "of these", packets: self.after_the_last, place });
        }
        if self.unlocated > 0 {
            // Counters of pieces have seen some of them, and not counted them.
            let explanation =
                if self.unlocated_in_pieces > 0 { "" } else { ": no counter that was read has seen them" };
            let place = format!("unlocated{explanation}");
            lines.push(LossLine { title: "lost", packets: self.unlocated, place });
        }
        lines
    }

    fn line(&self, loss: &LocatedLoss) -> LossLine {
        let how = match () {
            () if !loss.inferred => String::new(),
            () if self.in_pieces && loss.place.may_count_pieces() => {
                format!(" (inferred, at least: the kernel counts pieces of up to {PIECE} packets)")
            }
            () => " (inferred)".to_owned(),
        };
        let place = format!("in the {}{how}", loss.place.in_words());
        LossLine { title: "lost", packets: loss.packets, place }
    }
}
