//! JSON of what is known besides the events.

use crate::json_object::json_object;
use evforge_core::frame::ProtonCharge;
use serde::Serialize;

json_object! {
    /// What is known besides the events. Lists are empty where nothing is known.
    #[derive(Clone, Debug, Default, PartialEq, Serialize)]
    pub struct BeamState {
        /// The newest values, by name: at most 256.
        pub values: Vec<ValueState>,
        /// Pulses and their proton charge, by source: at most 16.
        pub pulses: Vec<PulseState>,
        /// Spectra of beam monitors: at most 32, those of the run's own monitors first. `/api/monitor-spectrum.json` has the counts.
        pub spectra: Vec<MonitorSpectrumState>,
        /// What runs tell of themselves in their ledgers: at most 256 sources and modules. It is no part of `ledger`, which has what came here.
        pub runs: Vec<ToldByRun>,
        /// Messages of values, spectra and ledgers that are in none of these lists, because there would be too many; the `discarded` of the ledger have the reasons.
        pub left_out: u64,
    }
}

json_object! {
    /// The newest value of a log.
    #[derive(Clone, Debug, Default, PartialEq, Serialize)]
    pub struct ValueState {
        /// Its name: at most 200 bytes.
        pub name: String,
        /// "value" (the newest one), "sum" (of all that came) or "rate" (per second, of time stamps).
        pub kind: &'static str,
        /// The value; null while a rate is not known.
        pub value: Option<f64>,
        /// Its unit; empty where none was sent.
        pub unit: String,
        /// Its time: milliseconds since the Unix epoch; absent where it has none.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub time_ms: Option<u64>,
        /// Messages of it.
        pub messages: u64,
        /// The newest time stamps of a chopper in milliseconds since the Unix epoch, the newest last; absent for other values.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub stamps_ms: Vec<f64>,
        /// Its series in `/api/history.json`: minimum, mean and maximum of each second. A sum is how fast it grows there.
        pub series: String,
    }
}

json_object! {
    /// The pulses of a source, as it tells them.
    #[derive(Clone, Debug, Default, PartialEq, Serialize)]
    pub struct PulseState {
        /// Name of the source.
        pub source: String,
        /// Pulses that it has told (raw).
        pub pulses: u64,
        /// Those that no veto was told of (good); null where it tells no vetoes.
        pub pulses_good: Option<u64>,
        /// Proton charge of all pulses in µAh; null where it tells none.
        pub charge_uah: Option<f64>,
        /// That of the good ones; null where it does not tell both.
        pub charge_good_uah: Option<f64>,
        /// Number of the period of the newest pulse, as it was sent; null where it tells none.
        pub period: Option<u32>,
        /// Vetoes of the newest pulse, a bit each; null where it tells none.
        pub vetoes: Option<u32>,
        /// Time of the newest pulse: milliseconds since the Unix epoch; absent before the first with a time.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub time_ms: Option<u64>,
    }
}

json_object! {
    /// What a spectrum of a beam monitor is.
    #[derive(Clone, Debug, Default, PartialEq, Serialize)]
    pub struct MonitorSpectrumState {
        /// Name of the monitor.
        pub name: String,
        /// What it is from: "run", "da00", "hs00" or "hs01".
        pub from: &'static str,
        /// "sum" (of all messages: each has what was counted since the one before) or "newest" (each message has everything since its start).
        pub kind: &'static str,
        /// Its bins; 0 where it cannot be shown.
        pub bins: usize,
        /// What its axis is: "frame_time".
        pub axis: String,
        /// The unit of the axis: "ns"; "bin" where no edges were told.
        pub axis_unit: String,
        /// The unit of its values: "counts".
        pub unit: String,
        /// The sum of its values.
        pub total: f64,
        /// Neighbouring bins that are added up in one; 1 unless it would have more than 10 000.
        pub block: usize,
        /// Messages that are in it.
        pub messages: u64,
        /// Its time: milliseconds since the Unix epoch; absent where it has none.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub time_ms: Option<u64>,
        /// Why it cannot be shown: it has two dimensions, for example. Absent if it can.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub problem: Option<String>,
    }
}

json_object! {
    /// A spectrum of a beam monitor.
    #[derive(Clone, Debug, Default, PartialEq, Serialize)]
    pub struct MonitorSpectrum {
        /// What it is.
        #[serde(flatten)]
        pub state: MonitorSpectrumState,
        /// The edges of the bins, in the unit of the axis: one more than there are bins.
        pub edges: Vec<f64>,
        /// The values of the bins.
        pub counts: Vec<f64>,
    }
}

json_object! {
    /// What a run tells of itself in its ledger (`docs/kafka.md`), since its start. What it does not tell is null.
    #[derive(Clone, Debug, Default, PartialEq, Serialize)]
    pub struct ToldByRun {
        /// Name of the source of events, or of a module of it.
        pub source: String,
        /// True for a module.
        pub is_module: bool,
        /// When it was told: milliseconds since the Unix epoch; absent where it has no time.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub time_ms: Option<u64>,
        /// Packets that the readout sent.
        pub packets_sent: Option<u64>,
        /// Packets that the run received.
        pub packets_received: Option<u64>,
        /// Packets that are missing.
        pub packets_lost: Option<u64>,
        /// Packets that are missing at least, where nobody can know all of them.
        pub packets_lost_at_least: Option<u64>,
        /// Events that the run formed.
        pub events_formed: Option<u64>,
        /// Events that the brokers have.
        pub events_acknowledged: Option<u64>,
        /// Events that are not in the topic: dropped, failed or missed.
        pub events_lost: Option<u64>,
        /// What the run cannot account for.
        pub unaccounted: Option<u64>,
        /// Whether nothing is missing so far, as the run says.
        pub complete: Option<bool>,
    }
}

/// Proton charge in units of 1e-12 µAh: whole numbers, so that a window can be taken out of a sum exactly.
pub(crate) type Charge = u128;

/// That of a frame. What is no number from 0 to 1 000 000 µAh is none.
pub(crate) fn charge_of(charge: ProtonCharge) -> Charge {
    let is_charge = (0.0..=1e6).contains(&charge.uah);
    if is_charge { (charge.uah * 1e12).round() as Charge } else { 0 }
}

/// In µAh.
pub(crate) fn microampere_hours(charge: Charge) -> f64 {
    charge as f64 / 1e12
}
