//! Figure 10 of the EFU paper: times of flight at V20 before and after a chopper, with the pulses on a channel of the same
//! readout. What the page shows is what the neutrons were, bin for bin.
#![allow(clippy::unwrap_used)]

use crate::common::{PROGRAM, evforge, send_signal, wait_until, workspace};
use crate::page_json::ask;
use crate::viewed_file::ViewedFile;
use evforge_core::pulse::PulseTrain;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Pulses on channel 3, whose runs come 3 ms behind those of the neutrons; a chopper in front of channel 1.
const SETTINGS: [&str; 7] = [
    "pulses.frequency=14Hz",
    "pulses.channel=3",
    "pulses.threshold=1000",
    "simulation.adc_readout.pulse_latency=3ms",
    "simulation.beam.image=\"flat\"",
    "simulation.beam.chopper.open=[[\"15ms\", \"20ms\"], [\"35.5ms\", \"40ms\"]]",
    "simulation.beam.chopper.columns=[1]",
];

/// The windows in which the chopper is open, in nanoseconds.
const OPEN: [(u64, u64); 2] = [(15_000_000, 20_000_000), (35_500_000, 40_000_000)];

/// A tick of the converter is 22.7 ns; event and pulse are rounded to one each.
const SAMPLING_NS: u64 = 24;

fn settings() -> Vec<&'static str> {
    SETTINGS.iter().flat_map(|setting| ["--set", setting]).collect()
}

/// Neutrons of the truth: pixel, time since their pulse, and whether they can be found.
fn flights(truth: &Path) -> Vec<(u32, u64, bool)> {
    let train = PulseTrain::ess();
    let text = std::fs::read_to_string(truth).unwrap();
    let flight = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        let at = train.locate(cells[1].parse().unwrap()).unwrap();
        (cells[2].parse().unwrap(), at.time_of_flight_ns, cells.last() == Some(&"1"))
    };
    text.lines().skip(1).map(flight).collect()
}

/// The spectra of channels 0 and 1 that a page shows: the width of a bin, and counts.
fn spectra(page: &str) -> (u64, [Vec<u64>; 2]) {
    let path = "/api/spectrum.json?region=before;rectangle;0,0;1,1&region=after;rectangle;1,0;2,1";
    let answer = ask(page, path);
    let counts = |region: usize| -> Vec<u64> {
        answer["regions"][region]["counts"].as_array().unwrap().iter().filter_map(Value::as_u64).collect()
    };
    (answer["bin_ns"].as_u64().unwrap(), [0, 1].map(counts))
}

/// Compares the spectra with the truth, bin for bin up to `until_ns`: neutrons closer to the edge of a bin than the sampling
/// says may be on either side of it.
fn compare(page: &str, truth: &[(u32, u64, bool)], until_ns: u64) {
    let (bin_ns, shown) = spectra(page);
    let bins = (until_ns / bin_ns) as usize;
    let expected = [1, 2].map(|pixel| {
        let (mut least, mut most) = (vec![0; shown[0].len() + 1], vec![0; shown[0].len() + 1]);
        for &(_, flight, can_be_found) in truth.iter().filter(|neutron| neutron.0 == pixel) {
            let from = flight.saturating_sub(SAMPLING_NS) / bin_ns;
            let to = (flight + SAMPLING_NS) / bin_ns;
            (from..=to).for_each(|bin| most[bin as usize] += 1);
            least[from as usize] += u64::from(from == to && can_be_found);
        }
        (least, most)
    });
    // Those that came last may be on their way into the picture; others that cannot be found for certain are in it already.
    let has_all =
        |counts: &[u64], least: &[u64]| counts[..bins].iter().zip(least).all(|(found, least)| found >= least);
    wait_until("all neutrons are in the spectra", || {
        spectra(page).1.iter().zip(&expected).all(|(counts, (least, _))| has_all(counts, least))
    });
    let (_, shown) = spectra(page);
    for (pixel, (counts, (least, most))) in (1..).zip(shown.iter().zip(&expected)) {
        for bin in 0..bins {
            let (found, range) = (counts[bin], least[bin]..=most[bin]);
            assert!(range.contains(&found), "pixel {pixel}, bin {bin}: {found} for {range:?}");
        }
    }
    let [before, after] = shown;
    // After the chopper only the openings are left; before it there is everything.
    let is_open = |bin: usize| {
        let (from, to) = (bin as u64 * bin_ns, (bin as u64 + 1) * bin_ns);
        OPEN.iter().any(|&(open, shut)| from < shut + SAMPLING_NS && to + SAMPLING_NS > open)
    };
    let of = |counts: &[u64], open: bool| -> u64 {
        (0..bins).filter(|&bin| is_open(bin) == open).map(|bin| counts[bin]).sum()
    };
    assert_eq!(of(&after, false), 0, "neutrons while the chopper is shut: {after:?}");
    for (open, shut) in OPEN {
        let through: u64 = after[(open / bin_ns) as usize..(shut / bin_ns) as usize].iter().sum();
        assert!(through > 100, "{through} in the opening from {open} ns on");
    }
    let (shut, open) = (of(&before, false), of(&before, true));
    assert!(shut > open && open > 1000, "before it {shut} while it is shut and {open} while it is open");
}

