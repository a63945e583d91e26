//! pl72: the start of a run.

use crate::check;
use crate::column::Column;
use crate::encoder::Encoder;
use crate::generated::pl72 as wire;
use crate::open::open;
use crate::read::column_if;
use crate::refused::Refused;
use crate::schema::Schema;
use crate::show::{TextIf, Time};
use std::fmt;

/// The start of a run: what a file writer is told.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Pl72<'a> {
    /// Milliseconds since 1970; 0 for now.
    pub start_time: u64,
    /// Milliseconds since 1970; 0 for not yet.
    pub stop_time: u64,
    /// The run.
    pub run_name: Option<&'a str>,
    /// The instrument. Given, a file writer of today takes the static part of the file from its template.
    pub instrument_name: Option<&'a str>,
    /// What the file is to contain, in JSON.
    pub nexus_structure: Option<&'a str>,
    /// The name of the job: a UUID.
    pub job_id: Option<&'a str>,
    /// Obsolete.
    pub broker: Option<&'a str>,
    /// Which file writer is meant.
    pub service_id: Option<&'a str>,
    /// The file.
    pub filename: Option<&'a str>,
    /// Periods of the run.
    pub n_periods: u32,
    /// Which detectors make a spectrum.
    pub detector_spectrum_map: Option<SpectrumMap<'a>>,
    /// Further facts, in JSON.
    pub metadata: Option<&'a str>,
    /// Where answers go.
    pub control_topic: Option<&'a str>,
}

/// Which detectors make a spectrum: df12.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct SpectrumMap<'a> {
    /// A spectrum
    pub spectrum: Column<'a, i32>,
    /// and a detector that belongs to it.
    pub detector_id: Column<'a, i32>,
    /// How many spectra there are.
    pub n_spectra: i32,
}

impl Default for Pl72<'_> {
    /// A run of one period.
    fn default() -> Self {
        Self {
            start_time: 0,
            stop_time: 0,
            run_name: None,
            instrument_name: None,
            nexus_structure: None,
            job_id: None,
            broker: None,
            service_id: None,
            filename: None,
            n_periods: 1,
            detector_spectrum_map: None,
            metadata: None,
            control_topic: None,
        }
    }
}

impl<'a> Pl72<'a> {
    /// Writes the message.
    pub fn encode<'e>(&self, encoder: &'e mut Encoder) -> &'e [u8] {
        let e = encoder.begin();
        let detector_spectrum_map = self.detector_spectrum_map.map(|map| {
            let (spectrum, detector_id) = (e.column(map.spectrum), e.column(map.detector_id));
            let args = wire::SpectrumMapArgs { spectrum, detector_id, n_spectra: map.n_spectra };
            wire::SpectrumMap::create(&mut e.builder, &args)
        });
        let args = wire::RunStartArgs {
            start_time: self.start_time,
            stop_time: self.stop_time,
            run_name: e.text_if(self.run_name),
            instrument_name: e.text_if(self.instrument_name),
            nexus_structure: e.text_if(self.nexus_structure),
            job_id: e.text_if(self.job_id),
            broker: e.text_if(self.broker),
            service_id: e.text_if(self.service_id),
            filename: e.text_if(self.filename),
            n_periods: self.n_periods,
            detector_spectrum_map,
            metadata: e.text_if(self.metadata),
            control_topic: e.text_if(self.control_topic),
        };
        let root = wire::RunStart::create(&mut e.builder, &args);
        e.finish(root, Schema::Pl72)
    }

    /// Reads the message.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, Refused> {
        let schema = Schema::Pl72;
        let table = open::<wire::RunStart<'a>>(schema, bytes)?;
        let map = table.detector_spectrum_map().map(|map| SpectrumMap {
            spectrum: column_if(map.spectrum()),
            detector_id: column_if(map.detector_id()),
            n_spectra: map.n_spectra(),
        });
        if let Some(map) = map {
            let spectra = ("spectrum", map.spectrum.len());
            check::equal_lengths(schema, ("detector_id", map.detector_id.len()), spectra)?;
        }
        check::milliseconds(schema, "start_time", table.start_time())?;
        check::milliseconds(schema, "stop_time", table.stop_time())?;
        Ok(Self {
            start_time: table.start_time(),
            stop_time: table.stop_time(),
            run_name: table.run_name(),
            instrument_name: table.instrument_name(),
            nexus_structure: table.nexus_structure(),
            job_id: table.job_id(),
            broker: table.broker(),
            service_id: table.service_id(),
            filename: table.filename(),
            n_periods: table.n_periods(),
            detector_spectrum_map: map,
            metadata: table.metadata(),
            control_topic: table.control_topic(),
        })
    }

    pub(crate) fn source(&self) -> Option<&'a str> {
        self.service_id
    }

    pub(crate) fn time_ns(&self) -> Option<i64> {
        check::known_ms(self.start_time)
    }
}

impl fmt::Display for Pl72<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (run, job, file) = (TextIf(self.run_name), TextIf(self.job_id), TextIf(self.filename));
        write!(f, "run {run} from {}, job {job}, file {file}", Time(self.time_ns()))
    }
}
