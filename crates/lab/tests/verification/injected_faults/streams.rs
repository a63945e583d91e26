//! Streams of every readout that can be simulated, and what a detector makes of them.

use evforge_config::Config;
use evforge_core::detector::{form, form_rest};
use evforge_core::event::{Event, EventBatch};
use evforge_core::event_log::EventLog;
use evforge_core::ledger::DetectorLedger;
use evforge_lab::simulation::{form_simulated, settings, simulation, simulation_with, slab_of};
use evforge_sim::faults::injector::FaultInjector;
use evforge_sim::faults::log::{FaultLog, SenderReport};
use evforge_sim::faults::settings::Fault;
use evforge_sim::packet::SimulatedPacket;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A readout, and what is known of its format.
pub(crate) struct Readout {
    pub(crate) name: &'static str,
    /// Of `configs/`.
    pub(crate) configuration: &'static str,
    pub(crate) overrides: &'static [&'static str],
    /// The section that has `sorting`.
    pub(crate) sorting: &'static str,
    pub(crate) is_numbered: bool,
    /// What makes a packet unusable.
    pub(crate) damages: &'static [Damage],
    /// Readouts wait for their packet for so long.
    pub(crate) collects_ns: u64,
    /// Times of later packets rest on markers in this one for so long; 0 without markers.
    pub(crate) marks_ns: u64,
    /// Clocks of a source.
    pub(crate) clocks: u64,
    /// Pulses that are simulated.
    pub(crate) pulses: usize,
}

/// Damage to a packet that makes it unusable.
pub(crate) struct Damage {
    /// Kind and particulars of the fault.
    pub(crate) fault: (&'static str, &'static str),
    /// The counter that names it.
    pub(crate) counter: &'static str,
    /// False if the number of the packet is gone, too, so that it is missing in the sequence of its source.
    pub(crate) has_number: bool,
}

const fn corrupt(bit: &'static str, counter: &'static str) -> Damage {
    Damage { fault: ("corrupt", bit), counter, has_number: true }
}

const fn truncate(bytes: &'static str, counter: &'static str) -> Damage {
    Damage { fault: ("truncate", bytes), counter, has_number: true }
}

impl Damage {
    /// The same, which takes the number along.
    const fn with_number(self) -> Self {
        Self { has_number: false, ..self }
    }
}

/// A header of the ESS readout that breaks one of the rules 1 to 10 is not that of any queue, so its number means
/// nothing (ESS readout formats, section 1); of rules after that it does.
const ESS_DAMAGES: &[Damage] = &[
    corrupt("bit=0", "packets_wrong_padding").with_number(),
    corrupt("bit=9", "packets_wrong_version").with_number(),
    corrupt("bit=16", "packets_wrong_cookie").with_number(),
    corrupt("bit=46", "packets_wrong_type").with_number(),
    corrupt("bit=48", "packets_wrong_length").with_number(),
    corrupt("bit=71", "packets_wrong_output_queue").with_number(),
    corrupt("bit=73", "packets_time_source"),
    corrupt("bit=111", "packets_pulse_too_far"),
    corrupt("bit=143", "packets_wrong_time_fraction"),
    truncate("bytes=0", "packets_empty").with_number(),
    truncate("bytes=20", "packets_wrong_size").with_number(),
    truncate("bytes=29", "packets_wrong_size").with_number(),
    truncate("bytes=40", "packets_wrong_length").with_number(),
];

const fn ess(name: &'static str, configuration: &'static str, overrides: &'static [&'static str]) -> Readout {
    Readout {
        name,
        configuration,
        overrides,
        sorting: "ess.sorting",
        is_numbered: true,
        damages: ESS_DAMAGES,
        collects_ns: 0,
        marks_ns: 0,
        clocks: 1,
        pulses: 14,
    }
}

