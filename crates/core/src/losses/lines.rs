//! A breakdown in words, as every report has it.

use super::PIECE;
use super::breakdown::{LocatedLoss, LossBreakdown};
use crate::quantity::grouped;

/// A line of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LossLine {
    /// Its title.
    pub title: &'static str,
    /// How many packets.
    pub packets: u64,
    /// Where they were lost, in words that follow the number.
    pub location: String,
}

impl LossBreakdown {
    /// The breakdown in words, a line for each location; none if nothing is lost.
    pub fn lines(&self) -> Vec<LossLine> {
        let mut lines: Vec<LossLine> = self.locations.iter().map(|loss| self.line(loss)).collect();
        if self.after_the_last > 0 {
            let location = "after the last received".to_owned();
            lines.push(LossLine { title: "of these", packets: self.after_the_last, location });
        }
        if self.unlocated > 0 {
            // Counters of pieces have seen some of them, and not counted them.
            let explanation =
                if self.unlocated_in_pieces > 0 { "" } else { ": no counter that was read has seen them" };
            let location = format!("unlocated{explanation}");
            lines.push(LossLine { title: "lost", packets: self.unlocated, location });
        }
        lines
    }

    /// Where the packets of the run were lost, in a few words.
    pub fn place(&self) -> String {
        let located = self
            .locations
            .iter()
            .map(|loss| format!("{} in the {}", grouped(loss.packets), loss.location.in_words()));
        let unlocated = (self.unlocated > 0)
            .then(|| format!("{} seen by no counter of this host", grouped(self.unlocated)));
        let places: Vec<String> = located.chain(unlocated).collect();
        format!(
            "of this run: {}",
            if places.is_empty() { "place unknown".to_owned() } else { places.join(", ") }
        )
    }

    fn line(&self, loss: &LocatedLoss) -> LossLine {
        let how = match () {
            () if !loss.inferred => String::new(),
            () if self.in_pieces && loss.location.may_count_pieces() => {
                format!(" (inferred, at least: the kernel counts pieces of up to {PIECE} packets)")
            }
            () => " (inferred)".to_owned(),
        };
        let location = format!("in the {}{how}", loss.location.in_words());
        LossLine { title: "lost", packets: loss.packets, location }
    }
}
