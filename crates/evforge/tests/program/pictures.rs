//! A picture shows every event: what the PNG, the page, the NeXus file and the CSV file have is the same, for every shipped
//! configuration and for recorded packets.
#![allow(clippy::unwrap_used)]

use crate::common::{evforge, workspace};
use evforge_config::Config;
use evforge_core::packet::{Packet, PacketOrigin, PacketSlab};
use evforge_core::time::Clock;
use evforge_net::capture::{CaptureReader, Fill, PktsWriter};
use evforge_net::clock::SystemClock;
use evforge_outputs::QueueSettings;
use evforge_outputs::packet_tap::PacketTap;
use evforge_picture::{EMPTY_COLOUR, Image, SheetRecord};
use evforge_pipeline::capture_run::CaptureRun;
use evforge_pipeline::ledger_at_start;
use evforge_pipeline::monitor_tap::MonitorTap;
use evforge_pipeline::run_control::RunControl;
use evforge_testkit::{shared_folder, skip};
use evforge_view::frame::Picture;
use evforge_view::{LiveView, ViewOptions};
use evforge_wire::ess::beam_monitor::MonitorKind;
use evforge_wire::ess::{EssHeader, EssPacket, EssTime, HeaderRules, MonitorFields, detector_type};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Where packets for a configuration are from.
#[derive(Clone, Copy)]
enum Packets {
    /// What `evforge simulate` makes.
    Simulated,
    /// The same, with a monitor that sends in each pulse.
    WithMonitor,
    /// Monitors alone.
    Monitors,
    /// A file of the reference data: packets one after the other.
    Recorded(&'static str),
    /// A file of the reference data that is one packet.
    OnePacket(&'static str),
}

/// Every configuration in `configs/`, and recordings.
const INSTRUMENTS: &[(&str, Packets)] = &[
    ("adc-readout", Packets::OnePacket("vectors/adc_readout/test_packet_1.bin")),
    ("amor-ess", Packets::WithMonitor),
    ("beam-monitors", Packets::Monitors),
    ("bifrost", Packets::Simulated),
    ("cspec", Packets::Simulated),
    ("estia", Packets::Simulated),
    ("freia", Packets::Simulated),
    ("gdgem-nmx", Packets::Simulated),
    ("gdgem-srs", Packets::Simulated),
    ("isis-large", Packets::Simulated),
    ("isis-lvds", Packets::Simulated),
    ("isis-madc", Packets::Simulated),
    ("isis-v2", Packets::Simulated),
    ("isis-wlsf", Packets::Simulated),
    ("let", Packets::Simulated),
    ("loki", Packets::Simulated),
    ("miracles", Packets::Simulated),
    ("multiblade-50", Packets::Simulated),
    ("multiblade", Packets::Simulated),
    ("multigrid-cncs", Packets::Simulated),
    ("multigrid", Packets::Simulated),
    ("nmx", Packets::Simulated),
    ("sonde-module", Packets::Simulated),
    ("sonde", Packets::Simulated),
    ("tblmb", Packets::Simulated),
    ("tbl3he", Packets::Simulated),
    ("trex", Packets::Simulated),
    ("gdgem-srs", Packets::Recorded("captures/gdgem/vmm3a_srs.pcapng")),
    ("multiblade", Packets::Recorded("captures/multiblade/recorded_2018.pkts")),
    ("multigrid", Packets::Recorded("captures/multigrid/generated_jumbo.pkts")),
    ("multigrid", Packets::Recorded("captures/multigrid/recorded_ws1to4.pkts")),
    ("sonde-module", Packets::Recorded("captures/sonde/generated_255.pkts")),
];

fn as_text(path: &Path) -> &str {
    path.to_str().expect("text")
}

/// All packets of a capture.
fn packets_of(capture: &Path) -> Vec<Vec<u8>> {
    let mut reader = CaptureReader::open(capture).expect("a capture");
    let mut slab = PacketSlab::new(256, 4 << 20);
    let mut packets = Vec::new();
    loop {
        slab.clear();
        let fill = reader.fill(&mut slab).expect("packets");
        packets.extend(slab.batch().iter().map(|packet| packet.bytes.to_vec()));
        if fill == Fill::End {
            return packets;
        }
    }
}

fn write(path: &Path, packets: &[Vec<u8>]) {
    let mut writer = PktsWriter::create(path).expect("a file");
    for bytes in packets {
        let packet = Packet { bytes, original_length: bytes.len() as u32, origin: PacketOrigin::default() };
        writer.write(&packet).expect("a packet");
    }
    writer.finish().expect("a whole file");
}

/// A packet of monitors for a pulse: front end, kind and value of each record, a thousand ticks apart.
fn monitor_packet(
    [pulse, previous_pulse]: [EssTime; 2],
    sequence: u32,
    records: impl IntoIterator<Item = (u8, MonitorKind, u32)>,
) -> Vec<u8> {
    let records: Vec<_> = records
        .into_iter()
        .zip(1..)
        .map(|((fen, kind, value), number)| {
            let time = EssTime { ticks: (pulse.ticks + 1000 * number).min(88_052_499), ..pulse };
            MonitorFields { fibre: 22, fen, time, kind: kind.to_byte(), value, ..MonitorFields::default() }
                .encode()
        })
        .collect();
    let header = EssHeader {
        version: 1,
        detector_type: detector_type::CBM,
        pulse,
        previous_pulse,
        sequence,
        ..EssHeader::default()
    };
    let mut bytes = Vec::new();
    header.write_packet(records.as_flattened(), &mut bytes);
    bytes
}

/// After each packet that begins a pulse, one of a monitor with three neutrons.
fn with_monitor(packets: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let rules = HeaderRules::strict(detector_type::FREIA, u64::MAX);
    let (mut all, mut sequence, mut latest) = (Vec::new(), 0, None);
    for packet in packets {
        let EssPacket { pulse, previous_pulse, .. } = EssPacket::parse(&packet, &rules).expect("a packet");
        all.push(packet);
        if latest.replace(pulse) != Some(pulse) {
            all.push(monitor_packet([pulse, previous_pulse], sequence, [(0, MonitorKind::Event0D, 0); 3]));
            sequence += 1;
        }
    }
    all
}

/// 20 pulses of the three monitors of `configs/beam-monitors.toml`.
fn monitors() -> Vec<Vec<u8>> {
    let time =
        |pulse: u32| EssTime { seconds: 1_700_000_000 + pulse / 14, ticks: pulse % 14 * (88_052_500 / 14) };
    let of_pulse = |pulse: u32| {
        let point = (0, MonitorKind::Event0D, 0);
        let place = MonitorFields::place((37 * pulse % 512) as u16, (5 * pulse) as u16);
        let area = (1, MonitorKind::Event2D, place);
        let charge = (2, MonitorKind::Integrating, MonitorFields::sum(1000, 4));
        monitor_packet([time(pulse + 1), time(pulse)], pulse, [point, area, area, charge])
    };
    (0..20).map(of_pulse).collect()
}

/// The capture for a configuration, if what it is made from is there.
fn capture(test: &str, config: &Path, packets: Packets, folder: &Path) -> Option<PathBuf> {
    let shared = |name: &str| {
        let path = shared_folder().join(name);
        if !path.is_file() {
            skip(test, &format!("{} is not there", path.display()));
            return None;
        }
        Some(path)
    };
    let path = folder.join("packets.pkts");
    match packets {
        Packets::Recorded(name) => return shared(name),
        Packets::OnePacket(name) => write(&path, &[std::fs::read(shared(name)?).expect("a packet")]),
        Packets::Monitors => write(&path, &monitors()),
        Packets::Simulated | Packets::WithMonitor => {
            // Addresses and ports tell the modules of a SoNDe apart: pcapng has them.
            let simulated = folder.join("simulated.pcapng");
            let output = as_text(&simulated);
            evforge(&["simulate", "--config", as_text(config), "--pulses", "4", "--output", output]);
            if matches!(packets, Packets::Simulated) {
                return Some(simulated);
            }
            write(&path, &with_monitor(packets_of(&simulated)));
        }
    }
    Some(path)
}

/// A PNG: its width, its points and what it says of itself.
struct Png {
    width: u32,
    points: Vec<u8>,
    record: SheetRecord,
}

impl Png {
    fn read(path: &Path) -> Self {
        let file = std::io::BufReader::new(std::fs::File::open(path).expect("a file"));
        let mut reader = png::Decoder::new(file).read_info().expect("a PNG");
        let own = reader.info().utf8_text.iter().find(|text| text.keyword == "evforge").expect("our text");
        let record = serde_json::from_str(&own.get_text().expect("text")).expect("a record");
        let mut points = vec![0; reader.output_buffer_size().expect("a size")];
        let width = reader.next_frame(&mut points).expect("a picture").width;
        Self { width, points, record }
    }

    /// Whether each pixel of a picture, or each block of pixels that are drawn as one, has a colour of counts: row by row from the bottom.
    /// None for a number.
    fn lit(&self, picture: usize) -> Option<Vec<bool>> {
        let drawn = &self.record.pictures[picture];
        let ([left, top], [across, up]) = (drawn.corner?, drawn.factor);
        let [columns, rows] = blocks(drawn.nx, drawn.ny, drawn.block);
        let is_lit = |at: u32| {
            let (column, row) = (at % columns, at / columns);
            let (x, y) = (left + column * across + across / 2, top + (rows - 1 - row) * up + up / 2);
            let at = 3 * (y as usize * self.width as usize + x as usize);
            self.points[at..at + 3] != EMPTY_COLOUR
        };
        Some((0..columns * rows).map(is_lit).collect())
    }
}

/// Columns and rows of blocks.
fn blocks(nx: u32, ny: u32, [across, up]: [u32; 2]) -> [u32; 2] {
    [nx.div_ceil(across), ny.div_ceil(up)]
}

fn get(address: SocketAddr, path: &str) -> Vec<u8> {
    let mut stream = std::net::TcpStream::connect(address).expect("the page is there");
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").expect("a request");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("an answer");
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n").expect("a head");
    answer.split_off(end + 4)
}

/// What the page has at the end of a run: the list of pictures, the images, and the events that are in none.
fn page(config: &Config, capture: &Path) -> (Value, Vec<Image>, u64) {
    let detector = config.build_detector().expect("a configuration that was read");
    let monitors = ledger_at_start(detector.as_ref()).beam_monitors;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let view = LiveView::start(ViewOptions {
        address: "127.0.0.1:0".parse().expect("an address"),
        pixel_ids: detector.pixel_ids(),
        beam_monitors: monitors.iter().map(|data| data.plan().clone()).collect(),
        placement: config
            .place(detector.geometry(), monitors.iter().map(|data| data.plan().name.as_str()))
            .expect("a placement"),
        ..ViewOptions::new("page", detector.geometry(), config.pulses)
    })
    .expect("a page");
    let run = CaptureRun {
        config,
        input: Box::new(CaptureReader::open(capture).expect("a capture")),
        outputs: vec![("view".to_owned(), Box::new(view.sink()), QueueSettings::COMPLETE)],
        samples: None,
        stop: &AtomicBool::new(false),
        monitor: MonitorTap::default(),
        packets: PacketTap::default(),
        control: RunControl::default(),
        clock,
        health: Default::default(),
        on_waiting: Arc::new(|_| {}),
    };
    run.run(|_| {}).expect("a run");
    let json = |path| -> Value { serde_json::from_slice(&get(view.address(), path)).expect("JSON") };
    let frame = Picture::decode(&get(view.address(), "/api/image.bin")).expect("a frame");
    let outside = json("/api/state.json")["outside_geometry"].as_u64().expect("a number");
    (json("/api/pictures.json"), frame.images, outside)
}

/// Events in all groups of a NeXus file, with late ones.
fn events_in_nexus(path: &Path) -> u64 {
    let file = hdf5_metno::File::open(path).expect("a file");
    let groups = file.dataset("/entry/recording/event_groups").expect("the list of groups");
    let paths: hdf5_metno::types::FixedUnicode<4096> = groups.read_scalar().expect("text");
    let count = |group: String| file.dataset(&format!("{group}/event_id")).expect("pixel ids").size() as u64;
    paths.lines().map(|group| count(group.to_owned()) + count(format!("{group}/events_late"))).sum()
}

fn check(test: &str, name: &str, packets: Packets) {
    let folder = tempfile::tempdir().expect("a folder");
    let place = |name: &str| folder.path().join(name);
    let config = workspace().join(format!("configs/{name}.toml"));
    let Some(capture) = capture(test, &config, packets, folder.path()) else { return };
    let [png, nexus, csv, report] = ["image.png", "run.nxs", "run.csv", "report.json"].map(place);
    evforge(&[
        "run",
        "--config",
        as_text(&config),
        "--input",
        as_text(&capture),
        "--image",
        as_text(&png),
        "--nexus",
        as_text(&nexus),
        "--events",
        as_text(&csv),
        "--report",
        as_text(&report),
        "--view",
        "127.0.0.1:0",
    ]);
    let events = std::fs::read_to_string(&csv).expect("events").lines().count() as u64 - 1;
    assert!(events > 0, "{name}: no events");
    let report: Value = serde_json::from_slice(&std::fs::read(&report).expect("a report")).expect("JSON");
    let outputs =
        report["streams"][0]["outputs"].as_array().or(report["outputs"].as_array()).expect("outputs");
    let counter = |id: &str, counter: &str| {
        let output = outputs.iter().find(|output| output["id"] == id).expect("an output");
        output["counters"][counter].as_u64().expect("a counter")
    };
    assert_eq!(events_in_nexus(&nexus), events, "{name}: NeXus and CSV");
    assert_eq!(
        (counter("view", "pictured"), counter("view", "outside_geometry")),
        (events, 0),
        "{name}: view"
    );

    // A folder in EVFORGE_PICTURES keeps the pictures, for whoever wants to look at them.
    if let Some(keep) = std::env::var_os("EVFORGE_PICTURES") {
        std::fs::copy(&png, Path::new(&keep).join(format!("{name}.png"))).expect("a copy");
    }
    let png = Png::read(&png);
    assert_eq!((png.record.events, png.record.outside), (events, 0), "{name}: PNG and CSV");
    let config = Config::read(&config, &[]).expect("a configuration");
    let (pictures, images, outside) = page(&config, &capture);
    let pictures = pictures.as_array().expect("a list");
    let first = pictures.iter().filter(|picture| picture["first"] == true);
    let on_page: u64 = first.map(|picture| picture["sum"].as_u64().expect("a sum")).sum();
    assert_eq!((on_page, outside), (events, 0), "{name}: page and CSV");
    assert_eq!(
        (pictures.len(), images.len()),
        (png.record.pictures.len(), png.record.pictures.len()),
        "{name}"
    );
    for (index, (drawn, image)) in png.record.pictures.iter().zip(&images).enumerate() {
        let what = format!("{name}: picture {}", drawn.name);
        assert_eq!(pictures[index]["name"], drawn.name, "{what}");
        assert_eq!((drawn.sum, drawn.nx, drawn.ny), (image.total(), image.nx, image.ny), "{what}");
        // What is drawn, point by point, against what the page has.
        let Some(lit) = png.lit(index) else { continue };
        let [columns, rows] = blocks(drawn.nx, drawn.ny, drawn.block);
        let mut counted = vec![false; (columns * rows) as usize];
        for (at, _) in (0..).zip(&image.counts).filter(|(_, count)| **count > 0) {
            let (column, row): (u32, u32) = (at % drawn.nx, at / drawn.nx);
            counted[(row / drawn.block[1] * columns + column / drawn.block[0]) as usize] = true;
        }
        assert!(lit == counted, "{what}: other pixels are drawn than have counts");
    }
}

#[test]
fn png_page_nexus_and_csv_have_the_same_events() {
    let test = "png_page_nexus_and_csv_have_the_same_events";
    for &(name, packets) in INSTRUMENTS {
        let started = std::time::Instant::now();
        check(test, name, packets);
        println!("{name}: {:.1} s", started.elapsed().as_secs_f64());
    }
}

#[test]
fn every_shipped_configuration_is_checked() {
    let mut shipped: Vec<String> = std::fs::read_dir(workspace().join("configs"))
        .unwrap()
        .filter_map(|entry| Some(entry.unwrap().file_name().to_str()?.strip_suffix(".toml")?.to_owned()))
        .collect();
    shipped.sort();
    let mut checked: Vec<&str> = INSTRUMENTS.iter().map(|(name, _)| *name).collect();
    checked.sort_unstable();
    checked.dedup();
    assert_eq!(checked, shipped);
}
