//! Captures in which not every frame is a whole packet: `run` names what it could not read, and does not end well if data
//! are lost with it.

use crate::common::{PROGRAM, evforge, text, workspace};
use evforge_testkit::{pkts_payloads, veth};
use std::path::Path;
use std::process::{Command, Output};

const PORT: u16 = 9000;

fn as_text(path: &Path) -> &str {
    path.to_str().expect("a path that is text")
}

/// Payloads of a simulated Gd-GEM.
fn payloads(folder: &Path) -> Vec<Vec<u8>> {
    let file = folder.join("simulated.pkts");
    let config = workspace().join("configs/gdgem-srs.toml");
    let arguments = ["simulate", "--pulses", "20", "--config", as_text(&config), "--output"];
    evforge(&[&arguments[..], &[as_text(&file)]].concat());
    pkts_payloads(&std::fs::read(&file).expect("a capture"))
}

/// A pcap file of Ethernet frames, of which at most `snap_length` bytes are there.
fn pcap(path: &Path, frames: &[Vec<u8>], snap_length: usize) {
    let mut file = Vec::new();
    for word in [0xA1B2_C3D4_u32, 0x0004_0002, 0, 0, 65_535, 1] {
        file.extend(word.to_le_bytes());
    }
    for (number, frame) in (0_u32..).zip(frames) {
        let kept = &frame[..frame.len().min(snap_length)];
        for word in [1_700_000_000, number, kept.len() as u32, frame.len() as u32] {
            file.extend(word.to_le_bytes());
        }
        file.extend(kept);
    }
    std::fs::write(path, file).expect("a folder to write to");
}

fn run(capture: &Path, more: &[&str]) -> Output {
    let config = workspace().join("configs/gdgem-srs.toml");
    let arguments = ["run", "--config", as_text(&config), "--input", as_text(capture)];
    Command::new(PROGRAM).args([&arguments[..], more].concat()).output().expect("the program starts")
}

#[test]
fn fragments_and_cut_packets_are_named_and_the_run_does_not_end_well() {
    let folder = tempfile::tempdir().unwrap();
    let payloads: Vec<_> = payloads(folder.path()).into_iter().take(100).collect();
    assert!(payloads.len() == 100 && payloads.iter().all(|payload| payload.len() > 18), "packets to be cut");
    let whole = |payload: &Vec<u8>| veth::udp(5, PORT, payload);
    let frames: Vec<_> = payloads.iter().map(whole).collect();
    let capture = folder.path().join("test.pcap");

    pcap(&capture, &frames, usize::MAX);
    let good = run(&capture, &[]);
    assert_eq!(good.status.code(), Some(0), "{}", text(&good.stderr));
    assert!(!text(&good.stdout).contains("not read"), "{}", text(&good.stdout));

    let fragments = payloads[4..].iter().flat_map(|payload| veth::fragments(7, PORT, payload));
    let mixed: Vec<_> = frames[..4].iter().cloned().chain(fragments).collect();
    pcap(&capture, &mixed, usize::MAX);
    let output = run(&capture, &[]);
    let report = text(&output.stdout);
    assert_eq!(output.status.code(), Some(3), "{report}");
    for expected in [
        "received 4, lost 0",
        "  not read    192 frames of the capture: fragments of UDP packets, which a capture does not join",
        "ALARM         192 of 196 frames of the capture were not read: fragments of UDP packets",
        "let the packets fit the MTU",
    ] {
        assert!(report.contains(expected), "{expected}\n{report}");
    }

    // In the payload, and before it.
    // Nothing of them can be used, which is worse than that something is missing.
    for (snap_length, line, alarm) in [
        (
            60,
            "100 packets cut by the snap length",
            "100 of 100 packets of the capture are cut by its snap length",
        ),
        (
            40,
            "100 frames of the capture: cut before their data",
            "100 of 100 frames of the capture were not read: cut",
        ),
    ] {
        pcap(&capture, &frames, snap_length);
        let output = run(&capture, &[]);
        let report = text(&output.stdout);
        assert_eq!(output.status.code(), Some(4), "{report}");
        assert!(report.contains(&format!("  not read    {line}")), "{report}");
        assert!(report.contains(&format!("ALARM         {alarm}")), "{report}");
        assert!(report.contains("record whole packets (tcpdump -s 0"), "{report}");
    }

    // What is somebody else's is named, and no alarm.
    let mut others = frames.clone();
    others.extend([veth::udp(5, PORT + 1, &payloads[0]), veth::echo_request()]);
    pcap(&capture, &others, usize::MAX);
    let output = run(&capture, &["--port", &PORT.to_string()]);
    let report = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{report}");
    assert!(report.contains("1 frames of the capture: of UDP to another port"), "{report}");
    assert!(report.contains("1 frames of the capture: of IP, but not UDP"), "{report}");
}
