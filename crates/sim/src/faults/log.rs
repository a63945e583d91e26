//! What has gone wrong, and how much was sent: what a receiver's ledger is compared with.

use super::settings::Kind;
use std::io::{self, Write};

/// A fault that has happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Injected {
    /// What went wrong.
    pub kind: Kind,
    /// The pulse, counted from 0 with the first one simulated.
    pub pulse: u64,
    /// The source, in the order of [`FaultLog::sources`].
    pub source: usize,
    /// The packet, counted from 0 over all sources; none for faults of the electronics.
    pub packet: Option<u64>,
    /// The same packet, counted from 0 among those of its source.
    pub packet_of_source: Option<u64>,
    /// The number that is in the packet, where the format has one.
    pub number: Option<u64>,
    /// Bytes that are left (truncate).
    pub bytes: Option<usize>,
    /// The bit that was flipped (corrupt): byte times 8, and 0 for the least significant one.
    pub bit: Option<usize>,
    /// Copies (repeat), packets sent at once (burst, pause), packets until the counter is 0 (counter-wrap).
    pub count: Option<u64>,
    /// Picoseconds: how much later (delay, pause), how far the clock has stepped (clock-step).
    pub time_ps: Option<i64>,
    /// Later packets of its source that were sent before it (reorder, delay). With 0 nobody can see that it is late.
    pub passed_by: Option<u64>,
}

impl Injected {
    /// A fault without particulars.
    pub fn new(kind: Kind, pulse: u64, source: usize) -> Self {
        Self {
            kind,
            pulse,
            source,
            packet: None,
            packet_of_source: None,
            number: None,
            bytes: None,
            bit: None,
            count: None,
            time_ps: None,
            passed_by: None,
        }
    }
}

/// Packets of one source, as the sender counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SentPackets {
    /// Packets that the electronics have made: what a receiver should have got.
    pub made: u64,
    /// Packets put on the wire, with copies and without what was lost.
    pub on_wire: u64,
    /// Number of the first packet made, where the format has one.
    pub first: Option<u64>,
    /// Number of the last packet made.
    pub last: Option<u64>,
}

/// The sender's own report: only it knows of packets that were lost before the first or after the last one received.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SenderReport {
    /// The sources, by the names that they have in the ledger.
    pub sources: Vec<(String, SentPackets)>,
}

/// Every fault that has happened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FaultLog {
    /// Names of the sources.
    pub sources: Vec<String>,
    /// The faults. Those of packets that had to wait come when the packet was sent.
    pub faults: Vec<Injected>,
}

/// The columns of the log.
const COLUMNS: &str = "kind,pulse,source,packet,packet_of_source,number,bytes,bit,count,time_ps,passed_by";

impl FaultLog {
    /// The faults of one kind.
    pub fn of(&self, kind: Kind) -> impl Iterator<Item = &Injected> {
        self.faults.iter().filter(move |fault| fault.kind == kind)
    }

    /// Writes the log as CSV: a line of names, then a line for every fault, with nothing where a column does not apply.
    ///
    /// # Errors
    /// Those of `output`.
    pub fn write(&self, output: &mut impl Write) -> io::Result<()> {
        writeln!(output, "{COLUMNS}")?;
        for fault in &self.faults {
            let source = self.sources.get(fault.source).map_or("", String::as_str);
            write!(output, "{},{},{}", fault.kind.name(), fault.pulse, quoted(source))?;
            let counts = [
                fault.packet,
                fault.packet_of_source,
                fault.number,
                fault.bytes.map(|bytes| bytes as u64),
                fault.bit.map(|bit| bit as u64),
                fault.count,
            ];
            for count in counts {
                write_cell(output, count)?;
            }
            write_cell(output, fault.time_ps)?;
            write_cell(output, fault.passed_by)?;
            writeln!(output)?;
        }
        Ok(())
    }
}

fn write_cell<N: std::fmt::Display>(output: &mut impl Write, value: Option<N>) -> io::Result<()> {
    match value {
        Some(value) => write!(output, ",{value}"),
        None => write!(output, ","),
    }
}

/// A name as it is in CSV: names of sources have commas.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_has_a_line_for_every_fault() {
        let mut step = Injected::new(Kind::ClockStep, 20, 1);
        step.time_ps = Some(-5);
        let mut loss = Injected::new(Kind::Lose, 3, 0);
        (loss.packet, loss.packet_of_source, loss.number) = (Some(17), Some(9), Some(1009));
        let log = FaultLog {
            sources: vec!["group 0, system 1".into(), "a \"b\"".into()],
            faults: vec![loss, step],
        };
        let mut text = Vec::new();
        log.write(&mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], COLUMNS);
        assert_eq!(lines[1], "lose,3,\"group 0, system 1\",17,9,1009,,,,,");
        assert_eq!(lines[2], "clock-step,20,\"a \"\"b\"\"\",,,,,,,-5,");
        assert_eq!(log.of(Kind::Lose).count(), 1);
    }
}
