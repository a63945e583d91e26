//! Lengths, indices, shapes, times, unknown values, absent fields, and messages that are large.

use crate::examples::foreign;
use crate::generated::{ev44 as ev44_wire, f142 as f142_wire, f144 as f144_wire};
use crate::hs01::Counts;
use crate::mo01::{Data as Monitor, Hits};
use crate::senv::Layout;
use crate::{
    Ad00, Column, Da00, Data, Encoder, Ev42, Ev44, F144, Hs01, Location, Mo01, Pl72, RefusedCounters,
    RefusedReason, S6s4t, Schema, Senv, TOO_LATE_NS, Tdct, da00, decode, hs01,
};

fn reason(bytes: &[u8]) -> Option<RefusedReason> {
    decode(bytes).err().map(|refused| refused.reason())
}

fn said(bytes: &[u8]) -> String {
    decode(bytes).expect_err("this message is refused").to_string()
}

const T: i64 = 1_580_460_273_162_000_001;

/// Events with these columns.
fn ev44(times: &[i64], index: &[i32], tof: &[i32], ids: &[i32]) -> Vec<u8> {
    Ev44 {
        source_name: "x",
        message_id: 1,
        reference_time: times.into(),
        reference_time_index: index.into(),
        time_of_flight: tof.into(),
        pixel_id: ids.into(),
    }
    .encode(&mut Encoder::new())
    .to_vec()
}

#[test]
fn lengths_of_event_columns() {
    assert_eq!(reason(&ev44(&[T], &[0], &[1, 2], &[1, 2])), None);
    assert_eq!(reason(&ev44(&[T], &[0], &[1, 2], &[])), None, "ids may be left out");
    assert_eq!(
        said(&ev44(&[T], &[0], &[1, 2], &[1])),
        "ev44: pixel_id has 1 values, time_of_flight 2: they must be as many"
    );
    assert_eq!(reason(&ev44(&[T], &[0], &[], &[1])), Some(RefusedReason::Lengths));
    assert_eq!(reason(&ev44(&[T, T], &[0], &[1], &[1])), Some(RefusedReason::Lengths));
    let ev42 = |ids: &[u32]| {
        let (time_of_flight, detector_id) = ((&[1, 2]).into(), ids.into());
        Ev42 { pulse_time: 5, time_of_flight, detector_id, ..Ev42::default() }
            .encode(&mut Encoder::new())
            .to_vec()
    };
    assert_eq!((reason(&ev42(&[])), reason(&ev42(&[1]))), (None, Some(RefusedReason::Lengths)));
}

#[test]
fn the_index_of_pulses() {
    assert_eq!(reason(&ev44(&[T, T], &[0, 2], &[1, 2], &[1, 2])), None, "a last pulse without events");
    assert_eq!(reason(&ev44(&[], &[], &[], &[])), None);
    for (times, index, expected) in [
        (&[T][..], &[1][..], "ev44: reference_time_index[0] is 1; the first pulse begins at 0"),
        (&[T], &[-1], "ev44: reference_time_index[0] is -1; the first pulse begins at 0"),
        (&[T, T], &[0, 3], "ev44: reference_time_index[1] is 3; there are 2 events"),
        (&[T, T, T], &[0, 2, 1], "ev44: reference_time_index[2] is 1; the pulse before it begins at 2"),
        (&[], &[], "ev44: reference_time_index[0] is 0; there are no pulses, and 2 events"),
    ] {
        let bytes = ev44(times, index, &[1, 2], &[1, 2]);
        assert_eq!((said(&bytes).as_str(), reason(&bytes)), (expected, Some(RefusedReason::Index)));
    }
}

#[test]
fn times() {
    let log = |timestamp| {
        F144 { source_name: "x", timestamp, value: 1.into() }.encode(&mut Encoder::new()).to_vec()
    };
    assert_eq!(decode(&log(0)).unwrap().time_ns(), None);
    assert_eq!(decode(&log(T)).unwrap().time_ns(), Some(T));
    assert_eq!(reason(&log(TOO_LATE_NS - 1)), None);
    for late in [-1, i64::MIN, TOO_LATE_NS, i64::MAX] {
        assert_eq!(reason(&log(late)), Some(RefusedReason::Time), "{late}");
        assert_eq!(reason(&ev44(&[T, late], &[0, 0], &[], &[])), Some(RefusedReason::Time), "{late}");
    }
    let stamps = |times: &[u64]| {
        Tdct { name: "c", timestamps: times.into(), sequence_counter: 0 }.encode(&mut Encoder::new()).to_vec()
    };
    assert_eq!(
        said(&stamps(&[1, u64::MAX])),
        format!("tdct: timestamps is {}: times are nanoseconds since 1970, before 2100", u64::MAX)
    );
    let stop = |stop_time| S6s4t { stop_time, ..S6s4t::default() }.encode(&mut Encoder::new()).to_vec();
    assert_eq!(decode(&stop(9_223_372_036_854)).unwrap().time_ns(), Some(9_223_372_036_854_000_000));
    assert_eq!(reason(&stop(9_223_372_036_855)), Some(RefusedReason::Time));
    let start = Pl72 { start_time: u64::MAX, ..Pl72::default() };
    assert_eq!(reason(start.encode(&mut Encoder::new())), Some(RefusedReason::Time));
}

