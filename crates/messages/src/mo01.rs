//! mo01: monitor data of a Gd-GEM. In 2018 they were sent without the identifier; what can be told apart is read.

use crate::check;
use crate::column::Column;
use crate::generated::mo01 as wire;
use crate::open::{identifier, open, verify};
use crate::read::column_if;
use crate::refused::Refused;
use crate::schema::Schema;
use crate::show::{Count, TextIf};
use flatbuffers::{ForwardsUOffset, Vector};
use std::fmt;

/// Monitor data.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Mo01<'a> {
    /// Who sends them.
    pub source_name: Option<&'a str>,
    /// What they are.
    pub data: Data<'a>,
}

/// The kinds of monitor data.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Data<'a> {
    /// Counts by strip and by amplitude.
    Histograms(Histograms<'a>),
    /// The samples of one event.
    Track(Track),
    /// Hits in columns.
    Hits(Hits<'a>),
}

/// Counts by strip and by amplitude.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Histograms<'a> {
    /// Hits per strip of x.
    pub xstrips: Column<'a, u32>,
    /// Hits per strip of y.
    pub ystrips: Column<'a, u32>,
    /// Amplitudes in x.
    pub xspectrum: Column<'a, u32>,
    /// Amplitudes in y.
    pub yspectrum: Column<'a, u32>,
    /// Summed amplitudes of clusters.
    pub cluster_spectrum: Column<'a, u32>,
    /// The width of a bin of the spectra.
    pub bin_width: u32,
}

/// The samples of one event.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Track {
    /// The time that those of the samples count from.
    pub time_offset: u64,
    /// Samples of the plane x.
    pub xtrack: Vec<Sample>,
    /// Samples of the plane y.
    pub ytrack: Vec<Sample>,
    /// Where the event is.
    pub xpos: f64,
    /// Where the event is.
    pub ypos: f64,
}

/// A sample of a track.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Sample {
    /// Since the track's offset.
    pub time: u16,
    /// The strip.
    pub strip: u16,
    /// The amplitude.
    pub adc: u16,
}

/// Hits in columns of equal lengths.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Hits<'a> {
    /// Planes.
    pub plane: Column<'a, u16>,
    /// Times.
    pub time: Column<'a, u32>,
    /// Channels.
    pub channel: Column<'a, u16>,
    /// Amplitudes.
    pub adc: Column<'a, u16>,
}

impl<'a> Mo01<'a> {
    /// Reads the message.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, Refused> {
        Self::read(&open::<wire::Monitor<'a>>(Schema::Mo01, bytes)?)
    }

    /// Reads a message without identifier, as of 2018. Where it should be, the first bytes of the contents are: such bytes are
    /// no text. The contents must be those of mo01 in full, so that other messages are not taken for one.
    pub fn decode_unmarked(bytes: &'a [u8]) -> Result<Self, Refused> {
        let found = identifier(bytes)?;
        if found.iter().all(u8::is_ascii_alphanumeric) {
            return Err(Refused::UnknownSchema(found));
        }
        Self::read(&verify::<wire::Monitor<'a>>(Schema::Mo01, bytes)?)
    }

    fn read(table: &wire::Monitor<'a>) -> Result<Self, Refused> {
        let schema = Schema::Mo01;
        let data = if let Some(data) = table.data_as_histograms() {
            Data::Histograms(Histograms {
                xstrips: column_if(data.xstrips()),
                ystrips: column_if(data.ystrips()),
                xspectrum: column_if(data.xspectrum()),
                yspectrum: column_if(data.yspectrum()),
                cluster_spectrum: column_if(data.cluster_spectrum()),
                bin_width: data.bin_width(),
            })
        } else if let Some(data) = table.data_as_track() {
            Data::Track(Track {
                time_offset: data.time_offset(),
                xtrack: samples(data.xtrack()),
                ytrack: samples(data.ytrack()),
                xpos: data.xpos(),
                ypos: data.ypos(),
            })
        } else if let Some(data) = table.data_as_hits() {
            let (plane, time) = (column_if(data.plane()), column_if(data.time()));
            let (channel, adc) = (column_if(data.channel()), column_if(data.adc()));
            check::equal_lengths(schema, ("plane", plane.len()), ("time", time.len()))?;
            check::equal_lengths(schema, ("channel", channel.len()), ("time", time.len()))?;
            check::equal_lengths(schema, ("adc", adc.len()), ("time", time.len()))?;
            Data::Hits(Hits { plane, time, channel, adc })
        } else {
            return Err(match table.data_type() {
                wire::Data::NONE => Refused::Absent { schema, field: "data".into() },
                tag => Refused::UnknownValue { schema, field: "data_type", found: tag.0.into() },
            });
        };
        Ok(Self { source_name: table.source_name(), data })
    }

    pub(crate) fn source(&self) -> Option<&'a str> {
        self.source_name
    }

    pub(crate) fn time_ns(&self) -> Option<i64> {
        None
    }
}

fn samples(table: Option<Vector<'_, ForwardsUOffset<wire::Sample<'_>>>>) -> Vec<Sample> {
    let samples = table.into_iter().flat_map(|samples| samples.iter());
    samples.map(|sample| Sample { time: sample.time(), strip: sample.strip(), adc: sample.adc() }).collect()
}

impl fmt::Display for Mo01<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", TextIf(self.source_name))?;
        match &self.data {
            Data::Histograms(data) => {
                let (x, y) = (data.xstrips.len(), data.ystrips.len());
                write!(f, "histograms of {x} and {y} strips, bins of {}", data.bin_width)
            }
            Data::Track(data) => {
                let (x, y) = (data.xtrack.len(), data.ytrack.len());
                write!(f, "a track of {x} and {y} samples at {}, {}", data.xpos, data.ypos)
            }
            Data::Hits(data) => Count(data.time.len(), "hit").fmt(f),
        }
    }
}
