//! The captures, their settings and the reference's event lists, read from the shared reference data; and captures of this
//! repository, which have no such list.

use evforge_testkit::pcapng::udp_payloads;
use evforge_testkit::{pkts_payloads, shared_file};

use super::model::settings::{Format, Settings};

/// A recorded run and how to read it.
pub(crate) struct Capture {
    /// Name of the run in messages and tables.
    pub(crate) name: &'static str,
    /// The production configuration that belongs to it, below `configs`.
    pub(crate) configuration: &'static str,
    /// The UDP payloads of the run.
    pub(crate) payloads: Vec<Vec<u8>>,
    /// The reference's event list, as text.
    list: String,
    /// The settings of the model that belong to it.
    pub(crate) settings: Settings,
}

/// One line of a reference event list.
pub(crate) struct ReferenceEvent {
    /// Low 32 bits of the event time in ns.
    pub(crate) time_ns: u64,
    /// Pixel number.
    pub(crate) pixel: u64,
    /// Unrounded x; NaN if the reference divided by zero.
    pub(crate) x: f64,
    /// Unrounded y.
    pub(crate) y: f64,
    /// Number of hits in x.
    pub(crate) hits_x: usize,
    /// Number of hits in y.
    pub(crate) hits_y: usize,
    /// The whole event time in ns, to about 17 digits.
    pub(crate) time: f64,
}

impl Capture {
    /// Reads a capture and its list, or reports `test` as skipped.
    fn read(
        test: &str,
        name: &'static str,
        extension: &str,
        configuration: &'static str,
        settings: Settings,
    ) -> Option<Self> {
        let bytes = shared_file(test, &format!("captures/gdgem/{name}.{extension}"))?;
        let list = shared_file(test, &format!("captures/gdgem/{name}.reference_events.txt"))?;
        let payloads = if extension == "pcapng" { udp_payloads(&bytes) } else { pkts_payloads(&bytes) };
        let list = String::from_utf8(list).expect("the reference list is text");
        Some(Self { name, configuration, payloads, list, settings })
    }

    /// A capture of this repository, which the reference has not played.
    pub(crate) fn own(
        name: &'static str,
        configuration: &'static str,
        payloads: Vec<Vec<u8>>,
        settings: Settings,
    ) -> Self {
        Self { name, configuration, payloads, list: String::new(), settings }
    }

    /// The events that the reference found, in its order.
    pub(crate) fn reference_events(&self) -> Vec<ReferenceEvent> {
        self.list.lines().map(reference_event).collect()
    }
}

/// The four runs that the reference has played, or none with `test` reported as skipped.
pub(crate) fn reference_captures(test: &str) -> Option<Vec<Capture>> {
    let read = |name, extension, configuration, settings| {
        Capture::read(test, name, extension, configuration, settings)
    };
    Some(vec![
        read("vmm2_run16", "pkts", "reference-2018/gdgem-run16.toml", Settings::vmm2_run16())?,
        read(
            "vmm2_recorded_2018",
            "pkts",
            "reference-2018/gdgem-recorded-vmm2.toml",
            Settings::recorded_2018(Format::Vmm2),
        )?,
        read(
            "vmm3_recorded_2018",
            "pkts",
            "reference-2018/gdgem-recorded-vmm3.toml",
            Settings::recorded_2018(Format::Vmm3),
        )?,
        read("vmm3a_srs", "pcapng", "reference-2018/gdgem-vmm3a.toml", Settings::vmm3a_as_efu_2018())?,
    ])
}

/// The VMM3a capture with the clocks and the mapping of the real detector.
pub(crate) fn vmm3a_physical(test: &str) -> Option<Capture> {
    Capture::read(test, "vmm3a_srs", "pcapng", "gdgem-srs.toml", Settings::vmm3a_physical())
}

/// One line of a reference list: time and pixel, then pairs of name and value.
fn reference_event(line: &str) -> ReferenceEvent {
    let words: Vec<&str> = line.split_whitespace().collect();
    let value = |name: &str| {
        let place = words.iter().position(|word| *word == name).expect("every column is there");
        words[place + 1].parse::<f64>().expect("a number")
    };
    ReferenceEvent {
        time_ns: words[0].parse().expect("a time"),
        pixel: words[1].parse().expect("a pixel"),
        x: value("x"),
        y: value("y"),
        hits_x: value("nx") as usize,
        hits_y: value("ny") as usize,
        time: value("t"),
    }
}
