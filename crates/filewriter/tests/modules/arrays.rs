//! Modules of arrays: da00 as variables and as a monitor, histograms, frames, the ledger, raw packets.
#![allow(clippy::unwrap_used)]

use crate::common::{Written, plain, refused};
use evforge_filewriter::modules::SkipReason;
use evforge_messages::da00::Variable;
use evforge_messages::examples::foreign;
use evforge_messages::hs01::{Counts, Dimension};
use evforge_messages::{Ad00, Ar51, Da00, Data, Encoder, Hs01};
use serde_json::{Value, json};

fn da00(timestamp: i64, data: Vec<Variable<'_>>) -> Vec<u8> {
    Da00 { source_name: "source", timestamp, data }.encode(&mut Encoder::new()).to_vec()
}

fn settings() -> Value {
    json!({
        "cue_interval": 2,
        "variables": [
            {"name": "signal", "unit": "counts", "label": null, "data_type": "int32", "axes": ["x", "y"], "shape": [2, 2]},
            {"name": "total", "data_type": "float64", "shape": [1]},
        ],
        "constants": [
            {"name": "x", "unit": "mm", "axes": ["x"], "data": {"first": 0, "last": 1, "size": 3}},
            {"name": "y", "data_type": "int16", "shape": [3]},
        ],
        "attributes": {"note": "an example"},
        "title": "A picture",
    })
}

#[test]
fn variables_have_a_row_for_each_message_and_constants_one() {
    let mut file = Written::begin("da00", settings());
    let signal = |values: &'static [i32]| Variable::new("signal", None, vec!["x", "y"], &[2, 2], values);
    let y = Variable::new("y", None, vec!["y"], &[3], &[5_i64, 6, 70_000]);
    file.write(&da00(10, vec![signal(&[1, 2, 3, 4]), Variable::single("total", None, &[10_i32]), y]))
        .unwrap();
    file.restart(&[da00(20, vec![signal(&[9, 9, 9, 9])])]);
    // A variable that is absent is filled.
    file.write(&da00(20, vec![signal(&[5, 6, 7, 8])])).unwrap();
    let odd = Variable::new("signal", None, vec!["x"], &[4], &[1, 2, 3, 4]);
    let skipped = file.write(&da00(30, vec![odd])).unwrap_err();
    assert_eq!(skipped.reason, SkipReason::Shape);
    assert_eq!(skipped.what, "signal has the shape [4] where the dataset has [2, 2]");
    assert_eq!(file.write(&da00(30, vec![])).unwrap_err().reason, SkipReason::Shape);
    let text = vec![Variable::text("signal", "text")];
    assert_eq!(file.write(&da00(30, text)).unwrap_err().reason, SkipReason::ValueKind);
    file.close();
    assert_eq!(file.dataset("signal").shape(), [2, 2, 2]);
    assert_eq!(file.values::<i32>("signal"), [1, 2, 3, 4, 5, 6, 7, 8]);
    let totals = file.values::<f64>("total");
    assert!(totals[0] == 10.0 && totals[1].is_nan(), "{totals:?}");
    assert_eq!(file.values::<u64>("time"), [10, 20]);
    assert_eq!(file.values::<i64>("cue_index"), [1]);
    assert_eq!(file.values::<f64>("x"), [0.0, 0.5, 1.0]);
    assert_eq!(file.values::<i16>("y"), [5, 6, i16::MAX]);
    assert_eq!(file.attribute("signal", "axes").as_deref(), Some("time:x:y"));
    assert_eq!(file.attribute("signal", "units").as_deref(), Some("counts"));
    assert_eq!(file.attribute("x", "axes").as_deref(), Some("x"));
    assert_eq!(file.attribute("", "signal").as_deref(), Some("signal"));
    assert_eq!(file.attribute("", "note").as_deref(), Some("an example"));
    let axes = file.group().attr("axes").unwrap().read_raw::<hdf5_metno::types::VarLenUnicode>().unwrap();
    assert_eq!(axes.iter().map(|axis| axis.as_str()).collect::<Vec<_>>(), ["time", "x", "y"]);
    assert!(file.notes[0].starts_with("variables[0]/label: null is the text of the first message"));
}

