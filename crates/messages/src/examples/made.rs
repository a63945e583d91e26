//! One message of every schema, layout and kind of value, with values of a seed.

use super::foreign;
use super::put;
use super::runs::{isis, runs};
use super::values::Values;
use crate::ev42::{AdcPulseDebug, Facility, IsisData, RunState};
use crate::hs01::Counts;
use crate::mo01::{Data as Monitor, Histograms, Hits, Sample, Track};
use crate::senv::Layout;
use crate::{
    Ad00, Al00, An44, Ar51, Array, Column, Da00, Data, Ep00, Ep01, Ev42, Ev43, Ev44, F142, F144, Hs00, Hs01,
    Location, Mo01, Scalar, Se00, Senv, Tdct, ad00, al00, da00, ep00, ep01, f142, f144, hs00, hs01,
};

/// One message of every schema, layout and kind of value, with its name. All of them are sound.
pub fn messages(seed: u64) -> Vec<(&'static str, Vec<u8>)> {
    let mut values = Values::new(seed);
    events(&mut values);
    logs(&mut values);
    histograms(&mut values);
    samples(&mut values);
    monitors(&mut values);
    runs(&mut values);
    isis(&mut values);
    values.made
}

fn events(v: &mut Values) {
    let (pulses, events) = (1 + v.below(4), v.below(20));
    let (source, message_id) = (v.text(), v.next());
    let (times, index) = (v.times(pulses), v.index(pulses, events));
    let (tof, ids) = (v.column::<u32>(events), v.column::<u32>(events));
    let signed_id = message_id.cast_signed();
    let (signed_tof, signed_ids) = (Column::<i32>::from(&tof[..]), Column::<i32>::from(&ids[..]));
    put!(v "ev44" Ev44 {
        source_name: &source,
        message_id: signed_id,
        reference_time: (&times).into(),
        reference_time_index: (&index).into(),
        time_of_flight: signed_tof,
        pixel_id: signed_ids,
    });
    let weight = v.column::<i16>(events);
    v.made.push((
        "an44",
        foreign::write_an44(&An44 {
            source_name: &source,
            message_id: signed_id,
            reference_time: (&times).into(),
            reference_time_index: (&index).into(),
            time_of_flight: signed_tof,
            pixel_id: signed_ids,
            weight: (&weight).into(),
        }),
    ));
    let unsigned_times: Vec<u64> = times.iter().map(|time| time.unsigned_abs()).collect();
    let unsigned_index: Vec<u32> = index.iter().map(|first| first.unsigned_abs()).collect();
    v.made.push((
        "ev43",
        foreign::write_ev43(&Ev43 {
            source_name: Some(&source),
            message_id,
            pulse_time: (&unsigned_times).into(),
            pulse_index: (&unsigned_index).into(),
            time_of_flight: (&tof).into(),
            detector_id: (&ids).into(),
        }),
    ));
    let ev42 = Ev42 {
        source_name: Some(&source),
        message_id,
        pulse_time: unsigned_times[0],
        time_of_flight: (&tof).into(),
        detector_id: (&ids).into(),
        facility: None,
    };
    put!(v "ev42" ev42);
    let isis = IsisData {
        period_number: tof.first().copied().unwrap_or(0),
        run_state: v.of(RunState::ALL),
        proton_charge: v.numbers(1)[0] as f32,
    };
    put!(v "ev42_isis" Ev42 { facility: Some(Facility::IsisData(isis)), ..ev42 });
    let (amplitude, times) = (v.column::<u32>(events), v.column::<u64>(events));
    let adc = AdcPulseDebug {
        amplitude: (&amplitude).into(),
        peak_time: (&times).into(),
        ..AdcPulseDebug::default()
    };
    put!(v "ev42_adc" Ev42 { facility: Some(Facility::AdcPulseDebug(adc)), ..ev42 });
}

