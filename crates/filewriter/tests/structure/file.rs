//! What is in the file.

use evforge_filewriter::structure::{
    Attribute, Created, ModuleKind, RunTime, RunTimes, Structure, bytes_at_most, create, create_links, reopen,
};
use evforge_stream::storage::text::read_text;
use hdf5_metno::types::VarLenUnicode;
use hdf5_metno::{File, Location};
use proptest::prelude::*;

use super::{entry, new_file, parsed};

pub(super) const TIMES: RunTimes = RunTimes { start_ms: 1_790_000_000_123, stop_ms: None };

fn made(file: &File, json: &str) -> Result<(Structure, Created), String> {
    let structure = parsed(json);
    let created = create(file, &structure, &TIMES).map_err(|error| error.to_string())?;
    Ok((structure, created))
}

fn attribute(of: &Location, name: &str) -> String {
    of.attr(name).unwrap().read_scalar::<VarLenUnicode>().unwrap().to_string()
}

#[test]
fn groups_of_modules_say_whose_messages_they_have() {
    let folder = tempfile::tempdir().unwrap();
    let file = new_file(&folder.path().join("a.nxs"));
    let group = |name: &str, attributes: &str, module: &str, config: &str| {
        format!(
            r#"{{"type": "group", "name": "{name}", "attributes": {{{attributes}}},
                 "children": [{{"module": "{module}", "config": {{"topic": "t", {config}}}}}]}}"#
        )
    };
    let json = entry(
        &[
            group("events", "", "ev44", r#""source": "bank0""#),
            group("log", "", "f144", r#""source": "PV""#),
            group("given", r#""NX_class": "NXcollection", "source": "mine""#, "pu00", r#""source": "PV""#),
            group("several", "", "ev44", r#""source": ["a", "b"]"#),
        ]
        .join(", "),
    );
    let (structure, created) = made(&file, &json).unwrap();
    let places: Vec<_> =
        created.places.iter().map(|place| (place.path.as_str(), place.module.kind)).collect();
    use ModuleKind::{Al00, Ep01, Ev44, F144, Pu00};
    assert_eq!(
        places,
        [
            ("/entry/events", Ev44),
            ("/entry/log", F144),
            ("/entry/log", Al00),
            ("/entry/log", Ep01),
            ("/entry/given", Pu00),
            ("/entry/several", Ev44),
        ]
    );
    assert!(created.places.iter().all(|place| place.group.name() == place.path));
    let all = |name: &str| {
        let group = file.group(&format!("entry/{name}")).unwrap();
        ["NX_class", "topic", "source", "writer_module"].map(|attribute| self::attribute(&group, attribute))
    };
    assert_eq!(all("events"), ["NXevent_data", "t", "bank0", "ev44"]);
    assert_eq!(all("log"), ["NXlog", "t", "PV", "f144"]);
    assert_eq!(all("given"), ["NXcollection", "t", "mine", "pu00"]);
    let several =
        file.group("entry/several").unwrap().attr("source").unwrap().read_raw::<VarLenUnicode>().unwrap();
    assert_eq!(several.iter().map(|text| text.as_str()).collect::<Vec<_>>(), ["a", "b"]);

    drop(created);
    let again = reopen(&file, &structure).unwrap();
    assert_eq!(
        again.places.iter().map(|place| (place.path.as_str(), place.module.kind)).collect::<Vec<_>>(),
        places_of(&structure, &file)
    );
}

/// The places by another way: a second file of the same structure.
fn places_of(structure: &Structure, file: &File) -> Vec<(&'static str, ModuleKind)> {
    let other = new_file(&std::path::Path::new(&file.filename()).with_extension("other"));
    let created = create(&other, structure, &TIMES).unwrap();
    created.places.into_iter().map(|place| (&*place.path.leak(), place.module.kind)).collect()
}

#[test]
fn the_end_is_set_while_the_file_is_followed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.nxs");
    let file = new_file(&path);
    let json = entry(r#"{"module": "mdat", "config": {"items": ["start_time", "end_time"]}}"#);
    let (structure, created) = made(&file, &json).unwrap();
    assert_eq!(
        created.times.iter().map(|time| time.which).collect::<Vec<_>>(),
        [RunTime::Start, RunTime::End]
    );
    file.start_swmr().unwrap();
    let text = |name: &str| read_text(&file.dataset(&format!("entry/{name}")).unwrap()).unwrap();
    assert_eq!((text("start_time").as_str(), text("end_time").as_str()), ("2026-09-21T14:13:20.123Z", ""));
    let end = RunTimes { stop_ms: Some(1_790_000_060_000), ..TIMES };
    created.times[1].set(&end).unwrap();
    assert_eq!(text("end_time"), "2026-09-21T14:14:20.000Z");
    drop((created, file));

    let file = File::open_rw(&path).unwrap();
    let again = reopen(&file, &structure).unwrap();
    again.times[1].set(&RunTimes { stop_ms: Some(1_790_000_061_000), ..TIMES }).unwrap();
    assert_eq!(read_text(&file.dataset("entry/end_time").unwrap()).unwrap(), "2026-09-21T14:14:21.000Z");
    let error = again.times[1].set(&RunTimes { stop_ms: Some(u64::MAX), ..TIMES }).unwrap_err();
    assert_eq!(error.to_string(), "18446744073709551615 ms after 1970 is no date before the year 10000");
}

#[test]
fn what_a_template_has_is_used_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = new_file(&folder.path().join("a.nxs"));
    let title = r#"{"module": "dataset", "config": {"name": "title", "dtype": "string", "values": "a"}}"#;
    let template = format!(
        r#"{{"children": [{{"type": "group", "name": "entry", "attributes": {{"NX_class": "NXentry", "version": 1}}, "children": [{title}]}}]}}"#
    );
    made(&file, &template).unwrap();
    assert_eq!(
        made(&file, &entry(title)).unwrap_err(),
        "/entry/title: found something of this name in the file, expected none"
    );
    assert_eq!(
        made(&file, &entry(r#"{"type": "group", "name": "title"}"#)).unwrap_err(),
        "/entry/title: found what is no group of this name in the file, expected none"
    );
    let more = r#"{"children": [{"type": "group", "name": "entry", "attributes": {"version": "two"},
        "children": [{"type": "group", "name": "new"}, {"module": "mdat", "config": {"items": ["start_time"]}}]}]}"#;
    made(&file, more).unwrap();
    let group = file.group("entry").unwrap();
    assert_eq!(
        (attribute(&group, "NX_class"), attribute(&group, "version")),
        ("NXentry".into(), "two".into())
    );
    let mut names = group.member_names().unwrap();
    names.sort();
    assert_eq!(names, ["new", "start_time", "title"]);
    assert_eq!(
        made(&file, more).unwrap_err(),
        "/entry/start_time: found something of this name in the file, expected none"
    );
}

fn link(name: &str, source: &str) -> String {
    format!(r#"{{"module": "link", "config": {{"name": "{name}", "source": "{source}"}}}}"#)
}

#[test]
fn links_lead_to_what_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let linked = |links: &[String]| {
        let file = new_file(&folder.path().join("a.nxs"));
        let value = r#"{"module": "dataset", "config": {"name": "value", "values": 5}}"#;
        let inner = format!(r#"{{"type": "group", "name": "inner", "children": [{value}]}}"#);
        let json = entry(&format!(
            r#"{inner}, {{"type": "group", "name": "links", "children": [{}]}}"#,
            links.join(", ")
        ));
        let (structure, _) = made(&file, &json).unwrap();
        create_links(&file, &structure).map(|()| file).map_err(|error| error.to_string())
    };
    let file = linked(&[
        link("third", "second"),
        link("second", "first"),
        link("first", "../inner/value"),
        link("absolute", "/entry/inner/value"),
        link("group", "../inner"),
    ])
    .unwrap();
    for path in ["first", "second", "third", "absolute", "group/value"] {
        assert_eq!(
            file.dataset(&format!("entry/links/{path}")).unwrap().read_scalar::<f64>().unwrap(),
            5.0,
            "{path}"
        );
    }
    drop(file);
    for (source, sentence) in [
        (
            "../inner/valeu",
            "/entry/links/x: found no /entry/inner/valeu in the file, expected what the link leads to",
        ),
        (
            "../inner/value/deeper",
            "/entry/links/x: found no /entry/inner/value/deeper in the file, expected what the link leads to",
        ),
        ("../../../x", "/entry/links/x: found no ../../../x in the file, expected what the link leads to"),
        ("x", "/entry/links/x: found no /entry/links/x in the file, expected what the link leads to"),
        ("/", "/entry/links/x: found a link to /, in which it is itself, expected one to something else"),
        (
            "..",
            "/entry/links/x: found a link to /entry, in which it is itself, expected one to something else",
        ),
        (
            ".",
            "/entry/links/x: found a link to /entry/links, in which it is itself, expected one to something else",
        ),
    ] {
        assert_eq!(linked(&[link("x", source)]).unwrap_err(), sentence, "{source}");
    }
}

/// As large as they may be, and as many axes.
#[test]
fn limits_are_those_of_hdf5() {
    let folder = tempfile::tempdir().unwrap();
    let file = new_file(&folder.path().join("a.nxs"));
    let name = "n".repeat(1024);
    let numbers = vec!["1"; 8000].join(",");
    let text = "x".repeat(64_000);
    let axes = format!("{}1{}", "[".repeat(32), "]".repeat(32));
    let json = entry(&format!(
        r#"{{"type": "group", "name": "{name}", "attributes": {{"{name}": [{numbers}], "text": "{text}"}}, "children":
            [{{"module": "dataset", "config": {{"name": "{name}", "values": {axes}}}, "attributes": {{"{name}": [{numbers}]}}}},
             {{"module": "dataset", "config": {{"name": "none", "values": []}}, "attributes": {{"none": []}}}},
             {{"module": "dataset", "config": {{"name": "no texts", "dtype": "string", "values": [[], []]}}}}]}}"#
    ));
    made(&file, &json).unwrap();
    let group = file.group(&format!("entry/{name}")).unwrap();
    assert_eq!(group.attr(&name).unwrap().size(), 8000);
    assert_eq!(attribute(&group, "text").len(), 64_000);
    assert_eq!(group.dataset(&name).unwrap().ndim(), 32);
    assert_eq!(group.dataset("none").unwrap().shape(), [0]);
    assert_eq!(group.dataset("no texts").unwrap().shape(), [2, 0]);
}

