//! Beam monitors from packets of the ESS readout to a NeXus file, a CSV file and the report.
#![allow(clippy::unwrap_used)]

use crate::common::{evforge, python, text, workspace};
use evforge_core::beam_monitor::{BeamMonitorData, BeamMonitorKind, BeamMonitorPlan, TimeOfFlightBins};
use evforge_core::packet::{PacketOrigin, PacketSlab};
use evforge_net::capture::PktsWriter;
use evforge_wire::ess::beam_monitor::MonitorKind;
use evforge_wire::ess::{EssHeader, EssTime, MonitorFields, detector_type};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

/// 14 pulses per second, in ticks of 88.0525 MHz.
const PERIOD: u64 = 88_052_500 / 14;
/// Pulses in the capture.
const PULSES: u64 = 30;
/// Monitors are on ring 11.
const FIBRE: u8 = 22;

/// A time so many ticks after the first pulse.
fn at(ticks: u64) -> EssTime {
    let ticks = 1_790_000_000 * 88_052_500 + ticks;
    EssTime { seconds: (ticks / 88_052_500) as u32, ticks: (ticks % 88_052_500) as u32 }
}

/// Whole nanoseconds: a tick is 400000/35221 ns.
fn nanoseconds(time: EssTime) -> u64 {
    u64::from(time.seconds) * 1_000_000_000 + u64::from(time.ticks) * 400_000 / 35_221
}

/// What was sent, as the detector should understand it.
struct Truth {
    pulses: Vec<u64>,
    /// Events of the two monitors that send single neutrons: time and pixel.
    events: [Vec<(u64, u32)>; 2],
    /// The monitors in the order of `configs/beam-monitors.toml`.
    monitors: [BeamMonitorData; 3],
}

impl Truth {
    fn new() -> Self {
        let bins = TimeOfFlightBins::new(0, 71_428_571, 714).unwrap();
        let monitor = |name: &str, kind, first_pixel, side| {
            let (name, histogram) = (name.to_owned(), bins);
            BeamMonitorData::new(BeamMonitorPlan {
                name,
                kind,
                first_pixel,
                nx: side,
                ny: side,
                histogram,
                alongside: false,
            })
        };
        Self {
            pulses: Vec::new(),
            events: [Vec::new(), Vec::new()],
            monitors: [
                monitor("monitor_1", BeamMonitorKind::Event0D, 1, 1),
                monitor("monitor_2", BeamMonitorKind::Event2D, 2, 512),
                monitor("monitor_3", BeamMonitorKind::Integrating, 0, 0),
            ],
        }
    }

    /// A neutron in the monitor with this number, 0 or 1.
    fn neutron(&mut self, monitor: usize, time_ns: u64, pixel_id: u32) {
        let pulse = *self.pulses.iter().rfind(|&&pulse| pulse <= time_ns).unwrap();
        self.monitors[monitor].add(time_ns - pulse, 1);
        self.events[monitor].push((time_ns, pixel_id));
    }
}

/// Packets of all three monitors: neutrons in four of five pulses, a mean current in all, and neutrons that come after
/// the next pulse has been announced.
fn packets() -> (Vec<Vec<u8>>, Truth) {
    let (mut packets, mut truth) = (Vec::new(), Truth::new());
    let mut late = Vec::new();
    for number in 0..PULSES {
        let pulse = at(number * PERIOD);
        truth.pulses.push(nanoseconds(pulse));
        truth.monitors.iter_mut().for_each(BeamMonitorData::begin_pulse);
        let mut records = std::mem::take(&mut late);
        let record = |fen: u8, kind: MonitorKind, ticks: u64, value: u32| {
            let (time, kind) = (at(number * PERIOD + ticks), kind.to_byte());
            MonitorFields { fibre: FIBRE, fen, time, kind, value, ..MonitorFields::default() }.encode()
        };
        let neutrons = if number % 5 == 3 { 0 } else { number % 9 + 3 };
        for neutron in 0..neutrons {
            // The last one, shortly before the next pulse, comes with the next packet.
            let is_last = neutron + 1 == neutrons && number + 1 < PULSES;
            let ticks = if is_last { PERIOD - 20_000 } else { neutron * neutron * 50_003 + number * 17 };
            let (x, y) = ((number * 13 + neutron) % 512, (neutron * 37) % 512);
            let time_ns = nanoseconds(at(number * PERIOD + ticks));
            let records = if is_last { &mut late } else { &mut records };
            records.extend(record(0, MonitorKind::Event0D, ticks, 0));
            truth.neutron(0, time_ns, 1);
            records.extend(record(1, MonitorKind::Event2D, ticks, MonitorFields::place(x as u16, y as u16)));
            truth.neutron(1, time_ns, 2 + (y * 512 + x) as u32);
        }
        // A mean of four samples.
        let sum = (number * 1000) as u32;
        records.extend(record(2, MonitorKind::Integrating, number * 1_000, MonitorFields::sum(sum, 4)));
        truth.monitors[2]
            .add(nanoseconds(at(number * PERIOD + number * 1_000)) - nanoseconds(pulse), u64::from(sum / 4));
        let header = EssHeader {
            version: (number % 2) as u8,
            detector_type: detector_type::CBM,
            time_source: 1,
            pulse,
            previous_pulse: at(number.saturating_sub(1) * PERIOD),
            sequence: number as u32,
            ..EssHeader::default()
        };
        let mut packet = Vec::new();
        header.write_packet(&records, &mut packet);
        packets.push(packet);
    }
    truth.events.iter_mut().for_each(|events| events.sort_unstable());
    (packets, truth)
}

