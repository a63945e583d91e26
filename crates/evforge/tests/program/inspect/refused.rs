//! What has no configuration is refused by its name; several detectors have one each; peculiarities are named with the key
//! that reads them.

use super::made::{after, ess, freia, pkts};
use super::{evforge, evforge_any, in_text, inspected, placed, text};
use evforge_wire::ess::{EssTime, R5560Fields, Vmm3aFields};
use evforge_wire::numbered::NumberedHeader;

/// Records of a size that states itself.
fn of(size: u8) -> Vec<u8> {
    let mut record = vec![0; usize::from(size)];
    record[2] = size;
    record.repeat(5)
}

#[test]
fn packets_without_a_configuration_are_named_and_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (name, packet, named) in [
        ("heartbeat", ess(0x60, 0, 0, 0, &[]), "0x60 DREAM: heartbeats only"),
        ("dream", ess(0x60, 0, 0, 0, &of(16)), "0x60 DREAM: CDT records of 16 bytes"),
        ("skadi", ess(0x20, 0, 0, 0, &of(20)), "0x20 SKADI: SKADI records of 20 bytes"),
        ("strange", ess(0x44, 0, 0, 0, &[9; 30]), "records of an unknown kind"),
        ("none", b"no format that anyone knows".to_vec(), "unknown"),
        ("link", NumberedHeader::default().bytes().to_vec(), "numbered packets of `evforge send`"),
    ] {
        let capture = pkts(folder.path(), name, &[packet]);
        let title = inspected(&capture)["streams"][0]["title"].clone();
        assert!(title.as_str().is_some_and(|title| title.contains(named)), "{title} is not {named}");
        let skeleton = folder.path().join("skeleton.toml");
        let output = evforge_any(&["inspect", in_text(&capture), "--config-skeleton", in_text(&skeleton)]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(if name == "none" { 4 } else { 1 }), "{name}: {said}");
        assert!(said.contains("no configuration can be written for") && said.contains(named), "{said}");
        assert!(!skeleton.exists());
    }
}

#[test]
fn vmm3a_under_the_type_of_loki_is_a_multi_grid() {
    let folder = tempfile::tempdir().unwrap();
    let capture = pkts(folder.path(), "let", &[ess(0x30, 0, 0, 0, &freia(0, 20))]);
    let title = inspected(&capture)["streams"][0]["title"].clone();
    assert!(
        title.as_str().is_some_and(|title| title.contains("0x30 LOKI: VMM3a records of 20 bytes")),
        "{title}"
    );
    assert_eq!(inspected(&capture)["streams"][0]["configurations"][0], "configs/let.toml");
}

/// As in recordings of CSPEC and MIRACLES: up to eleven queues, empty packets of another type between them, and what else is on the wire.
#[test]
fn tubes_behind_many_queues_have_a_configuration_that_reads_all_of_them() {
    let folder = tempfile::tempdir().unwrap();
    for (detector_type, queues, named) in [(0x3C, 2, "CSPEC"), (0x38, 11, "MIRACLES")] {
        let mut packets = Vec::new();
        for pulse in 0..20_u32 {
            for queue in 0..queues {
                let tube = |fibre: u8| R5560Fields {
                    fibre,
                    group: queue,
                    charges: [2000 + 100 * pulse as u16, 9000, 0, 0],
                    time: after(pulse),
                    ..Default::default()
                };
                packets.push(ess(
                    detector_type,
                    queue,
                    pulse,
                    pulse,
                    &[tube(0).encode(), tube(3).encode()].concat(),
                ));
                packets.push(ess(0x60, queue, pulse, pulse, &[]));
            }
            // A beacon of EPICS.
            packets
                .push([&[0, 13, 0, 0, 0, 13, 0x13, 0xC8], &pulse.to_be_bytes()[..], &[10, 0, 0, 1]].concat());
        }
        let capture = pkts(folder.path(), named, &packets);
        let file = folder.path().join(format!("{named}.toml"));
        let said = evforge_any(&["inspect", in_text(&capture), "--config-skeleton", in_text(&file)]);
        let said = text(&said.stdout) + &text(&said.stderr);
        assert!(said.contains(named) && said.contains("0x60 DREAM: heartbeats only"), "{said}");
        assert_eq!(placed(&file, &capture, folder.path()).0, 2 * 20 * u64::from(queues), "{said}");
    }
}