#[test]
fn what_cannot_be_known_later_must_be_said() {
    let with = |variable: Value| refused("da00", json!({"variables": [variable]}));
    assert_eq!(
        with(json!({"name": "a", "shape": [1]})),
        "variables[0]/data_type: found null, expected a type: nothing can be added to the file after the first message"
    );
    assert!(with(json!({"name": "a", "data_type": "int8"})).starts_with("variables[0]/shape: found null"));
    assert!(with(json!({"name": "a/b"})).starts_with("variables[0]/name: found \"a/b\", expected the name"));
    assert!(with(json!(5)).starts_with("variables[0]: found 5, expected an object"));
    let huge = json!({"name": "a", "data_type": "int8", "shape": [1_u64 << 40, 1_u64 << 40]});
    assert!(
        with(huge).starts_with("variables[0]/shape: found [1099511627776,1099511627776], expected a list")
    );
    let large = json!([{"name": "a", "data_type": "int8", "shape": [1 << 28]},
        {"name": "b", "data_type": "int8", "shape": [1]}]);
    let text = refused("da00", json!({"constants": large}));
    assert!(text.starts_with("constants[1]: found {") && text.contains("268435456 bytes in all"), "{text}");
    let twice = json!({"name": "a", "data_type": "int8", "shape": [1]});
    let text = refused("da00", json!({"variables": [twice, twice]}));
    assert_eq!(text, "variables[1]/name: found \"a\", expected a name that no other entry has");
    let text = refused("da00", json!({"constants": [{"name": "a", "data": [[1, 2], [3]]}]}));
    assert!(text.starts_with("constants[0]/data: found [[1,2],[3]], expected numbers"), "{text}");
    let text = refused("da00", json!({"attributes": {"a": {}}}));
    assert!(text.starts_with("attributes/a: found {}, expected a text"), "{text}");
}

#[test]
fn frames_have_the_shape_of_the_configuration() {
    let mut file =
        Written::begin("ad00", json!({"dtype": "uint16", "array_size": [2, 3], "cue_interval": 1}));
    let (right, wrong) = ([2_i64, 3], [3_i64, 2]);
    let frame = |timestamp, dimensions: &[i64; 2], first: u16| {
        let values: Vec<u16> = (first..first + 6).collect();
        foreign::write_ad00(&Ad00 {
            source_name: "source",
            id: 1,
            timestamp,
            dimensions: dimensions.into(),
            data: Data::Numbers((&values).into()),
            attributes: Vec::new(),
        })
    };
    file.write(&frame(10, &right, 0)).unwrap();
    let skipped = file.write(&frame(20, &wrong, 0)).unwrap_err();
    assert_eq!(skipped.what, "a frame of [3, 2] where the dataset has [2, 3]");
    file.restart(&[frame(20, &right, 9)]);
    file.write(&frame(20, &right, 6)).unwrap();
    file.close();
    assert_eq!(file.dataset("value").shape(), [2, 2, 3]);
    assert_eq!(file.values::<u16>("value"), (0..12).collect::<Vec<u16>>());
    assert_eq!(file.values::<u64>("time"), [10, 20]);
    assert_eq!(file.values::<i64>("cue_index"), [0, 1]);
}

#[test]
fn differences_of_a_monitor_are_added_up() {
    let mut file = Written::begin("da00", json!({"accumulate": true, "shape": [3]}));
    let counts = |timestamp, counts: &'static [i64; 3]| {
        da00(
            timestamp,
            vec![
                Variable::new("signal", Some("counts"), vec!["frame_time"], &[3], counts),
                Variable::new("frame_time", Some("ns"), vec!["frame_time"], &[4], &[0_i64, 10, 20, 30]),
            ],
        )
    };
    file.write(&counts(10, &[1, 2, 3])).unwrap();
    file.restart(&[counts(20, &[100, 100, 100])]);
    file.write(&counts(20, &[10, 0, 0])).unwrap();
    file.write(&counts(20, &[0, 0, i64::MAX])).unwrap();
    let short = Variable::new("signal", None, vec![], &[2], &[1_i64, 2]);
    assert_eq!(file.write(&da00(30, vec![short])).unwrap_err().reason, SkipReason::Shape);
    file.close();
    assert_eq!(file.values::<i64>("data"), [11, 2, i64::MAX]);
    assert_eq!(file.scalar::<i64>("integral"), i64::MAX);
    assert_eq!(file.values::<f64>("time_of_flight"), [0.0, 10.0, 20.0, 30.0]);
    assert_eq!(file.attribute("data", "units").as_deref(), Some("counts"));
    assert_eq!(file.attribute("time_of_flight", "units").as_deref(), Some("ns"));
    assert_eq!(file.attribute("", "NX_class").as_deref(), Some("NXmonitor"));
    assert_eq!(file.attribute("", "signal").as_deref(), Some("data"));
}

