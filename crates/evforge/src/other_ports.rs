//! Which ports of a capture are for a configuration, and what it has for others.

use evforge_config::Config;
use evforge_core::packet::{Packet, PacketSlab};
use evforge_core::packet_source::PacketSource;
use evforge_inspect::expected::Expected;
use evforge_inspect::survey::Survey;
use evforge_net::capture::{CaptureReader, Fill};
use std::collections::BTreeSet;
use std::path::Path;

/// Packets that are looked at.
const PACKETS: u64 = 10_000;
/// Streams that are named.
const STREAMS: usize = 4;

/// The ports of a capture that are for a configuration. If its own ports (`receive.address`, `receive.ports`) occur, those; otherwise
/// those to which packets were sent that it reads. None, and so all, if there is nothing to choose between, or if it cannot be read
/// twice (a pipe). The first packets decide.
pub(crate) fn ports_to_read(path: &Path, config: &Config) -> Vec<u16> {
    let mut found = BTreeSet::new();
    let mut take = |packet: &Packet<'_>| {
        found.insert(packet.origin.destination_port);
    };
    if first_packets(path, &mut take).is_none() || found.len() < 2 {
        return Vec::new();
    }
    let receive = &config.receive;
    let own = [receive.address.port()].into_iter().chain(receive.ports.iter().copied());
    let own: Vec<u16> = own.filter(|port| found.contains(port)).collect();
    let expected = config.expected();
    if !own.is_empty() || expected == Expected::Anything {
        return own;
    }
    let mut survey = Survey::default();
    let _ = first_packets(path, |packet| survey.take(packet));
    let findings = survey.finish();
    let ours =
        findings.streams.iter().filter(|stream| stream.is_read_as(expected)).map(|stream| stream.key.port);
    ours.collect::<BTreeSet<u16>>().into_iter().collect()
}

/// Looks at the first packets of a capture; none if it cannot be opened, or not again (a pipe).
fn first_packets(path: &Path, mut look: impl FnMut(&Packet<'_>)) -> Option<()> {
    let mut reader = path.is_file().then(|| CaptureReader::open(path).ok())??;
    let mut slab = PacketSlab::new(256, 4 << 20);
    while reader.packets() < PACKETS {
        slab.clear();
        let fill = PacketSource::fill(&mut reader, &mut slab);
        slab.batch().iter().for_each(|packet| look(&packet));
        // What cannot be read on is said by whoever reads it.
        if fill.is_err() || fill.is_ok_and(|fill| fill == Fill::End) {
            break;
        }
    }
    Some(())
}

/// The streams in a capture of which nothing went to `port`, in a sentence; none if it cannot be read again (a pipe).
pub(crate) fn streams_to_other_ports(path: &Path, port: u16) -> Option<String> {
    let mut survey = Survey::default();
    first_packets(path, |packet| survey.take(packet))?;
    let findings = survey.finish();
    let streams = findings.streams.iter().take(STREAMS);
    let named: Vec<String> =
        streams.map(|stream| format!("{} ({})", stream.title(), stream.route())).collect();
    (!named.is_empty())
        .then(|| format!("nothing in the capture was sent to port {port}. What came: {}", named.join("; ")))
}
