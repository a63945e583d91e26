//! Messages of the schemas that evforge only reads, as their senders make them.

use crate::ad00::Ad00;
use crate::an44::An44;
use crate::array::{Array, Data};
use crate::encoder::{Encoder, Member};
use crate::ev43::Ev43;
use crate::generated::{ad00, an44, ev43, hs00, mo01, senv, senv_2018};
use crate::hs00::Hs00;
use crate::mo01::{Data as Monitor, Mo01, Sample};
use crate::schema::Schema;
use crate::senv::{Layout, Senv};
use flatbuffers::{ForwardsUOffset, Vector, WIPOffset};

/// ev43, as it is.
pub fn write_ev43(message: &Ev43<'_>) -> Vec<u8> {
    let mut e = Encoder::new();
    let args = ev43::EventsArgs {
        source_name: e.text_if(message.source_name),
        message_id: message.message_id,
        pulse_time: e.column(message.pulse_time),
        pulse_index: e.column(message.pulse_index),
        time_of_flight: e.column(message.time_of_flight),
        detector_id: e.column(message.detector_id),
    };
    let root = ev43::Events::create(&mut e.builder, &args);
    e.finish(root, Schema::Ev43).to_vec()
}

/// an44, as it is.
pub fn write_an44(message: &An44<'_>) -> Vec<u8> {
    let mut e = Encoder::new();
    let args = an44::EventsArgs {
        source_name: e.text(message.source_name),
        message_id: message.message_id,
        reference_time: e.column(message.reference_time),
        reference_time_index: e.column(message.reference_time_index),
        time_of_flight: e.column(message.time_of_flight),
        pixel_id: e.column(message.pixel_id),
        weight: e.column(message.weight),
    };
    let root = an44::Events::create(&mut e.builder, &args);
    e.finish(root, Schema::An44).to_vec()
}

fn counts(e: &mut Encoder, array: Option<Array<'_>>) -> (hs00::Array, Member) {
    macro_rules! write {
        ($table:ident $args:ident $column:ident) => {{
            let args = hs00::$args { value: e.column($column) };
            (hs00::Array::$table, Some(hs00::$table::create(&mut e.builder, &args).as_union_value()))
        }};
    }
    match array {
        Some(Array::UInt32(column)) => write!(ArrayUInt ArrayUIntArgs column),
        Some(Array::UInt64(column)) => write!(ArrayULong ArrayULongArgs column),
        Some(Array::Float64(column)) => write!(ArrayDouble ArrayDoubleArgs column),
        Some(Array::Float32(column)) => write!(ArrayFloat ArrayFloatArgs column),
        _ => (hs00::Array::NONE, None),
    }
}

/// hs00; arrays of types that it does not have are left out.
pub fn write_hs00(message: &Hs00<'_>) -> Vec<u8> {
    let mut e = Encoder::new();
    let mut dimensions = Vec::new();
    for dimension in &message.dim_metadata {
        let (bin_boundaries_type, bin_boundaries) = counts(&mut e, dimension.bin_boundaries);
        let (unit, label) = (e.text_if(dimension.unit), e.text_if(dimension.label));
        let length = dimension.length;
        let args = hs00::DimensionArgs { length, unit, label, bin_boundaries_type, bin_boundaries };
        dimensions.push(hs00::Dimension::create(&mut e.builder, &args));
    }
    let (data_type, data) = counts(&mut e, message.data);
    let (errors_type, errors) = counts(&mut e, message.errors);
    let args = hs00::HistogramArgs {
        source: e.text_if(message.source),
        timestamp: message.timestamp,
        dim_metadata: Some(e.builder.create_vector(&dimensions)),
        last_metadata_timestamp: message.last_metadata_timestamp,
        current_shape: e.column(message.current_shape),
        offset: e.column(message.offset),
        data_type,
        data,
        errors_type,
        errors,
        info: e.text_if(message.info),
    };
    let root = hs00::Histogram::create(&mut e.builder, &args);
    e.finish(root, Schema::Hs00).to_vec()
}

/// senv in its layout; that of 2018 has `uint16` alone, and other values are left out.
pub fn write_senv(message: &Senv<'_>) -> Vec<u8> {
    match (message.layout, message.values) {
        (Layout::Union, values) => write_senv_union(message, values),
        (Layout::Vector, Array::UInt16(values)) => write_senv_2018(message, values),
        (Layout::Vector, _) => write_senv_2018(message, crate::Column::default()),
    }
}

fn write_senv_union(message: &Senv<'_>, values: Array<'_>) -> Vec<u8> {
    let mut e = Encoder::new();
    macro_rules! write {
        ($table:ident $args:ident $column:ident) => {{
            let args = senv::$args { value: e.column($column) };
            (senv::Values::$table, Some(senv::$table::create(&mut e.builder, &args).as_union_value()))
        }};
    }
    let (values_type, values) = match values {
        Array::Int8(column) => write!(Int8Array Int8ArrayArgs column),
        Array::UInt8(column) => write!(UInt8Array UInt8ArrayArgs column),
        Array::Int16(column) => write!(Int16Array Int16ArrayArgs column),
        Array::UInt16(column) => write!(UInt16Array UInt16ArrayArgs column),
        Array::Int32(column) => write!(Int32Array Int32ArrayArgs column),
        Array::UInt32(column) => write!(UInt32Array UInt32ArrayArgs column),
        Array::Int64(column) => write!(Int64Array Int64ArrayArgs column),
        Array::UInt64(column) => write!(UInt64Array UInt64ArrayArgs column),
        // senv has no floating-point numbers.
        Array::Float32(_) | Array::Float64(_) => (senv::Values::NONE, None),
    };
    let args = senv::SamplesArgs {
        name: e.text(message.name),
        channel: message.channel,
        packet_timestamp: message.packet_timestamp,
        time_delta: message.time_delta,
        timestamp_location: senv::Location(message.timestamp_location.number()),
        values_type,
        values,
        timestamps: e.column(message.timestamps),
        message_counter: message.message_counter,
    };
    let root = senv::Samples::create(&mut e.builder, &args);
    e.finish(root, Schema::Senv).to_vec()
}

