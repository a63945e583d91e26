//! What is read.

use evforge_filewriter::structure::{Array, Dialects, ModuleKind, Node, RunTime, StreamModule, Values};
use serde_json::json;

use super::{entry, first, parsed};

fn modules(json: &str) -> Vec<StreamModule> {
    let structure = parsed(json);
    let modules = first(&structure).children.iter().filter_map(|child| match child {
        Node::Stream(module) => Some(module.clone()),
        _ => None,
    });
    modules.collect()
}

fn array(json: &str) -> Array {
    let structure = parsed(&entry(json));
    match &first(&structure).children[..] {
        [Node::Dataset(dataset)] => dataset.values.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn both_spellings_of_datasets_are_the_same() {
    let attributes = r#""attributes": [{"name": "units", "values": "m"}]"#;
    let new = parsed(&entry(&format!(
        r#"{{"module": "dataset", "config": {{"name": "x", "dtype": "float", "values": [[1, 2]]}}, {attributes}}}"#
    )));
    let old = parsed(&entry(&format!(
        r#"{{"type": "dataset", "name": "x", "values": [[1, 2]], "dataset": {{"type": "float"}}, {attributes}}}"#
    )));
    let older = parsed(&entry(&format!(
        r#"{{"type": "dataset", "name": "x", "values": [[1, 2]], "dtype": "float32", "size": [1, 2], {attributes}}}"#
    )));
    assert_eq!(new, old);
    assert_eq!(new, older);
    let Node::Dataset(dataset) = &first(&new).children[0] else { panic!() };
    assert_eq!(dataset.values, Array { shape: vec![1, 2], values: Values::F32(vec![1.0, 2.0]) });
    assert_eq!(dataset.attributes[0].values, Array { shape: vec![], values: Values::Text(vec!["m".into()]) });
}

#[test]
fn values_have_their_type_and_shape() {
    let of = |dtype: &str, values: &str| {
        array(&format!(
            r#"{{"module": "dataset", "config": {{"values": {values}, "name": "x", "type": "{dtype}"}}}}"#
        ))
    };
    assert_eq!(of("uint64", "10138143369737381149").values, Values::U64(vec![10_138_143_369_737_381_149]));
    assert_eq!(of("int", "[1.0, 2e3, -0, true]").values, Values::I32(vec![1, 2000, 0, 1]));
    assert_eq!(of("long", "-5").values, Values::I64(vec![-5]));
    assert_eq!(
        of("short", "[ [ 1 ] , [ 2 ] ]"),
        Array { shape: vec![2, 1], values: Values::I16(vec![1, 2]) }
    );
    assert_eq!(of("double", "[[], []]"), Array { shape: vec![2, 0], values: Values::F64(vec![]) });
    assert_eq!(of("double", "326.71000000000004").values, Values::F64(vec![326.710_000_000_000_04]));
    assert_eq!(of("float64", "0.1").values, Values::F64(vec![0.1]));
    assert_eq!(
        of("string", r#"["a\"]", "ä\u00fc, [", ""]"#),
        Array { shape: vec![3], values: Values::Text(vec!["a\"]".into(), "äü, [".into(), String::new()]) }
    );
    let structure =
        parsed(&entry(r#"{"module": "dataset", "config": {"name": "x", "dtype": "string", "value": 1.50}}"#));
    let Node::Dataset(dataset) = &first(&structure).children[0] else { panic!() };
    assert_eq!(dataset.values.values, Values::Text(vec!["1.50".into()]));
    assert_eq!(structure.notes, ["/entry[0]/config/values: what is no text is written as it is spelled"]);
}

#[test]
fn attributes_without_a_type_have_that_of_their_values() {
    let json = r#"{"children": [], "template_version": "7", "attributes":
        {"text": "a", "integer": -3, "large": 18446744073709551615, "real": 1.0, "flag": false, "axes": ["x", "."], "at": [0, 1]}}"#;
    let structure = parsed(json);
    let values: Vec<_> =
        structure.root.attributes.iter().map(|one| (one.name.as_str(), one.values.values.clone())).collect();
    assert_eq!(
        values,
        [
            ("text", Values::Text(vec!["a".into()])),
            ("integer", Values::I64(vec![-3])),
            ("large", Values::U64(vec![u64::MAX])),
            ("real", Values::F64(vec![1.0])),
            ("flag", Values::U8(vec![0])),
            ("axes", Values::Text(vec!["x".into(), ".".into()])),
            ("at", Values::I64(vec![0, 1])),
            ("template_version", Values::Text(vec!["7".into()])),
        ]
    );
    // As the file writer of the ESS has them, which knows lists without a type in this spelling only.
    let listed = parsed(
        r#"{"children": [], "attributes": [{"name": "at", "values": [0, 1]}, {"name": "n", "value": 1}]}"#,
    );
    assert_eq!(
        listed.root.attributes[0].values,
        Array { shape: vec![2], values: Values::F64(vec![0.0, 1.0]) }
    );
    assert_eq!(listed.root.attributes[1].values, Array { shape: vec![], values: Values::I64(vec![1]) });
}

#[test]
fn envelopes_are_opened() {
    let inner = entry("");
    for key in ["nexus_structure", "hdf_structure"] {
        let structure = parsed(&format!(r#"{{"cmd": "FileWriter_new", "{key}": {inner}}}"#));
        assert_eq!(structure.root, parsed(&inner).root);
        assert_eq!(structure.notes, ["/cmd: this key of the root is not used"]);
    }
}

#[test]
fn f144_brings_alarms_and_connection() {
    let module =
        |config: &str| format!(r#"{{"module": "f144", "config": {{"topic": "t", "source": "s"{config}}}}}"#);
    let kinds = |json: &str| modules(&entry(json)).iter().map(|module| module.kind).collect::<Vec<_>>();
    use ModuleKind::{Al00, Ep01, F144};
    assert_eq!(kinds(&module("")), [F144, Al00, Ep01]);
    assert_eq!(kinds(&module(r#", "enable_alarm_info": true"#)), [F144, Al00, Ep01]);
    assert_eq!(kinds(&module(r#", "enable_alarm_info": false"#)), [F144, Ep01]);
    assert_eq!(kinds(&module(r#", "enable_epics_con_info": false, "enable_alarm_info": false"#)), [F144]);
    let own = r#"{"module": "alarm_info", "config": {"topic": "other", "source": "s"}}"#;
    assert_eq!(kinds(&format!("{own}, {}", module(""))), [Al00, F144, Ep01]);
    let companion = &modules(&entry(&module(r#", "value_units": "K""#)))[1];
    assert_eq!((companion.topic.as_str(), &companion.sources), ("t", &vec!["s".to_owned()]));
    assert!(companion.settings.is_empty());
}

#[test]
fn settings_are_handed_on() {
    let config = json!({"topic": "t", "source": ["a", "b"], "writer_module": "da00", "string_size": 3, "cue_interval": 5,
        "attributes": {"a": 1}, "variables": [{"name": "x"}]});
    let json = entry(&json!({"module": "da00", "config": config}).to_string());
    let module = &modules(&json)[0];
    assert_eq!(module.sources, ["a", "b"]);
    assert_eq!(
        serde_json::Value::from(module.settings.clone()),
        json!({"cue_interval": 5, "attributes": {"a": 1}, "variables": [{"name": "x"}]})
    );
    assert_eq!(parsed(&json).notes, ["/entry[0]/config/string_size: this key is obsolete and not used"]);
    assert_eq!(parsed(&json).dialects, Dialects { module: true, stream: false });
}

/// The keys as ISIS's control program sends them: events, and all blocks in one group.
#[test]
fn logs_of_isis_get_groups_of_their_own() {
    let block = |source: &str| json!({"type": "stream", "stream": {"topic": "X_sampleEnv", "source": source, "writer_module": "f144"}});
    let json = json!({"children": [{
        "type": "group", "name": "raw_data_1", "attributes": [{"name": "NX_class", "values": "NXentry"}],
        "children": [
            {"type": "group", "name": "events", "attributes": [{"name": "NX_class", "values": "NXentry"}], "children": [
                {"type": "stream", "stream": {"topic": "X_events", "source": "KDAECTRL", "writer_module": "ev44"}}]},
            {"type": "group", "name": "selog", "children": [block("IN:X:CS:SB:temp"), block("IN:X:CS:SB:field"), block("IN:Y:CS:SB:temp")]},
        ],
    }]});
    let structure = parsed(&json.to_string());
    assert_eq!(structure.dialects, Dialects { module: false, stream: true });
    let [Node::Group(events), Node::Group(selog)] = &first(&structure).children[..] else { panic!() };
    assert!(matches!(&events.children[..], [Node::Stream(module)] if module.kind == ModuleKind::Ev44));
    let names = selog.children.iter().map(|child| match child {
        Node::Group(group) => (group.name.as_str(), group.children.len()),
        other => panic!("{other:?}"),
    });
    let names: Vec<_> = names.into_iter().collect();
    assert_eq!(names, [("temp", 3), ("field", 3), ("IN:Y:CS:SB:temp", 3)]);
    assert_eq!(
        structure.notes,
        [
            "/raw_data_1/events: NX_class is kept as it is given; ev44 would make it NXevent_data",
            "/raw_data_1/selog: each log has a group of its own here, with the name of its source behind the last colon",
        ]
    );
    // With one block it is the same, so that nobody has to look in two places.
    let one = json!({"children": [{"type": "group", "name": "selog", "children": [block("A:B")]}]});
    assert!(
        matches!(&first(&parsed(&one.to_string())).children[..], [Node::Group(group)] if group.name == "B")
    );
    // And without blocks there is nothing.
    assert!(
        first(&parsed(r#"{"children": [{"type": "group", "name": "selog", "children": []}]}"#))
            .children
            .is_empty()
    );
}

#[test]
fn keys_without_a_use_are_noted() {
    let structure = parsed(&entry(
        r#"{"module": "dataset", "values": 1, "config": {"name": "x", "values": 1, "string_size": 2, "attributes": {"a": 1}, "odd": 1}},
           {"module": "f144", "attributes": {"a": 1}, "config": {"topic": "t", "source": "s", "attributes": {"a": 1}, "stream": 1, "writer_module": "ev44"}},
           {"module": "mdat", "config": {"items": ["start_time"], "x": 1}}"#,
    ));
    assert_eq!(
        structure.notes,
        [
            "/entry[0]/values: this key of a node is not used",
            "/entry[0]/config/string_size: this key is obsolete and not used",
            "/entry[0]/config/attributes: attributes in a configuration are not used; they belong next to it",
            "/entry[0]/config/odd: this key is not used",
            "/entry[1]/attributes: this key of a node is not used",
            "/entry[1]/config/writer_module: this is not the module, which is named next to config",
            "/entry[1]/config/attributes: attributes in a configuration are not used; they belong to the group",
            "/entry[1]/config/stream: this key is obsolete and not used",
            "/entry[2]/config/x: this key is not used",
        ]
    );
    assert!(first(&structure).children.contains(&Node::RunTimes(vec![RunTime::Start])));
    let many = entry(&vec![r#"{"module": "mdat", "x": 1, "config": {"items": []}}"#; 1500].join(","));
    let notes = parsed(&many).notes;
    assert_eq!((notes.len(), notes.last().map(String::as_str)), (1001, Some("and 500 more notes")));
}

/// The structure in the run start of the reference messages.
#[test]
fn structures_of_the_vectors_are_read() {
    let test = "structures_of_the_vectors_are_read";
    let Some(bytes) = evforge_testkit::shared_file(test, "vectors/kafka/pl72.bin") else { return };
    let Ok(evforge_messages::Message::Pl72(start)) = evforge_messages::decode(&bytes) else {
        panic!("no run start")
    };
    let json = start.nexus_structure.unwrap_or_default();
    parsed(json);
}