/// Structures of few or many objects of one kind, with names and values of a length.
fn of_a_kind() -> impl Strategy<Value = String> {
    (0..6_usize, 0..300_usize, 1..60_usize, 0..3000_usize).prop_map(|(kind, count, name, length)| {
        let length = if count > 50 { length / 20 } else { length };
        let text = "ä".repeat(length);
        let list = vec!["1.5"; length].join(",");
        let name = "n".repeat(name);
        let children: Vec<String> = (0..count).map(|at| match kind {
            0 => format!(r#"{{"type": "group", "name": "{name}{at}"}}"#),
            1 => format!(r#"{{"module": "dataset", "config": {{"name": "{name}{at}", "values": [{list}]}}}}"#),
            2 => format!(r#"{{"module": "dataset", "config": {{"name": "{name}{at}", "values": "{text}", "dtype": "string"}}}}"#),
            3 => format!(r#"{{"type": "group", "name": "{name}{at}", "attributes": {{"a": "{text}", "b": "{text}"}}}}"#),
            4 => format!(r#"{{"type": "group", "name": "{name}{at}", "children": [{{"module": "f144", "config": {{"topic": "t", "source": "{name}"}}}}]}}"#),
            _ => link(&format!("{name}{at}"), "/entry"),
        }).collect();
        let many: Vec<String> = (0..count).map(|at| format!(r#""{name}{at}": "{}""#, "x".repeat(length / 20))).collect();
        format!(r#"{{"children": [{{"type": "group", "name": "entry", "attributes": {{{}}}, "children": []}}, {}]}}"#,
            many.join(","), if kind == 5 { entry_of_links(&children) } else { children.join(",") })
            .replace(", ]", "]")
    })
}

fn entry_of_links(links: &[String]) -> String {
    format!(r#"{{"type": "group", "name": "links", "children": [{}]}}"#, links.join(","))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn no_file_is_larger_than_its_bound(json in of_a_kind()) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.nxs");
        let file = new_file(&path);
        let (structure, created) = made(&file, &json).unwrap();
        create_links(&file, &structure).unwrap();
        drop((created, file));
        let (real, bound) = (std::fs::metadata(&path).unwrap().len(), bytes_at_most(&structure));
        prop_assert!(real <= bound, "{real} > {bound}");
        prop_assert!(bound <= 8 * real + (128 << 10), "{bound} for {real}");
    }
}

#[test]
fn structures_of_programs_are_checked_too() {
    let folder = tempfile::tempdir().unwrap();
    let file = new_file(&folder.path().join("a.nxs"));
    let mut structure = Structure::default();
    let mut group = &mut structure.root;
    for _ in 0..60 {
        group.children.push(evforge_filewriter::structure::Node::Group(Default::default()));
        let Some(evforge_filewriter::structure::Node::Group(inner)) = group.children.first_mut() else {
            panic!()
        };
        inner.name = "g".into();
        group = inner;
    }
    let error = create(&file, &structure, &TIMES).unwrap_err().to_string();
    assert!(error.ends_with("found more than 48 groups in each other, expected fewer"), "{error}");
    let mut structure = Structure::default();
    structure.root.attributes.push(Attribute {
        name: "a".into(),
        values: evforge_filewriter::structure::Array {
            shape: vec![3],
            values: evforge_filewriter::structure::Values::I8(vec![1]),
        },
    });
    assert_eq!(
        create(&file, &structure, &TIMES).unwrap_err().to_string(),
        "/: HDF5 reports: a has 1 bytes for the shape [3]"
    );
}
