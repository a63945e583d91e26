//! Mean values of sampled channels as CSV, from a capture and live, with the reference's packets (EFU formats of
//! 2018, section 5).

use crate::common::{LiveProgram, PROGRAM, evforge, text, workspace};
use evforge_core::packet::{PacketOrigin, PacketSlab};
use evforge_net::capture::PktsWriter;
use evforge_testkit::shared_file;
use std::path::Path;
use std::process::Command;

const AVERAGING: [&str; 4] =
    ["--set", "adc_readout.averaging.samples=10", "--set", "adc_readout.averaging.time_stamp='end'"];

/// The lines of a packet with one run of samples that are sums of four, from what stands at which byte of it.
fn expected(packet: &[u8]) -> Vec<String> {
    let short = |at: usize| u64::from(u16::from_be_bytes([packet[at], packet[at + 1]]));
    let long = |at: usize| (short(at) << 16) | short(at + 2);
    let (channel, seconds, fraction) = (short(14), long(18), long(22));
    assert_eq!(short(16), 4, "another oversampling");
    let samples: Vec<u64> = (0..(short(12) as usize - 20) / 2).map(|n| short(26 + 2 * n)).collect();
    let line = |(mean, samples): (usize, &[u64])| {
        // The first sample is of three ticks before the run's time; the last tick of forty is 39 later.
        let tick = fraction - 3 + 40 * mean as u64 + 39;
        let (seconds, tick) = (seconds + tick / 44_026_250, tick % 44_026_250);
        let time = seconds * 1_000_000_000 + (tick as f64 / 44_026_250.0 * 1e9).round() as u64;
        format!("{channel},{time},{}", samples.iter().sum::<u64>() / 40)
    };
    samples.chunks_exact(10).enumerate().map(line).collect()
}

fn write_capture(path: &Path, packets: &[Vec<u8>]) {
    let mut slab = PacketSlab::new(packets.len(), packets.iter().map(Vec::len).sum());
    for packet in packets {
        assert!(slab.push(packet, packet.len(), PacketOrigin::default()));
    }
    let mut writer = PktsWriter::create(path).expect("a capture");
    for packet in slab.batch().iter() {
        writer.write(&packet).expect("a capture that can be written");
    }
    writer.finish().expect("a capture that can be written");
}

#[test]
fn section_5_mean_values_of_the_reference_s_packets_from_a_file_and_live() {
    let test = "section_5_mean_values_of_the_reference_s_packets_from_a_file_and_live";
    let read = |name: &str| shared_file(test, &format!("vectors/adc_readout/{name}.bin"));
    let (Some(second), Some(idle), Some(template)) =
        (read("test_packet_2"), read("test_packet_idle"), read("integration_template"))
    else {
        return;
    };
    let lines: Vec<String> = ["channel,time_ns,mean".to_owned()]
        .into_iter()
        .chain(expected(&second))
        .chain(expected(&template))
        .collect();
    assert_eq!(lines.len(), 1 + 457 + 446);
    let folder = tempfile::tempdir().unwrap();
    let capture = folder.path().join("adc.pkts");
    write_capture(&capture, &[second, idle, template]);
    let capture = capture.to_str().unwrap();
    let config = workspace().join("configs/adc-readout.toml");
    let written = |path: &Path| -> Vec<String> {
        std::fs::read_to_string(path).expect("mean values").lines().map(str::to_owned).collect()
    };

    for threads in ["input.threads=1", "input.threads=2"] {
        let (means, report) = (folder.path().join("file.csv"), folder.path().join("file.json"));
        let mut arguments = vec!["run", "--config", config.to_str().unwrap(), "--input", capture];
        arguments.extend(["--samples", means.to_str().unwrap(), "--report", report.to_str().unwrap()]);
        arguments.extend(AVERAGING.into_iter().chain(["--set", threads]));
        evforge(&arguments);
        assert!(written(&means) == lines, "{threads}");
        let report: serde_json::Value = serde_json::from_slice(&std::fs::read(&report).unwrap()).unwrap();
        let sink = report["sinks"]
            .as_array()
            .and_then(|sinks| {
                sinks.iter().find(|sink| {
                    sink["name"].as_str().is_some_and(|name| name.starts_with("averaged waveforms"))
                })
            })
            .expect("their sink");
        assert_eq!((&sink["taken"], &sink["dropped"]), (&903.into(), &0.into()), "{sink:#}");
    }

    let means = folder.path().join("live-means.csv");
    let further: Vec<&str> = ["--samples", means.to_str().unwrap()].into_iter().chain(AVERAGING).collect();
    let live = LiveProgram::start(&config, folder.path(), &further);
    evforge(&["replay", capture, "--to", &live.address, "--rate", "100pps"]);
    let (stream, _) = live.finish();
    assert_eq!((&stream["events"], &stream["unaccounted"]), (&2.into(), &0.into()), "{stream:#}");
    assert!(written(&means) == lines, "live");
}

#[test]
fn mean_values_that_the_configuration_does_not_make_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let means = folder.path().join("means.csv");
    let capture = folder.path().join("adc.pkts");
    write_capture(&capture, &[Vec::new()]);
    let output = Command::new(PROGRAM)
        .args(["run", "--config"])
        .arg(workspace().join("configs/adc-readout.toml"))
        .args(["--input".as_ref(), capture.as_os_str(), "--samples".as_ref(), means.as_os_str()])
        .output()
        .expect("the program starts");
    let said = text(&output.stderr);
    assert!(said.contains("the configuration has no section [adc_readout.averaging]"), "{said}");
    assert!(!output.status.success() && !means.exists());
}