fn logs(v: &mut Values) {
    let (source_name, timestamp, count) = (v.text(), v.time(), v.below(5));
    let floats = v.numbers(count);
    let halves: Vec<f32> = floats.iter().map(|value| *value as f32).collect();
    macro_rules! each_type {
        ($($type:ident $scalar:literal $array:literal)+) => {$(
            let numbers = v.column::<$type>(count);
            let scalar: Scalar = v.column::<$type>(1)[0].into();
            let array: Array<'_> = (&numbers).into();
            log(v, [$scalar, $array], &source_name, timestamp, scalar, array);
        )+};
    }
    each_type! {
        i8 "int8" "int8_array" u8 "uint8" "uint8_array" i16 "int16" "int16_array" u16 "uint16" "uint16_array"
        i32 "int32" "int32_array" u32 "uint32" "uint32_array" i64 "int64" "int64_array" u64 "uint64" "uint64_array"
    }
    let (single, double) = (v.numbers(1)[0] as f32, v.numbers(1)[0]);
    log(v, ["float32", "float32_array"], &source_name, timestamp, single.into(), (&halves).into());
    log(v, ["float64", "float64_array"], &source_name, timestamp, double.into(), (&floats).into());
    let (text, other, time) = (v.text(), v.text(), v.time());
    let log = F142 {
        source_name: None,
        value: f142::Value::Text(&text),
        timestamp: time.unsigned_abs(),
        status: v.of(f142::AlarmStatus::ALL),
        severity: v.of(f142::AlarmSeverity::ALL),
    };
    put!(v "f142_text" log);
    put!(v "f142_texts" F142 { value: f142::Value::Texts(vec![&text, &other]), ..log });
    put!(v "al00" Al00 { source_name: Some(&source_name), timestamp, severity: v.of(al00::Severity::ALL), message: Some(&text) });
    let service_id = Some(text.as_str());
    put!(v "ep00" Ep00 { timestamp: time.unsigned_abs(), status: v.of(ep00::Connection::ALL), source_name: Some(&other), service_id });
    put!(v "ep01" Ep01 { timestamp: time, status: v.of(ep01::Connection::ALL), source_name: &other, service_id: None });
}