/// A live run with a page; killed when it is dropped.
struct LivePage {
    child: Child,
    address: String,
    page: String,
}

impl Drop for LivePage {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl LivePage {
    fn start(report: &Path) -> Self {
        let mut command = Command::new(PROGRAM);
        command.args(["run", "--address", "127.0.0.1", "--port", "0", "--for", "10min"]);
        command.args(["--view", "127.0.0.1:0", "--config"]).arg(workspace().join("configs/adc-readout.toml"));
        command.args(settings()).arg("--report").arg(report).env_remove("EVFORGE_VIEW");
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let (mut said, mut address, mut page) = (String::new(), None, None);
        while address.is_none() || page.is_none() {
            let Some(line) = lines.next() else { panic!("the program does not receive: {said}") };
            said += &line;
            let behind = |words: &str| line.split_once(words).map(|(_, rest)| rest.trim().to_owned());
            address = address.or(behind("receiving at UDP "));
            page = page.or(behind("live view at http://"));
        }
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, address: address.unwrap(), page: page.unwrap() }
    }

    /// Ends the run.
    fn end(&mut self) {
        send_signal(self.child.id(), "INT");
        assert!(self.child.wait().unwrap().success());
    }
}

#[test]
fn figure_10_after_a_chopper_only_its_openings_are_left() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let load = [&["simulate", "adc-readout", "--neutrons", "20kHz"], &settings()[..]].concat();

    // Over UDP, while it is sent.
    let mut live = LivePage::start(Path::new(&path("report.json")));
    let truth = path("live.csv");
    evforge(&[&load[..], &["--pulses", "21", "--to", &live.address, "--truth", &truth]].concat());
    let truth = flights(Path::new(&truth));
    // Those of the end of the last pulse wait for what may come before them.
    let all = truth.iter().filter(|neutron| neutron.2).count() as u64;
    let counted = |state: &Value| state.pointer("/streams/0/events").and_then(Value::as_u64);
    let events = || ask(&live.page, "/api/state.json")["events"].as_u64().unwrap_or(0);
    wait_until("nearly all events are shown", || events() > all - all / 100);
    compare(&live.page, &truth, 55_000_000);
    live.end();
    let report: Value = serde_json::from_slice(&std::fs::read(path("report.json")).unwrap()).unwrap();
    let stream = &report["streams"][0];
    assert_eq!((stream["unaccounted"].as_u64(), counted(&report)), (Some(0), Some(all)), "{stream:#}");

    // From a capture, through a NeXus file, all of it.
    let truth = path("truth.csv");
    evforge(&[&load[..], &["--pulses", "42", "--output", &path("run.pcapng"), "--truth", &truth]].concat());
    let config = workspace().join("configs/adc-readout.toml");
    let run = ["run", "--quiet", "--config", config.to_str().unwrap(), &path("run.pcapng")];
    evforge(&[&run[..], &["--nexus", &path("run.nxs")], &settings()].concat());
    let viewed = ViewedFile::start(Path::new(&path("run.nxs")), &[]);
    viewed.until_complete();
    compare(&viewed.page, &flights(Path::new(&truth)), 71_000_000);
}
