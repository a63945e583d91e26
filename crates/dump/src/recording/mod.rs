//! The readouts of packets into a dump.

mod caen;
mod mesytec;
mod srs;

pub use caen::CaenRecorder;
pub use mesytec::MesytecRecorder;
pub use srs::SrsRecorder;

use crate::counters::RecordingCounters;
use crate::error::DumpError;
use crate::layout::Row;
use crate::table_writer::TableWriter;
use evforge_core::counter::CounterSnapshot;
use evforge_core::packet::{Packet, PacketSlab};
use evforge_core::packet_source::{Fill, PacketSource};
use std::path::Path;

/// Takes the readouts out of packets of one format.
pub trait Recorder {
    /// What they become.
    type Row: Row;

    /// Appends the readouts of a packet to `rows`. What is left out is counted.
    fn take(&mut self, packet: &Packet<'_>, rows: &mut Vec<Self::Row>, counters: &mut RecordingCounters);
}

/// What a recording has come to.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// What was read and what was left out.
    pub counters: RecordingCounters,
    /// What the input counted.
    pub input: CounterSnapshot,
    /// Why the input ended before its end, if it did. The dump has everything up to there.
    pub input_failure: Option<String>,
}

/// Dumps the readouts of all packets of `input` into a file at `output`.
///
/// # Errors
/// If the file cannot be written. An input that cannot be read further is reported in what is returned.
pub fn record<R: Recorder>(
    input: &mut dyn PacketSource,
    mut recorder: R,
    output: &Path,
) -> Result<Recorded, DumpError> {
    let mut writer = TableWriter::<R::Row>::create(output)?;
    let mut slab = PacketSlab::new(256, 4 << 20);
    let mut rows = Vec::new();
    let mut counters = RecordingCounters::default();
    let input_failure = loop {
        slab.clear();
        let fill = input.fill(&mut slab);
        for packet in slab.batch().iter() {
            counters.packets_in += 1;
            recorder.take(&packet, &mut rows, &mut counters);
            writer.write(&rows)?;
            counters.rows_written += rows.len() as u64;
            rows.clear();
        }
        match fill {
            Ok(Fill::More) => {}
            Ok(Fill::End) => break None,
            Err(error) => break Some(error.to_string()),
        }
    };
    writer.finish()?;
    Ok(Recorded { counters, input: input.counters(), input_failure })
}
