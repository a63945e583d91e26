//! What a capture has for other ports than the one that was asked for.

use evforge_core::packet::PacketSlab;
use evforge_core::packet_source::PacketSource;
use evforge_inspect::survey::Survey;
use evforge_net::capture::{CaptureReader, Fill};
use std::path::Path;

/// Packets that are looked at.
const PACKETS: u64 = 10_000;
/// Streams that are named.
const STREAMS: usize = 4;

/// The streams in a capture of which nothing went to `port`, in a sentence; none if it cannot be read again (a pipe).
pub(crate) fn streams_to_other_ports(path: &Path, port: u16) -> Option<String> {
    let mut reader = path.is_file().then(|| CaptureReader::open(path).ok())??;
    let mut survey = Survey::default();
    let mut slab = PacketSlab::new(256, 4 << 20);
    while survey.packets() < PACKETS {
        slab.clear();
        let fill = PacketSource::fill(&mut reader, &mut slab).ok()?;
        slab.batch().iter().for_each(|packet| survey.take(&packet));
        if fill == Fill::End {
            break;
        }
    }
    let findings = survey.finish();
    let streams = findings.streams.iter().take(STREAMS);
    let named: Vec<String> =
        streams.map(|stream| format!("{} ({})", stream.title(), stream.route())).collect();
    (!named.is_empty())
        .then(|| format!("nothing in the capture was sent to port {port}. What came: {}", named.join("; ")))
}
