//! Simulated boards of ISIS through the configured pipeline: events and frames are those of the truth, with every board and
//! in both versions; and what faults take away shows in the frames.

use evforge_config::Config;
use evforge_core::frame::FrameState;
use evforge_lab::simulation::{FormedSimulation, form_simulation};
use std::collections::BTreeMap;

const HEADER: &str = "BRD_NUM,BRD_Ref,BRD_Type,Packet_Type,SW_Pos,StreamingIP,CH,Mantid_DetectorID_Start,Mantid_Detector_ID_Lenght,Comment";

/// Two rows of each board.
const ROWS: [(&str, &str); 3] = [
    (
        "MADC",
        "0,ADC0,PC3544MS,Position,0,192.168.1.3,0,11101001,256,\n\
         0,ADC0,PC3544MS,Position,0,192.168.1.3,5,11106001,256,\n",
    ),
    (
        "LVDS",
        "0,LVDS0,PC3634M1S,DIM_OUT,0,192.168.1.4,0,5,64,\n1,LVDS1,PC3634M1S,DIM_OUT,1,192.168.1.5,0,69,64,\n",
    ),
    (
        "WLSF",
        "0,WLSF0,PC3877MS,Position,0,192.168.1.6,0,1000,512,\n1,WLSF1,PC3877MS,Position,1,192.168.1.7,0,1512,100,\n",
    ),
];

/// A configuration with this section and this wiring table, changed by `overrides`.
fn config(section: &str, rows: &str, overrides: &[&str]) -> Config {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("wiring.csv"), format!("{HEADER}\n{rows}")).expect("a wiring table");
    let text = format!(
        "name = \"boards\"\n[pulses]\nfrequency = \"50Hz\"\n[isis]\n{section}\n\
         [simulation]\nseed = 7\nstart = \"fixed\"\n[simulation.beam]\nneutrons = \"20kHz\"\n"
    );
    let overrides: Vec<String> = overrides.iter().map(|&change| change.to_owned()).collect();
    Config::parse(&folder.path().join("boards.toml"), &text, &overrides).expect("a configuration")
}

const VERSION_1: &str = "format = \"v1\"\nwiring = \"wiring.csv\"\ncontrol_board = \"192.168.1.2\"\n\
                         tick = { wlsf = \"20ns\", madc = \"20ns\", lvds = \"20ns\" }";

/// Boards of version 2 of one kind and another, and the control board.
const VERSION_2: &str = "format = \"v2\"\npixels = { first_id = 1000, nx = 100, ny = 9 }\n\
    board = [\n\
    { source = \"10.0.0.3\", pcb = 3877, address = 1, name = \"WLSF\" },\n\
    { source = \"10.0.0.3\", pcb = 3544, address = 2, name = \"MADC\" },\n\
    { source = \"10.0.0.4\", pcb = 3634, address = 3, name = \"LVDS\" },\n\
    { source = \"10.0.0.2\", pcb = 77, name = \"control\" },\n]";

/// What the detector has counted.
fn counted(formed: &FormedSimulation) -> String {
    let counters = formed.detector.ledger().counters;
    let counted = counters.iter().filter(|(_, count)| *count > 0);
    counted.map(|(counter, count)| format!("{} {count}\n", counter.name)).collect()
}

/// Each neutron that is sent is an event of its pulse, in the tick that it came in, and nothing else is.
fn check_events(formed: &FormedSimulation, name: &str) {
    let tick = |time_ns: u64| time_ns / 20 * 20;
    let sent = formed.truth.iter().filter(|neutron| neutron.resolvable);
    let mut truth: Vec<_> = sent.map(|neutron| (tick(neutron.time_ns), neutron.pixel_id)).collect();
    let mut events: Vec<_> =
        formed.events.events().map(|event| (tick(event.time_ns), event.pixel_id)).collect();
    truth.sort_unstable();
    events.sort_unstable();
    assert!(truth.len() > 3000, "{name}: {} neutrons", truth.len());
    let counters = counted(formed);
    assert!(events == truth, "{name}: {} events of {} neutrons\n{counters}", events.len(), truth.len());
}