/// All readouts.
pub(crate) const READOUTS: &[Readout] = &[
    Readout {
        name: "SoNDe, ROSMAP",
        configuration: "sonde.toml",
        overrides: &["simulation.beam.neutrons=200kHz"],
        sorting: "sonde.sorting",
        is_numbered: true,
        damages: &[
            // Nobody knows where another version has its number.
            corrupt("bit=5", "packets_wrong_version").with_number(),
            corrupt("bit=8", "packets_unknown_type"),
            corrupt("bit=72", "packets_wrong_length"),
            corrupt("bit=80", "packets_wrong_count"),
            truncate("bytes=0", "packets_too_short").with_number(),
            truncate("bytes=10", "packets_too_short").with_number(),
            truncate("bytes=12", "packets_wrong_length"),
        ],
        collects_ns: 0,
        marks_ns: 0,
        clocks: 1,
        pulses: 6,
    },
    Readout {
        name: "Gd-GEM, SRS with VMM3a",
        configuration: "gdgem-srs.toml",
        overrides: &["simulation.beam.neutrons=20kHz"],
        sorting: "gdgem.sorting",
        is_numbered: true,
        damages: &[
            corrupt("bit=32", "packets_wrong_data_id").with_number(),
            truncate("bytes=0", "packets_too_short").with_number(),
            truncate("bytes=12", "packets_too_short"),
            truncate("bytes=16", "packets_without_readouts"),
            truncate("bytes=25", "packets_ragged"),
        ],
        collects_ns: 6_000_000,
        // 15 turns of 4096 bunch crossings of 22.5 ns.
        marks_ns: 1_400_000,
        clocks: 1,
        pulses: 14,
    },
    ess("Gd-GEM NMX, ESS", "nmx.toml", &["simulation.beam.neutrons=10kHz"]),
    Readout {
        name: "Multi-Grid, Mesytec",
        configuration: "multigrid.toml",
        overrides: &["simulation.beam.neutrons=20kHz"],
        sorting: "multigrid.sorting",
        is_numbered: false,
        damages: &[
            corrupt("bit=0", "packets_not_readout_data"),
            truncate("bytes=0", "packets_too_short"),
            truncate("bytes=18", "packets_too_short"),
        ],
        collects_ns: 0,
        marks_ns: 0,
        clocks: 1,
        pulses: 28,
    },
    Readout {
        name: "Multi-Grid, CNCS",
        configuration: "multigrid-cncs.toml",
        overrides: &["simulation.beam.neutrons=20kHz"],
        sorting: "multigrid.sorting",
        is_numbered: false,
        damages: &[
            truncate("bytes=0", "packets_without_groups"),
            truncate("bytes=39", "packets_without_groups"),
        ],
        collects_ns: 0,
        marks_ns: 0,
        clocks: 1,
        pulses: 28,
    },
    Readout {
        name: "Multi-Blade, records",
        configuration: "multiblade.toml",
        overrides: &["simulation.beam.neutrons=30kHz"],
        sorting: "multiblade.sorting",
        is_numbered: false,
        damages: &[truncate("bytes=0", "packets_empty"), truncate("bytes=15", "packets_ragged")],
        collects_ns: 11_000_000,
        marks_ns: 0,
        clocks: 6,
        pulses: 14,
    },
    Readout {
        name: "Multi-Blade, jadaq 1.3",
        configuration: "multiblade.toml",
        overrides: &[
            "simulation.beam.neutrons=30kHz",
            "multiblade.readout=jadaq-1.3",
            "multiblade.time_base=global-time",
        ],
        sorting: "multiblade.sorting",
        is_numbered: true,
        damages: &[
            corrupt("bit=193", "packets_wrong_version").with_number(),
            corrupt("bit=163", "packets_unknown_element_type"),
            corrupt("bit=176", "packets_ragged"),
            truncate("bytes=20", "packets_too_short").with_number(),
            truncate("bytes=50", "packets_ragged"),
        ],
        collects_ns: 11_000_000,
        marks_ns: 0,
        clocks: 1,
        pulses: 14,
    },
    ess("Multi-Blade FREIA, ESS", "freia.toml", &["simulation.beam.neutrons=50kHz"]),
    ess("Multi-Blade ESTIA, ESS", "estia.toml", &["simulation.beam.neutrons=50kHz"]),
    ess("Multi-Grid T-REX, ESS", "trex.toml", &["simulation.beam.neutrons=50kHz"]),
    ess("Multi-Grid LET, ESS", "let.toml", &["simulation.beam.neutrons=50kHz"]),
];

/// A readout's packets without any fault, and what becomes of them.
pub(crate) struct Stream {
    pub(crate) readout: &'static Readout,
    pub(crate) config: Config,
    pub(crate) sources: Vec<String>,
    pub(crate) pulses: Vec<Vec<SimulatedPacket>>,
    /// Hits come out of order by at most so much.
    pub(crate) latency_ns: u64,
    pub(crate) clean: Formed,
}

/// What a detector has made of packets.
#[derive(Clone)]
pub(crate) struct Formed {
    pub(crate) log: EventLog,
    pub(crate) ledger: DetectorLedger,
}

impl Formed {
    /// Value of a counter.
    pub(crate) fn value(&self, name: &str) -> u64 {
        self.ledger.counters.value(name).unwrap_or_else(|| panic!("no counter {name}"))
    }
}

/// Packets with faults, what is known of them, and what a detector has made of them.
pub(crate) struct Faulty {
    pub(crate) packets: Vec<SimulatedPacket>,
    pub(crate) faults: FaultLog,
    pub(crate) report: SenderReport,
    pub(crate) formed: Formed,
}

pub(crate) fn config(readout: &Readout, more: &[&str]) -> Config {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs").join(readout.configuration);
    let overrides: Vec<String> =
        readout.overrides.iter().chain(more).map(|text| (*text).to_owned()).collect();
    Config::read(&path, &overrides).unwrap_or_else(|error| panic!("{}: {error}", readout.name))
}

