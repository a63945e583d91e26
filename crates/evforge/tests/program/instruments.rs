//! Every instrument of `configs/` from UDP packets to a NeXus file that its users' programs read: h5py and
//! scippnexus, through `tests/python`.

mod ess_instruments;

use crate::common::{LiveProgram, evforge, python, text, workspace};
use ess_instruments::Neutrons;
use evforge_core::packet::{Packet, PacketOrigin};
use evforge_net::capture::PcapngWriter;
use evforge_testkit::{shared_folder, skip};
use evforge_wire::sonde::{Header, SondeEncoder, TriggerTime};
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::Command;

/// An instrument with packets for it.
struct Instrument {
    configuration: &'static str,
    packets: Packets,
    /// Sides of the detector in the file, slowest first.
    shape: &'static [usize],
}

enum Packets {
    /// A capture of the reference data.
    Recorded(&'static str),
    /// What `evforge simulate` makes for the configuration.
    Simulated,
    /// Neutrons by hand, in the ESS readout.
    ByHand(fn() -> Neutrons),
}

const INSTRUMENTS: &[Instrument] = &[
    Instrument {
        configuration: "gdgem-srs.toml",
        packets: Packets::Recorded("gdgem/vmm3a_srs.pcapng"),
        shape: &[128, 128],
    },
    Instrument { configuration: "gdgem-srs.toml", packets: Packets::Simulated, shape: &[128, 128] },
    Instrument { configuration: "gdgem-nmx.toml", packets: Packets::Simulated, shape: &[4, 640, 640] },
    Instrument {
        configuration: "multigrid.toml",
        packets: Packets::Recorded("multigrid/recorded_ws1to4.pkts"),
        shape: &[20, 40, 12],
    },
    Instrument {
        configuration: "multigrid.toml",
        packets: Packets::Recorded("multigrid/generated_jumbo.pkts"),
        shape: &[20, 40, 12],
    },
    Instrument {
        configuration: "multiblade.toml",
        packets: Packets::Recorded("multiblade/recorded_2018.pkts"),
        shape: &[192, 32],
    },
    Instrument {
        configuration: "nmx.toml",
        packets: Packets::ByHand(ess_instruments::nmx),
        shape: &[1280, 1280],
    },
    Instrument {
        configuration: "trex.toml",
        packets: Packets::ByHand(ess_instruments::trex),
        shape: &[16, 140, 384],
    },
    Instrument {
        configuration: "let.toml",
        packets: Packets::ByHand(ess_instruments::let_demonstrator),
        shape: &[16, 51, 12],
    },
    Instrument {
        configuration: "freia.toml",
        packets: Packets::ByHand(ess_instruments::freia),
        shape: &[1024, 64],
    },
    Instrument {
        configuration: "estia.toml",
        packets: Packets::ByHand(ess_instruments::estia),
        shape: &[128, 1536],
    },
    Instrument {
        configuration: "amor-ess.toml",
        packets: Packets::ByHand(ess_instruments::amor),
        shape: &[448, 64],
    },
    Instrument {
        configuration: "tblmb.toml",
        packets: Packets::ByHand(ess_instruments::tblmb),
        shape: &[448, 64],
    },
];

/// Those whose first side counts panels. Other first sides of three count layers, one behind the other.
const OF_PANELS: [&str; 1] = ["gdgem-nmx.toml"];

/// Checks the file with h5py and scippnexus against the events of a CSV file and, if there is one, against a file of
/// pulses.
fn read_back(python: &Path, nexus: &Path, events: &Path, shape: &[usize], pulses: Option<&Path>, name: &str) {
    let mut command = Command::new(python);
    command
        .arg(workspace().join("tests/python/test_nexus_readback.py"))
        .args(["instrument".as_ref(), nexus.as_os_str(), events.as_os_str()])
        .args(shape.iter().map(usize::to_string));
    if shape.len() == 3 && !OF_PANELS.contains(&name) {
        command.arg("--layers");
    }
    if let Some(pulses) = pulses {
        command.arg("--pulses").arg(pulses);
    }
    let output = command.output().expect("Python starts");
    assert!(output.status.success(), "{name}: {}{}", text(&output.stdout), text(&output.stderr));
}

fn packets(test: &str, instrument: &Instrument, folder: &Path) -> Option<PathBuf> {
    match instrument.packets {
        Packets::Recorded(name) => {
            let path = shared_folder().join("captures").join(name);
            if !path.is_file() {
                skip(test, &format!("{} is not there", path.display()));
                return None;
            }
            Some(path)
        }
        Packets::Simulated => {
            let path = folder.join("simulated.pcapng");
            let config = workspace().join("configs").join(instrument.configuration);
            let (config, output) = (config.to_str()?, path.to_str()?);
            evforge(&["simulate", "--config", config, "--pulses", "20", "--output", output]);
            Some(path)
        }
        Packets::ByHand(make) => {
            let path = folder.join("by-hand.pcapng");
            let mut writer = PcapngWriter::create(&path).expect("a capture");
            for packet in make().packets() {
                let original_length = packet.len() as u32;
                let packet = Packet { bytes: &packet, original_length, origin: PacketOrigin::default() };
                writer.write(&packet).expect("a packet");
            }
            writer.finish().expect("a whole capture");
            Some(path)
        }
    }
}

#[test]
fn every_instrument_writes_a_file_that_its_users_can_read() {
    let test = "every_instrument_writes_a_file_that_its_users_can_read";
    let Some(python) = python(test) else { return };
    for instrument in INSTRUMENTS {
        let name = instrument.configuration;
        let folder = tempfile::tempdir().unwrap();
        let Some(capture) = packets(test, instrument, folder.path()) else { continue };
        let capture = capture.to_str().unwrap();
        let config = workspace().join("configs").join(name);
        let nexus = folder.path().join("live.nxs");
        let live = LiveProgram::start(&config, folder.path(), &["--nexus", nexus.to_str().unwrap()]);
        evforge(&["replay", capture, "--to", &live.address, "--rate", "2kpps"]);
        let (stream, events) = live.finish();
        let counted = stream["events"].as_u64().unwrap();
        assert!(counted > 0 && counted == events.lines().count() as u64 - 1, "{name}: {counted} events");
        assert_eq!(stream["unaccounted"], 0, "{name}");
        assert_eq!(
            stream["packets"]["locations"],
            serde_json::json!({}),
            "{name}: packets were lost on this host"
        );

        let from_file = folder.path().join("file.csv");
        evforge(&[
            "run",
            "--config",
            config.to_str().unwrap(),
            "--input",
            capture,
            "--events",
            from_file.to_str().unwrap(),
        ]);
        assert!(events == std::fs::read_to_string(&from_file).unwrap(), "{name}: live and file differ");

        let pulses = match instrument.packets {
            Packets::ByHand(make) => {
                let path = folder.path().join("pulses.json");
                std::fs::write(&path, make().expected().to_string()).unwrap();
                Some(path)
            }
            Packets::Recorded(_) | Packets::Simulated => None,
        };
        read_back(&python, &nexus, &from_file, instrument.shape, pulses.as_deref(), name);
    }
}

/// 400 modules, of which 100 boards send for 2 x 2 each: told apart by the address they send from. Every pixel
/// gets one neutron.
#[test]
fn the_full_sonde_puts_every_pixel_of_400_modules_where_it_is() {
    let test = "the_full_sonde_puts_every_pixel_of_400_modules_where_it_is";
    let Some(python) = python(test) else { return };
    let folder = tempfile::tempdir().unwrap();
    let nexus = folder.path().join("live.nxs");
    let address = |group: usize| format!("127.0.7.{}", group + 1);
    let groups: Vec<String> = (0..100)
        .map(|group| {
            let (x, y) = (group % 10 * 16, group / 10 * 16);
            format!("{{ address = \"{}\", x = {x}, y = {y} }}", address(group))
        })
        .collect();
    let groups = format!("sonde.groups=[{}]", groups.join(", "));
    let config = workspace().join("configs/sonde.toml");
    let live =
        LiveProgram::start(&config, folder.path(), &["--nexus", nexus.to_str().unwrap(), "--set", &groups]);
    let mut encoder = SondeEncoder::default();
    for group in 0..100 {
        let socket = UdpSocket::bind((address(group), 0)).unwrap();
        for system in 0..4_u8 {
            let time = 1_000_000 + group as u32 * 100;
            let header = Header { system, time, ..Header::default() };
            encoder.begin_trigger_times(&header);
            for channel in 0..64 {
                // Channels 0 to 15 of the four ASICs.
                let asic_channel = ((channel / 16) << 6) + channel % 16;
                assert!(encoder.push_trigger_time(&TriggerTime { time, asic_channel }));
            }
            socket.send_to(encoder.packet(), &live.address).unwrap();
        }
    }
    let events = folder.path().join("live.csv");
    let (stream, lines) = live.finish();
    assert_eq!((&stream["events"], &stream["unaccounted"]), (&25_600.into(), &0.into()), "{stream:#}");
    let mut pixels: Vec<u32> =
        lines.lines().skip(1).map(|line| line.split(',').nth(1).unwrap().parse().unwrap()).collect();
    pixels.sort_unstable();
    assert!(pixels.into_iter().eq(1..=25_600), "one neutron in every pixel");
    read_back(&python, &nexus, &events, &[160, 160], None, "sonde");
}