/// Each frame that was sent is there, with its period, vetoes and charge, and is known to be complete.
fn check_frames(formed: &FormedSimulation, name: &str) {
    let ledger = formed.detector.ledger();
    assert_eq!(ledger.unaccounted(), 0, "{name}");
    let frames = ledger.frames.expect("a readout with frames");
    assert_eq!(frames.all.raw, formed.frames.len() as u64, "{name}");
    assert_eq!(
        frames.in_state(FrameState::Complete),
        frames.all.raw,
        "{name}: {:?}\n{}",
        frames.states,
        counted(formed)
    );
    assert_eq!(frames.all.raw_events, formed.frames.iter().map(|frame| frame.events).sum::<u64>(), "{name}");
    let charge = formed.frames.iter().map(|frame| f64::from(frame.protons) * 1.738e-6).sum::<f64>();
    assert!((frames.all.raw_charge.uah - charge).abs() < 1e-9, "{name}: {:?}", frames.all.raw_charge);
    let mut periods: BTreeMap<usize, (u64, u64)> = BTreeMap::new();
    let mut vetoes: BTreeMap<u8, u64> = BTreeMap::new();
    for frame in &formed.frames {
        let period = periods.entry(usize::from(frame.period)).or_default();
        *period = (period.0 + 1, period.1 + frame.events);
        for bit in (0..32_u8).filter(|bit| frame.vetoes >> bit & 1 == 1) {
            *vetoes.entry(bit).or_default() += 1;
        }
    }
    let found = frames.periods.iter().map(|period| (period.raw, period.raw_events)).enumerate();
    assert_eq!(found.collect::<BTreeMap<_, _>>(), periods, "{name}");
    let found = frames.vetoes.iter().filter(|veto| veto.frames > 0).map(|veto| (veto.bit, veto.frames));
    assert_eq!(found.collect::<BTreeMap<_, _>>(), vetoes, "{name}");
    // The pulses of the events are the frames' reference times.
    let pulses: Vec<_> = formed.events.pulses().iter().filter_map(|pulse| pulse.time_ns).collect();
    let times: Vec<_> = formed.frames.iter().map(|frame| frame.reference_ns).collect();
    assert_eq!(pulses, times, "{name}");
}

/// Periods, vetoes that do and do not act, frames spread over small datagrams, and padding.
const MUCH_AT_ONCE: [&str; 6] = [
    "simulation.isis.periods=3",
    "simulation.isis.frames_per_period=2",
    "simulation.isis.veto=[{bit=1, every=5}, {bit=4, every=7, hard=true}, {bit=3, probability=0.2}]",
    "simulation.isis.events_per_message=17",
    "simulation.isis.datagram_bytes=600",
    "simulation.isis.padding=9",
];

#[test]
fn every_board_of_version_1_gives_the_events_and_frames_of_the_truth() {
    let all: String = ROWS.iter().map(|(_, rows)| *rows).collect();
    for (name, rows) in ROWS.into_iter().chain([("all", all.as_str())]) {
        for overrides in [&[][..], &MUCH_AT_ONCE] {
            let formed = form_simulation(&config(VERSION_1, rows, overrides), 15).unwrap();
            check_events(&formed, name);
            check_frames(&formed, name);
        }
    }
}

#[test]
fn boards_of_version_2_give_the_events_and_frames_of_the_truth_whatever_the_delay() {
    let not_listed = "format = \"v2\"\npixels = { first_id = 0, nx = 64, ny = 16 }";
    for section in [VERSION_2, not_listed] {
        for delay in ["0us", "400us", "30ms"] {
            let delay = format!("simulation.isis.frame_sync_delay={delay}");
            for bit_order in ["isis.bit_order=lsb", "isis.bit_order=msb"] {
                let overrides = [&[delay.as_str(), bit_order], &MUCH_AT_ONCE[..]].concat();
                let formed = form_simulation(&config(section, "", &overrides), 15).unwrap();
                check_events(&formed, &delay);
                check_frames(&formed, &delay);
            }
        }
    }
}

#[test]
fn frames_of_10_and_100_ms_and_silent_boards() {
    for (frequency, pulses) in [("pulses.frequency=100Hz", 30), ("pulses.frequency=10Hz", 4)] {
        let formed = form_simulation(&config(VERSION_2, "", &[frequency]), pulses).unwrap();
        check_events(&formed, frequency);
        check_frames(&formed, frequency);
    }
}

/// What is lost or damaged shows in the frames; what comes twice or in another order changes nothing.
#[test]
fn faults_show_in_the_frames_and_no_event_comes_twice() {
    for (fault, loses) in [
        ("{ kind = \"lose\", probability = 0.1 }", true),
        ("{ kind = \"truncate\", probability = 0.1 }", true),
        ("{ kind = \"corrupt\", probability = 0.1 }", true),
        ("{ kind = \"repeat\", probability = 0.1 }", false),
        ("{ kind = \"reorder\", probability = 0.1, behind = 1 }", false),
        ("{ kind = \"delay\", probability = 0.1, by = \"5ms\" }", false),
    ] {
        let fault = format!("simulation.fault=[{fault}]");
        // What comes after the end of the run is too late.
        let changes = [fault.as_str(), "simulation.isis.end_of_run=false"];
        let overrides = [&changes, &MUCH_AT_ONCE[..]].concat();
        let formed = form_simulation(&config(VERSION_2, "", &overrides), 30).unwrap();
        let ledger = formed.detector.ledger();
        assert_eq!(ledger.unaccounted(), 0, "{fault}");
        assert!(formed.faults.faults.len() > 10, "{fault}: {}", formed.faults.faults.len());
        if !loses {
            check_events(&formed, &fault);
            check_frames(&formed, &fault);
            continue;
        }
        let sent: u64 = formed.frames.iter().map(|frame| frame.events).sum();
        let events = formed.events.len() as u64;
        assert!(events < sent && events * 2 > sent, "{fault}: {events} of {sent}");
        let frames = ledger.frames.expect("a readout with frames");
        let complete = frames.in_state(FrameState::Complete);
        assert!(complete < frames.all.raw, "{fault}: {:?}\n{}", frames.states, counted(&formed));
    }
}