#[test]
fn histograms_are_replaced_as_a_whole_or_in_pieces() {
    let settings = json!({"shape": [2, 3], "axes": ["x", "y"], "edges": [0, 0.5, 1], "dtype": "double"});
    let mut file = Written::begin("hs01", settings);
    let message = |shape: &[i32], offset: &[i32], values: &[f64]| {
        let dimension = Dimension { length: 2, ..Dimension::default() };
        let edges = Some(Counts::Int32((&[7, 8, 9, 10]).into()));
        let message = Hs01 {
            source: Some("source"),
            timestamp: 10,
            dim_metadata: vec![dimension, Dimension { length: 3, bin_boundaries: edges, ..dimension }],
            current_shape: shape.into(),
            offset: offset.into(),
            data: Some(Counts::Float64(values.into())),
            ..Hs01::default()
        };
        message.encode(&mut Encoder::new()).to_vec()
    };
    file.write(&message(&[2, 3], &[], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.5])).unwrap();
    file.restart(&[message(&[2, 3], &[], &[9.0; 6])]);
    file.write(&message(&[1, 2], &[1, 1], &[50.0, 60.0])).unwrap();
    assert_eq!(file.write(&message(&[1, 2], &[], &[0.0, 0.0])).unwrap_err().reason, SkipReason::Shape);
    file.close();
    assert_eq!(file.values::<f64>("data"), [1.0, 2.0, 3.0, 4.0, 50.0, 60.0]);
    assert_eq!(file.scalar::<f64>("integral"), 120.0);
    assert_eq!(file.values::<f64>("x"), [0.0, 0.5, 1.0]);
    assert_eq!(file.values::<f64>("y"), [7.0, 8.0, 9.0, 10.0]);
    assert!(refused("hs01", plain()).starts_with("shape: found null, expected the lengths of the axes"));
    let text = refused("hs01", json!({"shape": [2], "edges": [1, 2]}));
    assert_eq!(text, "edges: found [1,2], expected 3 edges: one more than bins");
    let text = refused("hs01", json!({"shape": [2, 2], "axes": ["x", "data"]}));
    assert!(text.starts_with("axes: found [\"x\",\"data\"], expected 2 names"), "{text}");
    let text = refused("hs01", json!({"shape": [2], "dtype": "int8"}));
    assert_eq!(text, "dtype: found \"int8\", expected int64 or float64: counts are summed up");
}

#[test]
fn the_ledger_has_a_row_for_each_message() {
    let mut file = Written::begin("evforge_ledger", plain());
    let data = vec![
        Variable::single("message_id", None, &[7_i64]),
        Variable::single("reference_time", Some("ns"), &[1_790_000_000_000_000_001_i64]),
        Variable::single("packets_lost", Some("packets"), &[3_i64]),
    ];
    file.write(&da00(10, data)).unwrap();
    file.write(&da00(10, vec![Variable::single("live_fraction", None, &[0.5])])).unwrap();
    let other = file.write(&da00(20, vec![Variable::single("signal", None, &[1.0])])).unwrap_err();
    assert_eq!(other.reason, SkipReason::Shape);
    file.close();
    assert_eq!(file.values::<u64>("time"), [10, 10]);
    assert_eq!(file.values::<u64>("reference_time"), [1_790_000_000_000_000_001, 0]);
    let lost = file.values::<f64>("packets_lost");
    assert!(lost[0] == 3.0 && lost[1].is_nan(), "{lost:?}");
    assert_eq!(file.values::<f64>("live_fraction")[1], 0.5);
    assert_eq!(file.values::<hdf5_metno::types::FixedUnicode<64>>("source_name")[1].as_str(), "source");
}

#[test]
fn packets_lie_behind_each_other() {
    let mut file = Written::begin("ar51", plain());
    for (message_id, raw_data) in [(1, &b"abc"[..]), (2, b""), (3, b"de")] {
        file.write(Ar51 { source_name: "source", message_id, raw_data }.encode(&mut Encoder::new())).unwrap();
    }
    file.close();
    assert_eq!(file.values::<u8>("data"), b"abcde");
    assert_eq!(file.values::<i64>("data_index"), [0, 3, 3]);
    assert_eq!(file.values::<i64>("message_id"), [1, 2, 3]);
}
