//! `evforge inspect`: decode a capture and print or count what is in it.

use crate::CommandError;
use crate::input::is_dump;
use crate::inspect_dump::inspect_dump;
use crate::output::print;
use clap::{Args, ValueEnum};
use evforge_core::counter::CounterSnapshot;
use evforge_core::packet::{Packet, PacketSlab};
use evforge_net::capture::{CaptureReader, Fill};
use evforge_pipeline::report::grouped;
use evforge_wire::srs_vmm::{Rejection, Vmm2Content, Vmm2Packet, Vmm3Packet, Vmm3Variant, VmmReadout, Word};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

/// Formats that can be inspected.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Readout {
    /// SRS with VMM2
    Vmm2,
    /// SRS with VMM3, layout of 2018
    #[value(name = "vmm3-2018")]
    Vmm3Of2018,
    /// SRS with VMM3a
    Vmm3a,
}

/// Arguments of `evforge inspect`.
#[derive(Args)]
pub(crate) struct InspectArguments {
    /// The capture: pcap, pcapng or .pkts; or a dump of readouts (HDF5)
    #[arg(value_name = "FILE")]
    input: PathBuf,
    /// Format of the readouts; a dump contains it
    #[arg(long, value_enum, default_value = "vmm3a")]
    readout: Readout,
    /// Look only at packets sent to this UDP port
    #[arg(long, short = 'p', value_name = "PORT")]
    port: Option<u16>,
    /// Print a line for every packet
    #[arg(long)]
    packets: bool,
    /// Print a line for every packet, readout and marker
    #[arg(long)]
    readouts: bool,
    /// Look at no more than this many packets, or rows of a dump
    #[arg(long, value_name = "COUNT")]
    limit: Option<u64>,
}

#[derive(Default)]
struct Totals {
    packets: u64,
    bytes: u64,
    readouts: u64,
    markers: u64,
    rejected: BTreeMap<String, u64>,
    /// Readouts of each FEC and chip.
    chips: BTreeMap<(u16, u8), u64>,
}

/// Runs the command.
pub(crate) fn inspect(arguments: &InspectArguments) -> Result<bool, CommandError> {
    let limit = arguments.limit.unwrap_or(u64::MAX);
    if is_dump(&arguments.input)? {
        return inspect_dump(&arguments.input, arguments.readouts, limit);
    }
    let mut reader = CaptureReader::open(&arguments.input)?;
    if let Some(port) = arguments.port {
        reader = reader.only_port(port);
    }
    let mut slab = PacketSlab::new(256, 4 << 20);
    let mut totals = Totals::default();
    let mut failure = None;
    'reading: loop {
        slab.clear();
        let fill = reader.fill(&mut slab);
        for packet in slab.batch().iter() {
            if totals.packets == limit {
                break 'reading;
            }
            let text = look_at(&packet, arguments, &mut totals);
            print(&text)?;
        }
        match fill {
            Ok(Fill::More) => {}
            Ok(Fill::End) => break,
            Err(error) => {
                failure = Some(error);
                break;
            }
        }
    }
    print(&summary(&totals, &CounterSnapshot::of(reader.counters())))?;
    failure.map_or(Ok(true), |error| Err(error.into()))
}

/// Counts a packet and returns the lines to print for it.
fn look_at(packet: &Packet<'_>, arguments: &InspectArguments, totals: &mut Totals) -> String {
    totals.packets += 1;
    totals.bytes += packet.bytes.len() as u64;
    let lines = arguments.packets || arguments.readouts;
    let mut text = String::new();
    if lines {
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "packet {}: {} bytes from {}, ",
            totals.packets,
            packet.bytes.len(),
            packet.origin.source
        );
    }
    let mut content = String::new();
    let outcome = match arguments.readout {
        Readout::Vmm2 => look_at_vmm2(packet.bytes, totals, arguments.readouts.then_some(&mut content)),
        Readout::Vmm3Of2018 => look_at_vmm3(
            packet.bytes,
            Vmm3Variant::Of2018,
            totals,
            arguments.readouts.then_some(&mut content),
        ),
        Readout::Vmm3a => {
            look_at_vmm3(packet.bytes, Vmm3Variant::Vmm3a, totals, arguments.readouts.then_some(&mut content))
        }
    };
    let description = match outcome {
        Ok(description) => description,
        Err(rejection) => {
            let reason = reason(rejection);
            *totals.rejected.entry(reason.clone()).or_default() += 1;
            format!("rejected: {reason}")
        }
    };
    if lines {
        let _ = writeln!(text, "{description}");
    }
    text + &content
}