impl Stream {
    /// Simulates the readout, with more settings.
    pub(crate) fn new(readout: &'static Readout, more: &[&str]) -> Self {
        let config = config(readout, more);
        let mut simulation = simulation(&config).unwrap_or_else(|error| panic!("{}: {error}", readout.name));
        let pulses: Vec<_> =
            simulation.next_pulses(readout.pulses).into_iter().map(|pulse| pulse.packets).collect();
        let electronics = simulation.channels().electronics();
        let latency_ns = (electronics.latency_ps + 10 * electronics.jitter_ps).div_ceil(1000);
        let report = simulation.faults().report();
        let clean = formed(&config, &pulses.concat());
        let stream = Self {
            readout,
            config,
            sources: report.sources.into_iter().map(|(name, _)| name).collect(),
            pulses,
            latency_ns,
            clean,
        };
        let ledger = &stream.clean.ledger;
        assert_eq!((ledger.unaccounted(), ledger.held()), (0, 0), "{}", readout.name);
        let (events, packets) = (stream.clean.log.len(), stream.packets().count());
        assert!(events > 200 && packets > 100, "{}: {events} events of {packets} packets", readout.name);
        for source in &ledger.sources {
            assert_eq!(source.packets.lost + source.packets.duplicated + source.packets.restarts, 0);
        }
        stream
    }

    /// Lets faults happen to the packets.
    pub(crate) fn with_faults(&self, faults: &[&str], seed: u64) -> Faulty {
        self.with(&parsed(faults), seed)
    }

    /// As [`Stream::with_faults`].
    pub(crate) fn with(&self, faults: &[Fault], seed: u64) -> Faulty {
        let mut injector =
            FaultInjector::new(faults, self.sources.clone(), seed).expect("sources that are there");
        let mut packets = Vec::new();
        for pulse in &self.pulses {
            injector.pulse(pulse.clone(), &mut packets);
        }
        injector.finish(&mut packets);
        let formed = formed(&self.config, &packets);
        let ledger = &formed.ledger;
        assert_eq!((ledger.unaccounted(), ledger.held()), (0, 0), "{}: {faults:?}", self.readout.name);
        Faulty { packets, faults: injector.log().clone(), report: injector.report(), formed }
    }

    /// Simulates the stream again, with faults of the electronics.
    pub(crate) fn simulated_with(&self, faults: &[&str]) -> Formed {
        self.simulated_with_faults(parsed(faults))
    }

    /// As [`Stream::simulated_with`].
    pub(crate) fn simulated_with_faults(&self, faults: Vec<Fault>) -> Formed {
        let mut settings = settings(&self.config).expect("a checked configuration");
        settings.fault = faults;
        let simulation = simulation_with(&self.config, &settings).expect("faults that can be");
        let formed =
            form_simulated(simulation, &self.config, self.pulses.len()).expect("a checked configuration");
        let ledger = formed.detector.ledger();
        assert_eq!((ledger.unaccounted(), ledger.held()), (0, 0), "{}", self.readout.name);
        Formed { log: formed.events, ledger }
    }

    /// Sources that have sent packets before this pulse as well as in it or later.
    pub(crate) fn sources_around(&self, pulse: usize) -> u64 {
        let senders = |pulses: &[Vec<SimulatedPacket>]| -> BTreeSet<usize> {
            pulses.iter().flatten().map(|packet| packet.sender.source).collect()
        };
        let (before, after) = self.pulses.split_at(pulse);
        senders(before).intersection(&senders(after)).count() as u64
    }

    /// All packets.
    pub(crate) fn packets(&self) -> impl Iterator<Item = &SimulatedPacket> {
        self.pulses.iter().flatten()
    }
}

fn parsed(faults: &[&str]) -> Vec<Fault> {
    faults.iter().map(|text| text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))).collect()
}

/// What the configured detector makes of packets, handed over by the hundred.
pub(crate) fn formed(config: &Config, packets: &[SimulatedPacket]) -> Formed {
    let mut detector = config.build_detector().expect("a configuration that was read");
    let (mut events, mut log) = (EventBatch::new(1000), EventLog::default());
    let mut deliver = |events: &mut EventBatch| {
        log.take(events);
        events.clear();
    };
    for packets in packets.chunks(100) {
        form(detector.as_mut(), &slab_of(packets).batch(), &mut events, &mut deliver);
    }
    form_rest(detector.as_mut(), &mut events, &mut deliver);
    Formed { log, ledger: detector.ledger() }
}

/// Events that are in one log only, each as often as it is there more often: those missing in the second one, and
/// those that only the second one has.
pub(crate) fn differences(clean: &EventLog, faulty: &EventLog) -> (Vec<Event>, Vec<Event>) {
    let mut counts: BTreeMap<(u64, u32), i64> = BTreeMap::new();
    for event in clean.events() {
        *counts.entry((event.time_ns, event.pixel_id)).or_default() += 1;
    }
    for event in faulty.events() {
        *counts.entry((event.time_ns, event.pixel_id)).or_default() -= 1;
    }
    let (mut missing, mut extra) = (Vec::new(), Vec::new());
    for ((time_ns, pixel_id), count) in counts {
        let list = if count > 0 { &mut missing } else { &mut extra };
        list.extend((0..count.abs()).map(|_| Event { time_ns, pixel_id }));
    }
    (missing, extra)
}