/// The same value in f144 and f142, as a number and as an array.
fn log(
    v: &mut Values,
    names: [&'static str; 2],
    source_name: &str,
    timestamp: i64,
    scalar: Scalar,
    array: Array<'_>,
) {
    let f144 = [f144::Value::Scalar(scalar), f144::Value::Array(array)];
    let f142 = [f142::Value::Scalar(scalar), f142::Value::Array(array)];
    for ((name, f144), f142) in names.into_iter().zip(f144).zip(f142) {
        let bytes = F144 { source_name, timestamp, value: f144 }.encode(&mut v.encoder).to_vec();
        v.made.push((name, bytes));
        let (status, severity) = (f142::AlarmStatus::NoChange, f142::AlarmSeverity::NoChange);
        let timestamp = timestamp.unsigned_abs();
        let log = F142 { source_name: Some(source_name), value: f142, timestamp, status, severity };
        let bytes = log.encode(&mut v.encoder).to_vec();
        v.made.push((name, bytes));
    }
}

fn histograms(v: &mut Values) {
    let (x, y) = (1 + v.below(4), 1 + v.below(4));
    let (source, label, timestamp) = (v.text(), v.text(), v.time());
    let (counts, errors) = (v.column::<i32>(x * y), v.numbers(x * y));
    let (edges_x, edges_y) = (v.numbers(x + 1), v.column::<i64>(y + 1));
    let shape = [i64::try_from(x).unwrap_or(0), i64::try_from(y).unwrap_or(0)];
    let flat = [i32::try_from(x).unwrap_or(0), i32::try_from(y).unwrap_or(0)];
    let text = label.as_bytes();
    let text_length = [i64::try_from(text.len()).unwrap_or(0)];
    let variable = |name, shape, data| da00::Variable {
        label: Some(&label),
        ..da00::Variable::new(name, Some(&source), ["x", "y"][..<[i64]>::len(shape)].to_vec(), shape, data)
    };
    let data = vec![
        variable("signal", &shape[..], Data::from(&counts)),
        variable("errors", &shape[..], Data::from(&errors)),
        variable("x", &shape[..1], Data::from(&edges_x[..x])),
        variable("total", &[], Data::from(&counts[..1])),
        da00::Variable { axes: Vec::new(), ..variable("text", &text_length[..], Data::Text(text)) },
    ];
    put!(v "da00" Da00 { source_name: &source, timestamp, data });
    let dimension = |length, bin_boundaries| hs01::Dimension {
        length,
        unit: Some("mm"),
        label: Some(&label),
        bin_boundaries,
    };
    put!(v "hs01" Hs01 {
        source: Some(&source),
        timestamp,
        dim_metadata: vec![
            dimension(flat[0], Some(Counts::Float64((&edges_x).into()))),
            dimension(flat[1], Some(Counts::Int64((&edges_y).into()))),
        ],
        last_metadata_timestamp: timestamp,
        current_shape: (&flat).into(),
        offset: (&[0, 0]).into(),
        data: Some(Counts::Int32((&counts).into())),
        errors: Some(Counts::Float64((&errors).into())),
        info: Some(&label),
    });
    let unsigned: Vec<u32> = counts.iter().map(|count| count.unsigned_abs()).collect();
    let lengths = flat.map(i32::unsigned_abs);
    let dimension =
        |length, bin_boundaries| hs00::Dimension { length, unit: None, label: Some(&label), bin_boundaries };
    v.made.push((
        "hs00",
        foreign::write_hs00(&Hs00 {
            source: Some(&source),
            timestamp: timestamp.unsigned_abs(),
            dim_metadata: vec![dimension(lengths[0], Some((&edges_x).into())), dimension(lengths[1], None)],
            last_metadata_timestamp: 0,
            current_shape: (&lengths).into(),
            offset: Column::default(),
            data: Some((&unsigned).into()),
            errors: None,
            info: None,
        }),
    ));
    let attribute =
        ad00::Attribute { name: &label, description: Some(&source), source: None, data: (&edges_y).into() };
    let text = ad00::Attribute { data: Data::Text(source.as_bytes()), ..attribute };
    let id = flat[0];
    let frame = Ad00 {
        source_name: &source,
        id,
        timestamp,
        dimensions: (&shape).into(),
        data: (&counts).into(),
        attributes: vec![attribute, text],
    };
    v.made.push(("ad00", foreign::write_ad00(&frame)));
}

fn samples(v: &mut Values) {
    let (name, timestamp, count) = (v.text(), v.time(), v.below(5));
    let (times, channel) = (v.times(count), v.column::<i32>(1)[0]);
    let unsigned_times: Vec<u64> = times.iter().map(|time| time.unsigned_abs()).collect();
    let (values, floats) = (v.column::<u16>(count), v.numbers(count));
    let timestamp_location = v.of(Location::ALL);
    let se00 = Se00 {
        name: &name,
        channel,
        packet_timestamp: timestamp,
        time_delta: 22.5,
        timestamp_location,
        values: (&values).into(),
        timestamps: (&times).into(),
        message_counter: -3,
    };
    put!(v "se00" se00);
    put!(v "se00_float64" Se00 { values: (&floats).into(), timestamps: Column::default(), ..se00 });
    let mut senv = Senv {
        layout: Layout::Union,
        name: &name,
        channel,
        packet_timestamp: timestamp.unsigned_abs(),
        time_delta: 22.5,
        timestamp_location,
        values: (&values).into(),
        timestamps: (&unsigned_times).into(),
        message_counter: v.next(),
    };
    v.made.push(("senv", foreign::write_senv(&senv)));
    senv.layout = Layout::Vector;
    v.made.push(("senv_2018", foreign::write_senv(&senv)));
    put!(v "tdct" Tdct { name: &name, timestamps: (&unsigned_times).into(), sequence_counter: 7 });
    let raw_data = v.column::<u8>(count * 3);
    put!(v "ar51" Ar51 { source_name: &name, message_id: i64::from(channel), raw_data: &raw_data });
}

fn monitors(v: &mut Values) {
    let (source, count) = (v.text(), v.below(5));
    let (counts, words) = (v.column::<u32>(count), v.column::<u16>(count));
    let histograms = Histograms {
        xstrips: (&counts).into(),
        ystrips: (&counts).into(),
        cluster_spectrum: (&counts).into(),
        bin_width: 4,
        ..Histograms::default()
    };
    let sample = |strip: &u16| Sample { time: *strip / 2, strip: *strip, adc: *strip / 3 };
    let samples: Vec<Sample> = words.iter().map(sample).collect();
    let track =
        Track { time_offset: v.next(), xtrack: samples.clone(), ytrack: samples, xpos: 1.5, ypos: -2.5 };
    let (plane, time) = ((&words).into(), (&counts).into());
    let hits = Hits { plane, time, channel: plane, adc: plane };
    for (names, data) in [
        (["mo01_histograms", "mo01_histograms_2018"], Monitor::Histograms(histograms)),
        (["mo01_track", "mo01_track_2018"], Monitor::Track(track)),
        (["mo01_hits", "mo01_hits_2018"], Monitor::Hits(hits)),
    ] {
        let marked = Mo01 { source_name: Some(&source), data: data.clone() };
        v.made.push((names[0], foreign::write_mo01(&marked, true)));
        v.made.push((names[1], foreign::write_mo01(&Mo01 { source_name: None, data }, false)));
    }
}
