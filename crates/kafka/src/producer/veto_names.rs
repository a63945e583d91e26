//! The vetoes of frames as vc00: what each bit is called, and which count.
//!
//! Whoever reads pu00 has bits only. They are sent at the start and at the end of a run, and whenever they have changed.

use evforge_core::frame::{FrameLedger, MOST_FRAME_VETOES};
use evforge_messages::{Encoder, Vc00};

/// The names of all bits, and those that count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct VetoNames {
    counting: u32,
    /// As many as there are bits, as ISIS's library wants it.
    names: Vec<String>,
}

impl VetoNames {
    /// Those of a ledger. A bit that has no name there is called by its number, and counts.
    pub(super) fn of(ledger: &FrameLedger) -> Self {
        let name = |bit: usize| {
            let named = ledger.vetoes.iter().find(|veto| usize::from(veto.bit) == bit);
            named.map_or_else(|| format!("bit {bit}"), |veto| veto.name.clone())
        };
        Self { counting: ledger.counting(), names: (0..MOST_FRAME_VETOES).map(name).collect() }
    }

    /// As a message; `timestamp` in nanoseconds since 1970.
    pub(super) fn encode<'e>(&self, encoder: &'e mut Encoder, timestamp: i64) -> &'e [u8] {
        let veto_names = self.names.iter().map(String::as_str).collect();
        Vc00 { timestamp, vetoes: self.counting, veto_names }.encode(encoder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_messages::{Message, decode};

    #[test]
    fn every_bit_has_a_name_and_those_that_do_not_count_are_known() {
        let ledger = FrameLedger::new([(1, "SMP".to_owned(), true), (4, "fifo".to_owned(), false)]);
        let mut encoder = Encoder::new();
        let bytes = VetoNames::of(&ledger).encode(&mut encoder, 7);
        let Ok(Message::Vc00(vetoes)) = decode(bytes) else { panic!("no vc00") };
        assert_eq!((vetoes.timestamp, vetoes.vetoes, vetoes.veto_names.len()), (7, !(1 << 4), 32));
        assert_eq!(vetoes.veto_names[..5], ["bit 0", "SMP", "bit 2", "bit 3", "fifo"]);
    }
}
