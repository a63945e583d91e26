//! Streams of packets into the pipelines of the ESS readout.

use crate::packet_stream::form_stream;
use evforge_config::Config;
use evforge_detect::workers::{InTurn, Workers};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// The first byte of an input: which detector its packets are formed with, and how.
pub mod choice {
    /// Beam monitors of all kinds.
    pub const BEAM_MONITORS: u8 = 0;
    /// A Multi-Blade of two cassettes.
    pub const MULTI_BLADE: u8 = 1;
    /// A Multi-Grid of one vessel.
    pub const MULTI_GRID: u8 = 2;
    /// A Gd-GEM of one panel.
    pub const GD_GEM: u8 = 3;
    /// One worker forms the events both times: what several share takes longer to make than a stream to form.
    pub const ONE_WORKER: u8 = 1 << 2;
    /// A window of 1 us, forward jumps of 2 us, restarts of 10 us.
    pub const NARROW: u8 = 1 << 4;
    /// All rules are relaxed.
    pub const ACCEPT: u8 = 1 << 5;
    /// What is closed is published after every packet.
    pub const PUBLISH: u8 = 1 << 6;
    /// Monitor data are collected.
    pub const WATCHED: u8 = 1 << 7;
}

/// Type of the detector in the header, and its section: small, with two queues that are waited for.
const DETECTORS: [(&str, &str); 4] = [
    (
        "cbm",
        r#"
[ess_beam_monitors]
monitor = [
    { name = "zero", fen = 0, channel = 0, kind = "event_0d", threshold = 1 },
    { name = "flat", fen = 1, channel = 0, kind = "event_2d", nx = 4, ny = 3 },
    { name = "sum", fen = 2, channel = 0, kind = "integrating", histogram = { bins = 7 } },
]
"#,
    ),
    (
        "freia",
        r#"
[ess_multiblade]
layout = "freia"
geometry = { nx = 64, ny = 64 }
wire_threshold = 3
cassettes = [
    { cassette = 0, ring = 0, fen = 0, hybrid = 0 },
    { cassette = 1, ring = 1, fen = 0, hybrid = 0 },
]
mask = [{ ring = 0, fen = 0, vmm = 0, channels = [20], reason = "hot" }]
[ess_multiblade.window]
separate = true
max_amplitude_ratio = 5.0
"#,
    ),
    (
        "trex",
        r#"
[ess_multigrid]
wiring = "trex"
columns = 12
rows = 140
min_adc = 3
vessels = [{ rings = [0], fens = [0, 1], x_offset = 0 }]
"#,
    ),
    (
        "nmx",
        r#"
[ess_gdgem]
geometry = { nx = 256, ny = 128, panels = 1 }
hybrid = [
    { ring = 0, fen = 0, hybrid = 0, panel = 0, plane = "x", offset = 0 },
    { ring = 0, fen = 1, hybrid = 0, panel = 0, plane = "x", offset = 128, reversed = true },
    { ring = 1, fen = 0, hybrid = 0, panel = 0, plane = "y", offset = 0 },
]
[ess_gdgem.position]
spans = { max_x = 5, min_x = 1, max_y = 5, min_y = 1, max_time = "500ns" }
"#,
    ),
];

/// Forms events of the packets in `bytes`: one byte for the settings (see [`choice`]), then a stream. Once one worker does it, and once
/// two share the modules, unless the settings say otherwise.
///
/// # Panics
/// As [`form_stream`].
pub fn ess_stream(bytes: &[u8]) {
    let is_second = Cell::new(false);
    form_stream(bytes, choice::PUBLISH, choice::WATCHED, |choice| {
        let are_two = is_second.replace(true) && choice & choice::ONE_WORKER == 0;
        let workers = are_two.then(|| Arc::new(InTurn(2)) as Arc<dyn Workers>);
        CONFIGS.with_borrow_mut(|configs| {
            let config = configs.entry(choice).or_insert_with(|| config(choice));
            config.build_detector_formed_by(None, workers).expect("the settings of the exercise are sound")
        })
    });
}

thread_local! {
    /// The settings of each choice: reading them takes longer than a stream.
    static CONFIGS: RefCell<HashMap<u8, Config>> = RefCell::default();
}

fn config(choice: u8) -> Config {
    let (detector_type, section) = DETECTORS[usize::from(choice) % DETECTORS.len()];
    let has = |bit: u8| choice & bit != 0;
    let sorting = if has(choice::NARROW) {
        "window = '1us', forward_jump = '2us', restart = '10us', source_lag = '5us'"
    } else {
        "window = '1ms'"
    };
    let accept = if has(choice::ACCEPT) {
        "accept = ['output_queue', 'timing', 'time_status', 'even_fibre_sync', 'odd_fibre_sync', \
         'time_fraction', 'pulse_distance', 'type', 'record_length_in_bits', 'any_adc']\nodd_output_queue = 255"
    } else {
        ""
    };
    let text = format!(
        "name = 'exercise'\n[ess]\ntype = '{detector_type}'\noutput_queues = [0, 1]\n{accept}\n\
         sorting = {{ {sorting}, max_held_hits = 8192, max_group_hits = 16 }}\n{section}"
    );
    let config = Config::parse(Path::new("exercise.toml"), &text, &[]);
    config.unwrap_or_else(|error| panic!("{error}\n{text}"))
}
