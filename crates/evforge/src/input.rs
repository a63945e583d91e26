//! Files that packets are read from, whatever their kind.

use crate::CommandError;
use crate::exit_status::ExitStatus;
use crate::other_ports::ports_to_read;
use evforge_config::shipped::configurations;
use evforge_config::{Config, PartsByOrigin};
use evforge_core::counter::CounterSnapshot;
use evforge_core::packet_source::PacketSource;
use evforge_detect::dumped_readouts::DumpedReadouts;
use evforge_dump::layout::Row;
use evforge_dump::packets::{self, CaenFormat, PacketFormats, SrsFormat};
use evforge_dump::rows::{CaenReadout, MesytecHit, SrsHit};
use evforge_dump::table_reader::{DumpFile, is_hdf5};
use evforge_inspect::expected::Expected;
use evforge_inspect::shipped::ShippedConfiguration;
use evforge_net::capture::CaptureReader;
use evforge_net::crash_note::CrashNote;
use evforge_pipeline::skipped_frames::alarms;
use evforge_wire::recognise::Format;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Refuses `.pkts` for a detector that needs to know where packets come from or go to, which such a file does not say.
pub(crate) fn refuse_without_origin(path: &Path, config: &Config) -> Result<(), CommandError> {
    let Some(PartsByOrigin { what, one: unknown, .. }) = config.detector.parts_by_origin() else {
        return Ok(());
    };
    if path.extension().is_none_or(|extension| extension != "pkts") {
        return Ok(());
    }
    Err(format!(
        "{}: a .pkts file holds neither addresses nor ports, by which {what} are told apart: every packet \
         in it would be of an unknown {unknown}. Take pcapng instead: give the file a name that ends in .pcapng where it \
         is recorded or simulated",
        path.display()
    )
    .into())
}

/// Opens a file with packets for the detector of a configuration: a capture (of which only packets to `port` are
/// taken, or to those that are [for the configuration](ports_to_read)) or a dump of readouts, which is known by its first bytes and not by its name.
pub(crate) fn open(
    path: &Path,
    port: Option<u16>,
    config: &Config,
) -> Result<Box<dyn PacketSource>, CommandError> {
    refuse_without_origin(path, config)?;
    open_dump(path, config)?
        .map_or_else(|| capture(CaptureReader::open(path)?, ports(path, port, config)), Ok)
}

/// The same for an input that may be a pipe: it is read until `stop` is set.
pub(crate) fn open_until(
    path: &Path,
    port: Option<u16>,
    config: &Config,
    stop: &Arc<AtomicBool>,
) -> Result<Box<dyn PacketSource>, CommandError> {
    refuse_without_origin(path, config)?;
    open_dump(path, config)?
        .map_or_else(|| capture(CaptureReader::open_until(path, stop)?, ports(path, port, config)), Ok)
}

/// Opens a file with packets, or a pipe, which is read until `stop` is set, without knowing what the packets are for.
pub(crate) fn open_any_until(
    path: &Path,
    port: Option<u16>,
    stop: &Arc<AtomicBool>,
) -> Result<Box<dyn PacketSource>, CommandError> {
    if is_dump(path)? {
        return Ok(packets::open(path, &PacketFormats::default())?);
    }
    capture(CaptureReader::open_until(path, stop)?, port.into_iter().collect())
}

/// Says on standard error what of a capture was lost before it was read, and what it makes of the exit status.
pub(crate) fn tell_lost(stage: &'static str, counters: CounterSnapshot) -> ExitStatus {
    let lost = alarms(&[(stage, counters)]);
    lost.iter().for_each(|sentence| eprintln!("evforge: {sentence}"));
    if lost.is_empty() { ExitStatus::Good } else { ExitStatus::Incomplete }
}

/// Opens a dump for the detector of a configuration; none if it is a capture.
fn open_dump(path: &Path, config: &Config) -> Result<Option<Box<dyn PacketSource>>, CommandError> {
    if !is_dump(path)? {
        return Ok(None);
    }
    // Its rows are read later, when other things can crash as well: plugins.
    let _note = CrashNote::while_hdf5_reads(path);
    let formats = formats(path, config)?;
    Ok(Some(packets::open(path, &formats)?))
}

/// Whether a file is a dump. A pipe is not looked into.
pub(crate) fn is_dump(path: &Path) -> Result<bool, CommandError> {
    // What cannot be opened is reported by the reader of captures.
    Ok(path.is_file() && is_hdf5(path).unwrap_or(false))
}

fn capture(reader: CaptureReader, ports: Vec<u16>) -> Result<Box<dyn PacketSource>, CommandError> {
    Ok(Box::new(reader.only_ports(ports)))
}

/// The one port that is asked for, or those that are for the configuration.
fn ports(path: &Path, port: Option<u16>, config: &Config) -> Vec<u16> {
    port.map_or_else(|| ports_to_read(path, config), |port| vec![port])
}

/// The packets that the detector of a configuration reads, if the dump is one of its readouts.
fn formats(path: &Path, config: &Config) -> Result<PacketFormats, CommandError> {
    let table = DumpFile::open(path)?.table();
    let refuse = |problem: String| Err(format!("{} holds {table}: {problem}", path.display()).into());
    let mut formats = PacketFormats::default();
    match (config.detector.dumped_readouts(), table) {
        (Some(DumpedReadouts::Srs(settings)), SrsHit::TABLE) => match SrsFormat::of(settings) {
            Some(format) => formats.srs = format,
            None => return refuse("it does not have the two times of triggered mode".to_owned()),
        },
        (Some(DumpedReadouts::Caen(settings)), CaenReadout::TABLE) => {
            formats.caen = CaenFormat::of(settings);
        }
        (Some(DumpedReadouts::Vmmr { .. }), MesytecHit::TABLE) => {}
        _ => {
            let format = match table {
                CaenReadout::TABLE => Format::Jadaq1_3,
                MesytecHit::TABLE => Format::Mesytec,
                _ => Format::SrsVmm3Of2018,
            };
            let reads = |shipped: &&ShippedConfiguration| shipped.expected == Expected::Format(format);
            let named = configurations().iter().filter(reads).map(ShippedConfiguration::in_words);
            return refuse(format!(
                "{} with its section [{}] reads other readouts. Of the shipped configurations {} does",
                config.name,
                config.section,
                named.collect::<Vec<_>>().join(" or ")
            ));
        }
    }
    Ok(formats)
}