/// As at AMOR: Multi-Blade and beam monitors on one port, at 23 Hz, from one sender.
#[test]
fn a_detector_and_its_beam_monitors_on_one_port_share_a_configuration() {
    let folder = tempfile::tempdir().unwrap();
    let mut packets = super::made::beam_monitors();
    packets.extend((0..20).map(|pulse| ess(0x48, 1, pulse, pulse, &freia(pulse, 20))));
    let capture = pkts(folder.path(), "amor", &packets);
    let found = inspected(&capture);
    let titles: Vec<_> = found["streams"].as_array().unwrap().iter().map(|stream| &stream["title"]).collect();
    assert_eq!(titles.len(), 2, "{titles:?}");
    let said = text(&evforge(&["inspect", in_text(&capture)]).stdout);
    assert!(said.contains("20 pulses, 23.000 Hz"), "{said}");

    // One configuration for both: 80 hits of the detector, 16 neutrons and 8 sums of the monitors.
    let file = folder.path().join("amor.toml");
    evforge(&["inspect", in_text(&capture), "--config-skeleton", in_text(&file)]);
    let written = std::fs::read_to_string(&file).unwrap();
    assert!(
        written.contains("pulse_period = \"43478266ns\"") && written.contains("wires = \"odd\""),
        "{written}"
    );
    assert!(written.contains("[ess_beam_monitors]\ntype = 0x10\nring = 11"), "{written}");
    assert_eq!(placed(&file, &capture, folder.path()), (96, 8), "{written}");

    // What is there may have been edited.
    std::fs::write(&file, "edited").unwrap();
    let output = evforge_any(&["inspect", in_text(&capture), "--config-skeleton", in_text(&file)]);
    assert!(output.status.code() == Some(1) && text(&output.stderr).contains("amor.toml exists"));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "edited");
}

/// As at a desk with two detectors: each has a file of its own.
#[test]
fn detectors_that_cannot_share_a_configuration_have_one_each() {
    let folder = tempfile::tempdir().unwrap();
    let mut packets = super::made::sampled_channels();
    packets.extend((0..20).map(|pulse| ess(0x48, 1, pulse, pulse, &freia(pulse, 20))));
    let capture = pkts(folder.path(), "two", &packets);
    let file = folder.path().join("two.toml");
    let said = evforge(&["inspect", in_text(&capture), "--config-skeleton", in_text(&file)]);
    let (first, second) = (folder.path().join("two-1.toml"), folder.path().join("two-2.toml"));
    assert!(!file.exists() && text(&said.stderr).contains("two-2.toml"));
    assert_eq!(placed(&first, &capture, folder.path()).0, 80);
    assert!(placed(&second, &capture, folder.path()).0 > 0);
    let output = evforge_any(&["inspect", in_text(&capture), "--config-skeleton", "-"]);
    assert!(output.status.code() == Some(1) && text(&output.stderr).contains("there are 2 detectors"));
}

#[test]
fn lengths_in_bits_and_broken_rules_are_named_with_their_key() {
    let folder = tempfile::tempdir().unwrap();
    let mut packet = ess(0x48, 0, 0, 0, &freia(0, 160));
    let length = packet.len() as u16 + 8;
    packet[6..8].copy_from_slice(&length.to_le_bytes());
    packet[9] = 0x02;
    let capture = pkts(folder.path(), "bits", &[packet]);
    let said = text(&evforge(&["inspect", in_text(&capture)]).stdout);
    assert!(
        said.contains("4 records state their length in bits, 1 headers state 8 bytes too many"),
        "{said}"
    );
    assert!(said.contains("ess.accept = [\"record_length_in_bits\"]"), "{said}");
    assert!(said.contains("ess.accept = [\"timing\"]"), "{said}");
    let skeleton = evforge(&["inspect", in_text(&capture), "--config-skeleton", "-"]);
    let written = text(&skeleton.stdout);
    assert!(written.contains("accept = [\"record_length_in_bits\", \"timing\"]"), "{written}");
    let file = folder.path().join("bits.toml");
    std::fs::write(&file, written).unwrap();
    assert_eq!(placed(&file, &capture, folder.path()).0, 4);
}

#[test]
fn fractions_of_another_clock_are_named_and_read() {
    let folder = tempfile::tempdir().unwrap();
    let time = EssTime { seconds: 1_700_000_000, ticks: 88_886_504 };
    let record = Vmm3aFields { vmm: 1, channel: 20, adc: 200, time, ..Default::default() };
    let capture = pkts(folder.path(), "clock", &[ess(0x48, 0, 0, 0, &record.encode().repeat(3))]);
    let said = text(&evforge(&["inspect", in_text(&capture)]).stdout);
    assert!(said.contains("3 readouts have a few more ticks than a second"), "{said}");
    assert!(said.contains("ess.max_fraction = 88886504"), "{said}");
}
