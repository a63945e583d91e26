//! ev42: events of one pulse, with data of the facility.

use crate::check;
use crate::column::Column;
use crate::encoder::Encoder;
use crate::generated::ev42 as wire;
use crate::named::named;
use crate::open::open;
use crate::read::column_if;
use crate::refused::Refused;
use crate::schema::Schema;
use crate::show::{Count, TextIf, Time};
use std::fmt;

/// Events of one pulse in columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Ev42<'a> {
    /// Who sends them.
    pub source_name: Option<&'a str>,
    /// Counts the messages of the source.
    pub message_id: u64,
    /// The pulse, nanoseconds since 1970.
    pub pulse_time: u64,
    /// Nanoseconds since the pulse.
    pub time_of_flight: Column<'a, u32>,
    /// Pixels.
    pub detector_id: Column<'a, u32>,
    /// What the facility adds.
    pub facility: Option<Facility<'a>>,
}

/// What a facility adds to the events of a pulse.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Facility<'a> {
    /// ISIS: is84.
    IsisData(IsisData),
    /// Sampled channels: dtdb.
    AdcPulseDebug(AdcPulseDebug<'a>),
}

/// What ISIS adds to the events of a pulse.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct IsisData {
    /// From 0 on.
    pub period_number: u32,
    /// Whether data are taken.
    pub run_state: RunState,
    /// Of the pulse, in µAh.
    pub proton_charge: f32,
}

named! {
    /// Whether data are taken.
    pub enum RunState: i8 { Setup 0 "SETUP", Running 1 "RUNNING" }
}

/// How each event looked to the converter; a column is empty or has a value per event.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct AdcPulseDebug<'a> {
    /// The largest sample.
    pub amplitude: Column<'a, u32>,
    /// The sum of the samples.
    pub peak_area: Column<'a, u32>,
    /// The background below them.
    pub background: Column<'a, u32>,
    /// When the threshold was passed.
    pub threshold_time: Column<'a, u64>,
    /// When the largest sample was taken.
    pub peak_time: Column<'a, u64>,
}

impl<'a> Ev42<'a> {
    /// Writes the message.
    pub fn encode<'e>(&self, encoder: &'e mut Encoder) -> &'e [u8] {
        let e = encoder.begin();
        let (facility_specific_data_type, facility_specific_data) = match self.facility {
            None => (wire::FacilityData::NONE, None),
            Some(Facility::IsisData(data)) => {
                let args = wire::IsisDataArgs {
                    period_number: data.period_number,
                    run_state: wire::RunState(data.run_state.number()),
                    proton_charge: data.proton_charge,
                };
                let table = wire::IsisData::create(&mut e.builder, &args);
                (wire::FacilityData::IsisData, Some(table.as_union_value()))
            }
            Some(Facility::AdcPulseDebug(data)) => {
                let args = wire::AdcPulseDebugArgs {
                    amplitude: e.column(data.amplitude),
                    peak_area: e.column(data.peak_area),
                    background: e.column(data.background),
                    threshold_time: e.column(data.threshold_time),
                    peak_time: e.column(data.peak_time),
                };
                let table = wire::AdcPulseDebug::create(&mut e.builder, &args);
                (wire::FacilityData::AdcPulseDebug, Some(table.as_union_value()))
            }
        };
        let args = wire::EventsArgs {
            detector_id: e.column(self.detector_id),
            time_of_flight: e.column(self.time_of_flight),
            pulse_time: self.pulse_time,
            message_id: self.message_id,
            source_name: e.text_if(self.source_name),
            facility_specific_data_type,
            facility_specific_data,
        };
        let root = wire::Events::create(&mut e.builder, &args);
        e.finish(root, Schema::Ev42)
    }

    /// Reads the message.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, Refused> {
        let schema = Schema::Ev42;
        let table = open::<wire::Events<'a>>(schema, bytes)?;
        let message = Self {
            source_name: table.source_name(),
            message_id: table.message_id(),
            pulse_time: table.pulse_time(),
            time_of_flight: column_if(table.time_of_flight()),
            detector_id: column_if(table.detector_id()),
            facility: facility(schema, &table)?,
        };
        let events = ("time_of_flight", message.events());
        check::equal_if_given(schema, ("detector_id", message.detector_id.len()), events)?;
        if let Some(Facility::AdcPulseDebug(data)) = message.facility {
            check::equal_if_given(schema, ("amplitude", data.amplitude.len()), events)?;
            check::equal_if_given(schema, ("peak_area", data.peak_area.len()), events)?;
            check::equal_if_given(schema, ("background", data.background.len()), events)?;
            check::equal_if_given(schema, ("threshold_time", data.threshold_time.len()), events)?;
            check::equal_if_given(schema, ("peak_time", data.peak_time.len()), events)?;
        }
        check::time(schema, "pulse_time", message.pulse_time)?;
        Ok(message)
    }

    /// How many events there are.
    pub fn events(&self) -> usize {
        self.time_of_flight.len()
    }

    pub(crate) fn source(&self) -> Option<&'a str> {
        self.source_name
    }

    pub(crate) fn time_ns(&self) -> Option<i64> {
        check::known(self.pulse_time)
    }
}

fn facility<'a>(schema: Schema, table: &wire::Events<'a>) -> Result<Option<Facility<'a>>, Refused> {
    let tag = table.facility_specific_data_type();
    if tag == wire::FacilityData::NONE {
        return Ok(None);
    }
    if let Some(data) = table.facility_specific_data_as_isis_data() {
        let run_state = RunState::read(schema, "run_state", data.run_state().0)?;
        let (period_number, proton_charge) = (data.period_number(), data.proton_charge());
        return Ok(Some(Facility::IsisData(IsisData { period_number, run_state, proton_charge })));
    }
    if let Some(data) = table.facility_specific_data_as_adc_pulse_debug() {
        return Ok(Some(Facility::AdcPulseDebug(AdcPulseDebug {
            amplitude: column_if(data.amplitude()),
            peak_area: column_if(data.peak_area()),
            background: column_if(data.background()),
            threshold_time: column_if(data.threshold_time()),
            peak_time: column_if(data.peak_time()),
        })));
    }
    Err(Refused::UnknownValue { schema, field: "facility_specific_data_type", found: tag.0.into() })
}

impl fmt::Display for Ev42<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (source, time) = (TextIf(self.source_name), Time(self.time_ns()));
        write!(f, "{source} #{} {time} {}", self.message_id, Count(self.events(), "event"))?;
        match self.facility {
            Some(Facility::IsisData(IsisData { period_number, run_state, proton_charge })) => {
                write!(f, " period {period_number} {run_state} {proton_charge} µAh")
            }
            Some(Facility::AdcPulseDebug(_)) => f.write_str(" with samples"),
            None => Ok(()),
        }
    }
}