fn capture(folder: &Path, packets: &[Vec<u8>]) -> PathBuf {
    let path = folder.join("monitors.pkts");
    let mut slab = PacketSlab::new(packets.len(), packets.iter().map(Vec::len).sum());
    for packet in packets {
        assert!(slab.push(packet, packet.len(), PacketOrigin::default()));
    }
    let mut writer = PktsWriter::create(&path).unwrap();
    for packet in slab.batch().iter() {
        writer.write(&packet).unwrap();
    }
    writer.finish().unwrap();
    path
}

#[test]
fn every_beam_monitor_reaches_the_files_and_the_report() {
    let folder = tempfile::tempdir().unwrap();
    let (packets, truth) = packets();
    let input = capture(folder.path(), &packets);
    let config = workspace().join("configs/beam-monitors.toml");
    let place = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (nexus, csv, report) = (place("monitors.nxs"), place("events.csv"), place("report.json"));
    let (config, input) = (config.to_str().unwrap(), input.to_str().unwrap());
    let output = evforge(&[
        "run", "--config", config, "--input", input, "--nexus", &nexus, "--events", &csv, "--report", &report,
    ]);

    // The CSV: all events in order of time, each with its pulse.
    let lines = std::fs::read_to_string(&csv).unwrap();
    let mut expected: Vec<(u64, u32)> = truth.events.iter().flatten().copied().collect();
    expected.sort_unstable();
    let line = |&(time, pixel): &(u64, u32)| {
        let pulse = truth.pulses.iter().rfind(|&&pulse| pulse <= time).unwrap();
        format!("{time},{pixel},{pulse}")
    };
    let expected: Vec<String> = std::iter::once("time_ns,pixel_id,pulse_time_ns".to_owned())
        .chain(expected.iter().map(line))
        .collect();
    let same = lines.lines().zip(&expected).take_while(|(line, expected)| line == expected).count();
    assert_eq!(lines.lines().nth(same), expected.get(same).map(String::as_str), "line {same}");
    assert!(expected.len() > 300, "the test tests something");

    // The report.
    let report: Value = serde_json::from_slice(&std::fs::read(&report).unwrap()).unwrap();
    let stream = &report["streams"][0];
    assert_eq!(stream["unaccounted"], 0);
    for data in &truth.monitors {
        let name = &data.plan().name;
        let monitors = stream["beam_monitors"].as_array().unwrap();
        let said = monitors.iter().find(|monitor| monitor["name"] == json!(name)).unwrap();
        assert_eq!((&said["total"], &said["pulses"]), (&json!(data.total()), &json!(PULSES)), "{name}");
        assert_eq!((&said["below"], &said["above"]), (&json!(data.below()), &json!(data.above())), "{name}");
    }
    let line = format!("monitor_1: {} counts in 30 pulses", truth.monitors[0].total());
    assert!(text(&output.stdout).contains(&line) || text(&output.stderr).contains(&line), "{line}");

    // The NeXus file, with h5py and scippnexus.
    let Some(python) = python("every_beam_monitor_reaches_the_files_and_the_report") else { return };
    let names: Vec<&str> =
        stream["beam_monitors"].as_array().unwrap().iter().map(|m| m["name"].as_str().unwrap()).collect();
    let describe = |name: &&str| {
        let at = truth.monitors.iter().position(|data| data.plan().name == *name).unwrap();
        let (data, events) = (&truth.monitors[at], truth.events.get(at));
        let plan = data.plan();
        json!({
            "name": plan.name,
            "kind": plan.kind.name(),
            "detector_id": if at < 2 { i64::from(plan.first_pixel) } else { -(number_of(&names, name) as i64) },
            "edges": plan.histogram.edges_ns().collect::<Vec<_>>(),
            "counts": data.counts(),
            "below": data.below(),
            "above": data.above(),
            "readouts": data.readouts(),
            "pulses": data.pulses(),
            "pulse_times": truth.pulses,
            "times": events.map(|events| events.iter().map(|event| event.0).collect::<Vec<_>>()),
            "pixels": events.map(|events| events.iter().map(|event| event.1).collect::<Vec<_>>()),
        })
    };
    let expected: Vec<Value> = names.iter().map(describe).collect();
    let expectation = folder.path().join("expected.json");
    std::fs::write(&expectation, json!(expected).to_string()).unwrap();
    let output = Command::new(python)
        .arg(workspace().join("tests/python/test_nexus_readback.py"))
        .args(["monitors", &nexus, expectation.to_str().unwrap()])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
}

/// Number of a monitor in the file, from 1.
fn number_of(names: &[&str], name: &str) -> usize {
    names.iter().position(|other| *other == name).unwrap() + 1
}