fn write_senv_2018(message: &Senv<'_>, values: crate::Column<'_, u16>) -> Vec<u8> {
    let mut e = Encoder::new();
    let args = senv_2018::SamplesArgs {
        name: e.text(message.name),
        channel: message.channel,
        packet_timestamp: message.packet_timestamp,
        time_delta: message.time_delta,
        timestamp_location: senv_2018::Location(message.timestamp_location.number()),
        values: e.column(values),
        timestamps: e.column(message.timestamps),
        message_counter: message.message_counter,
    };
    let root = senv_2018::Samples::create(&mut e.builder, &args);
    e.finish(root, Schema::Senv).to_vec()
}

fn ad00_data(e: &mut Encoder, data: Data<'_>) -> (ad00::DataType, crate::encoder::Bytes) {
    match data {
        Data::Numbers(array) => {
            (ad00::DataType(i8::try_from(array.place_of_type()).unwrap_or(i8::MAX)), array.bytes(e))
        }
        Data::Text(bytes) => (ad00::DataType::c_string, Some(e.builder.create_vector(bytes))),
    }
}

/// ad00, as it is.
pub fn write_ad00(message: &Ad00<'_>) -> Vec<u8> {
    let mut e = Encoder::new();
    let mut attributes = Vec::new();
    for attribute in &message.attributes {
        let (data_type, data) = ad00_data(&mut e, attribute.data);
        let args = ad00::AttributeArgs {
            name: e.text(attribute.name),
            description: e.text_if(attribute.description),
            source: e.text_if(attribute.source),
            data_type,
            data,
        };
        attributes.push(ad00::Attribute::create(&mut e.builder, &args));
    }
    let (data_type, data) = ad00_data(&mut e, message.data);
    let args = ad00::FrameArgs {
        source_name: e.text(message.source_name),
        id: message.id,
        timestamp: message.timestamp,
        dimensions: e.column(message.dimensions),
        data_type,
        data,
        attributes: Some(e.builder.create_vector(&attributes)),
    };
    let root = ad00::Frame::create(&mut e.builder, &args);
    e.finish(root, Schema::Ad00).to_vec()
}

type Samples = Option<WIPOffset<Vector<'static, ForwardsUOffset<mo01::Sample<'static>>>>>;

fn samples(e: &mut Encoder, samples: &[Sample]) -> Samples {
    let args = |sample: &Sample| mo01::SampleArgs { time: sample.time, strip: sample.strip, adc: sample.adc };
    let tables: Vec<_> =
        samples.iter().map(|sample| mo01::Sample::create(&mut e.builder, &args(sample))).collect();
    Some(e.builder.create_vector(&tables))
}

/// mo01, with its identifier or, as in 2018, without.
pub fn write_mo01(message: &Mo01<'_>, with_identifier: bool) -> Vec<u8> {
    let mut e = Encoder::new();
    let (data_type, data) = match &message.data {
        Monitor::Histograms(data) => {
            let args = mo01::HistogramsArgs {
                xstrips: e.column(data.xstrips),
                ystrips: e.column(data.ystrips),
                xspectrum: e.column(data.xspectrum),
                yspectrum: e.column(data.yspectrum),
                cluster_spectrum: e.column(data.cluster_spectrum),
                bin_width: data.bin_width,
            };
            let table = mo01::Histograms::create(&mut e.builder, &args);
            (mo01::Data::Histograms, table.as_union_value())
        }
        Monitor::Track(data) => {
            let args = mo01::TrackArgs {
                time_offset: data.time_offset,
                xtrack: samples(&mut e, &data.xtrack),
                ytrack: samples(&mut e, &data.ytrack),
                xpos: data.xpos,
                ypos: data.ypos,
            };
            (mo01::Data::Track, mo01::Track::create(&mut e.builder, &args).as_union_value())
        }
        Monitor::Hits(data) => {
            let args = mo01::HitsArgs {
                plane: e.column(data.plane),
                time: e.column(data.time),
                channel: e.column(data.channel),
                adc: e.column(data.adc),
            };
            (mo01::Data::Hits, mo01::Hits::create(&mut e.builder, &args).as_union_value())
        }
    };
    let source_name = e.text_if(message.source_name);
    let root = mo01::Monitor::create(
        &mut e.builder,
        &mo01::MonitorArgs { source_name, data_type, data: Some(data) },
    );
    if with_identifier {
        return e.finish(root, Schema::Mo01).to_vec();
    }
    e.builder.finish_minimal(root);
    e.builder.finished_data().to_vec()
}