fn reason(rejection: Rejection) -> String {
    match rejection {
        Rejection::TooShort => "too short for its header".into(),
        Rejection::EndOfFrame => "an end of frame, which this format does not have".into(),
        Rejection::WrongDataId(id) => format!(
            "data id {id:#010x} ({}) is not of this format (see --readout)",
            id.to_be_bytes()[..3].escape_ascii()
        ),
        Rejection::NoSuchFec => "FEC number 0".into(),
        Rejection::NoReadouts => "no readouts behind the header".into(),
        Rejection::RaggedLength => "not a whole number of readouts".into(),
    }
}

fn readout_line(readout: &VmmReadout) -> String {
    format!(
        "  readout chip {:>2} channel {:>2} offset {:>2} crossing {:>4} tdc {:>3} adc {:>4}{}\n",
        readout.chip,
        readout.channel,
        readout.trigger_offset,
        readout.bunch_crossing,
        readout.tdc,
        readout.adc,
        if readout.over_threshold { " over threshold" } else { "" }
    )
}

fn look_at_vmm2(
    bytes: &[u8],
    totals: &mut Totals,
    mut lines: Option<&mut String>,
) -> Result<String, Rejection> {
    match Vmm2Packet::parse(bytes)? {
        Vmm2Content::EndOfFrame => Ok("end of frame".into()),
        Vmm2Content::NoData => Ok("no data".into()),
        Vmm2Content::Readouts(packet) => {
            for readout in packet.readouts() {
                totals.readouts += 1;
                *totals.chips.entry((1, readout.chip)).or_default() += 1;
                if let Some(lines) = &mut lines {
                    lines.push_str(&readout_line(&readout));
                }
            }
            Ok(format!(
                "frame {}, chip {}, trigger stamp {}, {} readouts",
                packet.frame_counter,
                packet.chip,
                packet.trigger_stamp,
                packet.len()
            ))
        }
    }
}

fn look_at_vmm3(
    bytes: &[u8],
    variant: Vmm3Variant,
    totals: &mut Totals,
    mut lines: Option<&mut String>,
) -> Result<String, Rejection> {
    let packet = Vmm3Packet::parse(bytes, variant)?;
    let mut markers = 0;
    for word in packet.words() {
        match word {
            Word::Readout(readout) => {
                totals.readouts += 1;
                *totals.chips.entry((packet.fec, readout.chip)).or_default() += 1;
                if let Some(lines) = &mut lines {
                    lines.push_str(&readout_line(&readout));
                }
            }
            Word::Marker(marker) => {
                markers += 1;
                if let Some(lines) = &mut lines {
                    let _ = writeln!(lines, "  marker  chip {:>2} stamp {}", marker.chip, marker.stamp);
                }
            }
        }
    }
    totals.markers += markers;
    Ok(format!(
        "FEC {}, frame {}, send stamp {}, {} readouts, {markers} markers",
        packet.fec,
        packet.frame_counter,
        packet.send_stamp,
        packet.len() as u64 - markers
    ))
}

fn summary(totals: &Totals, capture: &CounterSnapshot) -> String {
    let mut text = format!(
        "packets   {} ({} bytes)\nreadouts  {}\nmarkers   {}\n",
        grouped(totals.packets),
        grouped(totals.bytes),
        grouped(totals.readouts),
        grouped(totals.markers)
    );
    for ((fec, chip), readouts) in &totals.chips {
        let _ = writeln!(text, "  FEC {fec} chip {chip}: {} readouts", grouped(*readouts));
    }
    for (reason, count) in &totals.rejected {
        let _ = writeln!(text, "rejected  {} packets: {reason}", grouped(*count));
    }
    for (info, count) in capture.iter().skip(3).filter(|(_, count)| *count > 0) {
        let _ = writeln!(text, "capture   {}: {}", grouped(count), info.help);
    }
    text
}