#[test]
fn shapes_of_arrays() {
    let array = |shape: &[i64], axes: &[&'static str], data: Data<'_>| {
        let variable = da00::Variable::new("signal", None, axes.to_vec(), shape, data);
        Da00 { source_name: "x", timestamp: T, data: vec![variable] }.encode(&mut Encoder::new()).to_vec()
    };
    assert_eq!(reason(&array(&[2, 2], &["y", "x"], (&[1, 2, 3, 4]).into())), None);
    assert_eq!(reason(&array(&[], &[], (&[1.5]).into())), None);
    assert_eq!(reason(&array(&[0], &["x"], (&[0_i32; 0]).into())), None);
    assert_eq!(
        said(&array(&[2, 3], &[], (&[1, 2]).into())),
        "da00: data of signal: has 2 values; its shape asks for 6"
    );
    assert_eq!(reason(&array(&[-2, -1], &[], (&[1, 2]).into())), Some(RefusedReason::Shape));
    assert_eq!(reason(&array(&[i64::MAX, 4, 4], &[], (&[1, 2]).into())), Some(RefusedReason::Shape));
    assert_eq!(reason(&array(&[2], &["x", "y"], (&[1, 2]).into())), Some(RefusedReason::Lengths));

    let frame = |dimensions: &[i64]| {
        let (dimensions, data) = (dimensions.into(), (&[1_u16, 2]).into());
        foreign::write_ad00(&Ad00 {
            source_name: "x",
            id: 1,
            timestamp: T,
            dimensions,
            data,
            attributes: vec![],
        })
    };
    assert_eq!((reason(&frame(&[2, 1])), reason(&frame(&[2, 2]))), (None, Some(RefusedReason::Shape)));
}

#[test]
fn shapes_of_histograms() {
    let histogram = |length: i32, shape: &[i32], offset: &[i32], counts: &[i32], edges: &[f64]| {
        let bin_boundaries = Some(Counts::Float64(edges.into()));
        let dim_metadata = vec![hs01::Dimension { length, bin_boundaries, ..hs01::Dimension::default() }];
        let data = Some(Counts::Int32(counts.into()));
        let (current_shape, offset) = (shape.into(), offset.into());
        Hs01 { timestamp: T, dim_metadata, current_shape, offset, data, ..Hs01::default() }
            .encode(&mut Encoder::new())
            .to_vec()
    };
    let edges = [0.0, 1.0, 2.0, 3.0];
    assert_eq!(reason(&histogram(3, &[3], &[], &[1, 2, 3], &edges)), None);
    assert_eq!(reason(&histogram(3, &[2], &[1], &[2, 3], &edges)), None, "a piece");
    for bytes in [
        histogram(3, &[2], &[2], &[2, 3], &edges),
        histogram(3, &[3], &[-1], &[1, 2, 3], &edges),
        histogram(3, &[3], &[], &[1, 2], &edges),
        histogram(3, &[-1], &[], &[], &edges),
        histogram(3, &[3], &[], &[1, 2, 3], &edges[..2]),
        histogram(-3, &[0], &[], &[], &edges),
    ] {
        assert_eq!(reason(&bytes), Some(RefusedReason::Shape), "{}", said(&bytes));
    }
    assert_eq!(reason(&histogram(3, &[3], &[0, 0], &[1, 2, 3], &edges)), Some(RefusedReason::Lengths));
    assert_eq!(reason(&histogram(3, &[3, 1], &[], &[1, 2, 3], &edges)), Some(RefusedReason::Lengths));
}

#[test]
fn lengths_of_samples_and_hits() {
    let samples = |layout, values: &[u16], times: &[u64]| {
        foreign::write_senv(&Senv {
            layout,
            name: "adc",
            channel: 1,
            packet_timestamp: T.unsigned_abs(),
            time_delta: 1.0,
            timestamp_location: Location::Start,
            values: values.into(),
            timestamps: times.into(),
            message_counter: 0,
        })
    };
    for layout in [Layout::Union, Layout::Vector] {
        assert_eq!(reason(&samples(layout, &[1, 2], &[5, 6])), None);
        assert_eq!(reason(&samples(layout, &[1, 2], &[])), None);
        assert_eq!(reason(&samples(layout, &[1, 2], &[5])), Some(RefusedReason::Lengths));
        assert_eq!(reason(&samples(layout, &[1], &[u64::MAX])), Some(RefusedReason::Time));
    }
    let hits =
        Hits { plane: (&[1]).into(), time: (&[1]).into(), channel: (&[1]).into(), adc: Column::default() };
    let bytes = foreign::write_mo01(&Mo01 { source_name: None, data: Monitor::Hits(hits) }, true);
    assert_eq!(reason(&bytes), Some(RefusedReason::Lengths));
}

#[test]
fn absent_fields() {
    let mut e = Encoder::new();
    // The builder itself insists on what is required: only the times are there.
    let times = e.builder.create_vector(&[T]);
    let start = e.builder.start_table();
    e.builder.push_slot_always(ev44_wire::Events::VT_REFERENCE_TIME, times);
    let root = e.builder.end_table(start);
    let bytes = e.finish(root, Schema::Ev44).to_vec();
    assert_eq!(
        (said(&bytes).as_str(), reason(&bytes)),
        ("ev44: source_name is absent", Some(RefusedReason::Absent))
    );

    let mut e = Encoder::new();
    let root = f142_wire::Log::create(&mut e.builder, &f142_wire::LogArgs::default());
    assert_eq!(said(e.finish(root, Schema::F142)), "f142: value is absent");
}

#[test]
fn unknown_values() {
    let mut e = Encoder::new();
    let value = f144_wire::Int::create(&mut e.builder, &f144_wire::IntArgs { value: 1 });
    let source_name = e.text("x");
    let value = Some(value.as_union_value());
    let args = f144_wire::LogArgs { source_name, timestamp: 1, value_type: f144_wire::Value(77), value };
    let root = f144_wire::Log::create(&mut e.builder, &args);
    let bytes = e.finish(root, Schema::F144).to_vec();
    assert_eq!(said(&bytes), "f144: value_type is 77, which the schema does not define");
    assert_eq!(reason(&bytes), Some(RefusedReason::UnknownValue));
}

#[test]
fn absent_columns_of_events_are_empty_ones() {
    let mut e = Encoder::new();
    let source_name = e.text("x");
    let reference_time = e.column(Column::from(&[T]));
    let reference_time_index = e.column(Column::from(&[0]));
    let args =
        ev44_wire::EventsArgs { source_name, reference_time, reference_time_index, ..Default::default() };
    let root = ev44_wire::Events::create(&mut e.builder, &args);
    let bytes = e.finish(root, Schema::Ev44);
    let message = Ev44::decode(bytes).unwrap();
    assert_eq!((message.events(), message.pulses().collect::<Vec<_>>()), (0, vec![(T, 0..0)]));
}

#[test]
fn ten_megabytes_are_read() {
    let numbers = vec![1_i32; 1_250_000];
    let bytes = ev44(&[T], &[0], &numbers, &numbers);
    assert!(bytes.len() > 10_000_000);
    assert_eq!(reason(&bytes), None);
}

/// Half a million references to one long text: ten megabytes that without a limit keep a reader busy for hours.
#[test]
fn contents_that_are_many_times_their_message_are_refused() {
    let mut e = Encoder::new();
    let text = e.builder.create_string(&"x".repeat(8_000_000));
    let texts = Some(e.builder.create_vector(&vec![text; 500_000]));
    let value = f142_wire::ArrayString::create(&mut e.builder, &f142_wire::ArrayStringArgs { value: texts });
    let value = Some(value.as_union_value());
    let args = f142_wire::LogArgs { value_type: f142_wire::Value::ArrayString, value, ..Default::default() };
    let root = f142_wire::Log::create(&mut e.builder, &args);
    let bytes = e.finish(root, Schema::F142);
    assert_eq!(reason(bytes), Some(RefusedReason::Damaged));
}

#[test]
fn refusals_are_counted_by_reason() {
    let mut counters = RefusedCounters::default();
    for reason in RefusedReason::ALL {
        counters.count(*reason);
        assert_eq!(counters.of(*reason), 1, "{}", reason.name());
        assert!(reason.help().ends_with('.'));
    }
    assert_eq!(counters.total(), u64::try_from(RefusedReason::ALL.len()).unwrap());
    let names: Vec<_> = <RefusedCounters as evforge_core::counter::CounterSet>::infos()
        .iter()
        .map(|info| info.name)
        .collect();
    assert_eq!(names, RefusedReason::ALL.iter().map(|reason| reason.name()).collect::<Vec<_>>());
}
