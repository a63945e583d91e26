//! A dump as a source of packets.

use super::{CaenFormat, CaenPackets, MesytecPackets, PacketQueue, RowEncoder, SrsFormat, SrsPackets};
use crate::counters::DumpCounters;
use crate::error::DumpError;
use crate::layout::Row;
use crate::rows::{CaenReadout, MesytecHit, SrsHit};
use crate::table_reader::{DumpFile, TableReader};
use evforge_core::counter::{CounterSet, CounterSnapshot};
use evforge_core::packet::{PacketOrigin, PacketSlab};
use evforge_core::packet_source::{Fill, PacketSource, SourceError};
use std::path::Path;

/// The packets that rows are put into, for each table that leaves a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketFormats {
    /// For `srs_hits`.
    pub srs: SrsFormat,
    /// For `mbcaen_readouts`.
    pub caen: CaenFormat,
}

impl Default for PacketFormats {
    /// What the electronics sent in 2018: VMM3 with markers of 25 ns, and jadaq 1.3.
    fn default() -> Self {
        Self { srs: SrsFormat::VMM3_2018, caen: CaenFormat::JADAQ_1_3 }
    }
}

/// Opens a dump as a source of packets, whichever table it has.
///
/// # Errors
/// As [`DumpFile::open`] and [`DumpFile::rows`].
pub fn open(path: &Path, formats: &PacketFormats) -> Result<Box<dyn PacketSource>, DumpError> {
    let file = DumpFile::open(path)?;
    Ok(match file.table() {
        CaenReadout::TABLE => Box::new(RowPackets::new(file.rows()?, CaenPackets::new(formats.caen))),
        MesytecHit::TABLE => Box::new(RowPackets::new(file.rows()?, MesytecPackets::default())),
        _ => {
            let rows: TableReader<SrsHit> = file.rows()?;
            let packets = SrsPackets::new(formats.srs, rows.layout());
            Box::new(RowPackets::new(rows, packets))
        }
    })
}

/// The rows of a table as packets.
#[derive(Debug)]
pub struct RowPackets<E: RowEncoder> {
    rows: TableReader<E::Row>,
    encoder: E,
    queue: PacketQueue,
    counters: DumpCounters,
}

impl<E: RowEncoder> RowPackets<E> {
    /// The packets that `encoder` makes of `rows`.
    pub fn new(rows: TableReader<E::Row>, encoder: E) -> Self {
        Self { rows, encoder, queue: PacketQueue::default(), counters: DumpCounters::default() }
    }

    /// Makes packets of the next stretch of rows; false at the end of the table.
    fn encode_more(&mut self) -> Result<bool, DumpError> {
        let rows = self.rows.next_rows();
        match &rows {
            Ok(rows) if !rows.is_empty() => {
                self.counters.rows += rows.len() as u64;
                for row in rows {
                    self.encoder.push(row, &mut self.queue, &mut self.counters);
                }
            }
            // What has been read is delivered before the end is reported, be it a good or a bad one.
            _ => self.encoder.finish(&mut self.queue, &mut self.counters),
        }
        Ok(!rows?.is_empty())
    }
}

impl<E: RowEncoder> PacketSource for RowPackets<E> {
    fn fill(&mut self, slab: &mut PacketSlab) -> Result<Fill, SourceError> {
        let before = slab.len();
        let mut end = None;
        loop {
            while let Some(packet) = self.queue.front() {
                if !slab.push(packet, packet.len(), PacketOrigin::default()) {
                    return Ok(Fill::More);
                }
                self.counters.packets += 1;
                self.counters.bytes += packet.len() as u64;
                self.queue.pop();
            }
            match end {
                None => {}
                Some(Ok(())) => return Ok(Fill::End),
                Some(Err(_)) if slab.len() > before => return Ok(Fill::More),
                Some(Err(error)) => return Err(Box::<DumpError>::new(error)),
            }
            end = match self.encode_more() {
                Ok(true) => None,
                Ok(false) => Some(Ok(())),
                Err(error) => Some(Err(error)),
            };
        }
    }

    fn path(&self) -> &Path {
        self.rows.path()
    }

    fn packets(&self) -> u64 {
        self.counters.packets
    }

    fn position(&self) -> u64 {
        (self.rows.rows_read() * self.rows.layout().row_bytes()) as u64
    }

    fn total_bytes(&self) -> Option<u64> {
        Some((self.rows.row_count() * self.rows.layout().row_bytes()) as u64)
    }

    fn stage(&self) -> &'static str {
        DumpCounters::STAGE
    }

    fn counters(&self) -> CounterSnapshot {
        CounterSnapshot::of(&self.counters)
    }
}
