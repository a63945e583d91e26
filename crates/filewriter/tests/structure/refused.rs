//! Each thing that is refused, with its sentence.

use evforge_filewriter::structure::parse;

use super::entry;

fn said(json: &str) -> String {
    match parse(json) {
        Ok(structure) => panic!("not refused: {structure:?}"),
        Err(error) => error.to_string(),
    }
}

fn dataset(config: &str) -> String {
    entry(&format!(r#"{{"module": "dataset", "config": {config}}}"#))
}

fn values(dtype: &str, values: &str) -> String {
    dataset(&format!(r#"{{"name": "x", "dtype": "{dtype}", "values": {values}}}"#))
}

fn attributes(attributes: &str) -> String {
    format!(r#"{{"children": [{{"type": "group", "name": "entry", "attributes": {attributes}}}]}}"#)
}

#[track_caller]
fn check(cases: &[(String, &str)]) {
    for (json, sentence) in cases {
        assert_eq!(said(json), *sentence, "{json}");
    }
}

#[test]
fn what_is_no_json() {
    check(&[
        (String::new(), "the structure is no JSON: EOF while parsing a value in line 1, column 0"),
        ("{\"children\":\n[}".into(), "the structure is no JSON: expected value in line 2, column 2"),
        ("{} {}".into(), "the structure is no JSON: trailing characters in line 1, column 4"),
        ("[]".into(), "/: found a list, expected an object with children"),
        ("\"x\"".into(), "/: found text, expected an object with children"),
        (r#"{"children": [NaN]}"#.into(), "the structure is no JSON: expected value in line 1, column 15"),
    ]);
}

#[test]
fn nodes_that_are_none() {
    check(&[
        (r#"{"children": {}}"#.into(), "/children: found an object, expected a list of nodes"),
        (r#"{"children": [5]}"#.into(), "/[0]: found a number, expected an object: a group or a module"),
        (
            r#"{"children": [{}]}"#.into(),
            "/[0]: found neither module nor type, expected a node with one of the keys module and type",
        ),
        (
            entry(r#"{"module": "f144", "type": "group"}"#),
            "/entry[0]: found both module and type, expected one of them",
        ),
        (
            entry(r#"{"type": "grup", "name": "a"}"#),
            "/entry/a/type: found \"grup\", expected one of group, dataset, link, stream; did you mean group?",
        ),
        (
            entry(r#"{"module": "f145", "config": {}}"#),
            "/entry[0]/module: found \"f145\", expected one of the modules ev44, f144, al00, ep01, da00, se00, tdct, ad00, ev42, f142, hs01, ar51, senv, pu00, evforge_ledger, mdat, dataset, link; did you mean f144?",
        ),
        (
            entry(r#"{"type": "stream", "stream": {"topic": "t", "source": "s"}}"#),
            "/entry[0]/stream/writer_module: found nothing, expected a value: the key is missing",
        ),
        (
            entry(r#"{"module": "dataset", "module": "link"}"#),
            "/entry[0]: found the key \"module\" twice, expected each key once",
        ),
    ]);
}

#[test]
fn names() {
    let group = |name: &str| format!(r#"{{"children": [{{"type": "group", "name": "{name}"}}]}}"#);
    let expected = "a name that is not empty, . or .., without / and zero bytes";
    check(&[
        (group(""), &format!("/[0]/name: found \"\", expected {expected}")),
        (group("."), &format!("/./name: found \".\", expected {expected}")),
        (group("a/b"), &format!("/a/b/name: found \"a/b\", expected {expected}")),
        (group("a\\u0000b"), "/a\\u{0}b/name: found \"a\\u0000b\", expected text without zero bytes"),
        (
            r#"{"children": [{"type": "group"}]}"#.into(),
            "/[0]/name: found nothing, expected a value: the key is missing",
        ),
        (r#"{"children": [{"type": "group", "name": 5}]}"#.into(), "/[0]/name: found 5, expected text"),
        (
            group(&"x".repeat(2000)),
            &format!("/{}…/name: found 2000 bytes, expected a name of at most 1024 bytes", "x".repeat(60)),
        ),
        (
            entry(
                r#"{"type": "group", "name": "a"}, {"module": "dataset", "config": {"name": "a", "values": 1}}"#,
            ),
            "/entry[1]: found a second \"a\" in its group, expected one child of each name",
        ),
        (
            entry(
                r#"{"module": "mdat", "config": {"items": ["end_time"]}}, {"type": "group", "name": "end_time"}"#,
            ),
            "/entry/end_time: found a second \"end_time\" in its group, expected one child of each name",
        ),
    ]);
}

#[test]
fn values_that_do_not_fit() {
    check(&[
        (
            values("uint8", "300"),
            "/entry[0]/config/values: found 300, expected an integer from 0 to 255 (uint8)",
        ),
        (
            values("int32", "[[1, 2], [3, 1.5]]"),
            "/entry[0]/config/values[1][1]: found 1.5, expected an integer from -2147483648 to 2147483647 (int32)",
        ),
        (
            values("double", r#""1.5""#),
            "/entry[0]/config/values: found \"1.5\", expected a number of type double",
        ),
        (
            values("float", "[0, null]"),
            "/entry[0]/config/values[1]: found null, expected a number of type float",
        ),
        (values("double", "1e400"), "/entry[0]/config/values: found 1e400, expected a number of type double"),
        (values("double", "true"), "/entry[0]/config/values: found true, expected a number of type double"),
        (values("float", "{}"), "/entry[0]/config/values: found an object, expected values"),
        (
            values("uint64", "18446744073709551616"),
            "/entry[0]/config/values: found 18446744073709551616, expected an integer from 0 to 18446744073709551615 (uint64)",
        ),
        (
            values("int32", "[[1, 2], [3]]"),
            "/entry[0]/config/values[1]: found a list of 1, expected one of 2, as those before",
        ),
        (
            values("int32", "[1, [2]]"),
            "/entry[0]/config/values[1]: found a list, expected a value, as those before",
        ),
        (
            values("int32", "[[1], 2]"),
            "/entry[0]/config/values[1]: found 2, expected a list, as those before",
        ),
        (
            values("int32", &format!("{}{}", "[".repeat(33), "]".repeat(33))),
            &format!(
                "/entry[0]/config/values{}: found a list in it, expected at most 32 axes",
                "[0]".repeat(32)
            ),
        ),
        (
            values("string", r#""a\u0000b""#),
            "/entry[0]/config/values: found \"a\\u0000b\", expected text without zero bytes",
        ),
        (values("string", "null"), "/entry[0]/config/values: found null, expected text"),
        (
            values("flaot", "1"),
            "/entry[0]/config/dtype: found \"flaot\", expected one of int8, uint8, int16, uint16, int32, uint32, int64, uint64, float, double, string; did you mean float?",
        ),
        (
            dataset(r#"{"name": "x"}"#),
            "/entry[0]/config/values: found nothing, expected a value: the key is missing",
        ),
        (
            dataset(r#"{"values": 1}"#),
            "/entry[0]/config/name: found nothing, expected a value: the key is missing",
        ),
        (
            dataset(r#"{"name": "x", "values": 1, "value": 1}"#),
            "/entry[0]/config: found both values and value, expected one of them",
        ),
        (entry(r#"{"module": "dataset"}"#), "/entry[0]/config: found nothing, expected an object"),
        (
            entry(r#"{"module": "dataset", "config": []}"#),
            "/entry[0]/config: found a list, expected an object with keys of whole characters",
        ),
        (
            entry(r#"{"type": "dataset", "name": "x", "values": 300, "dataset": {"type": "uint8"}}"#),
            "/entry/x/values: found 300, expected an integer from 0 to 255 (uint8)",
        ),
    ]);
    let long = format!("[\"{}\"{}]", "x".repeat(100_000), ", \"\"".repeat(999));
    assert_eq!(
        said(&values("string", &long)),
        "/entry[0]/config/values: found 1000 texts of up to 100000 bytes, expected at most 64 MiB if all are as long as the longest"
    );
}

#[test]
fn attributes_of_all_kinds() {
    check(&[
        (
            attributes(r#"[{"units": "K"}]"#),
            "/entry/attributes[0]: found the keys \"units\", expected an object with name and values, as the spelling with a list has them",
        ),
        (
            attributes(r#"[{"name": "a", "values": 1}, "units"]"#),
            "/entry/attributes[1]: found \"units\", expected an object with name and values, as the spelling with a list has them",
        ),
        (
            attributes(r#"{"name": "a", "values": 1}"#),
            "/entry/attributes: found an object with name and values, expected a list of such objects, or names with their values",
        ),
        (attributes(r#"{"a": {"values": 1}}"#), "/entry/attributes/a: found an object, expected values"),
        (
            attributes("5"),
            "/entry/attributes: found 5, expected an object of names with values, or a list of objects with name and values",
        ),
        (
            attributes(r#"{"a": 1, "a": 2}"#),
            "/entry/attributes: found \"a\" twice, expected one attribute of each name",
        ),
        (
            attributes(r#"[{"name": "a", "values": "x", "dtype": "int"}]"#),
            "/entry/attributes[0]/values: found \"x\", expected an integer from -2147483648 to 2147483647 (int32)",
        ),
        (
            attributes(r#"[{"name": "a", "values": 1, "dtype": "int", "type": "int"}]"#),
            "/entry/attributes[0]: found \"type\" a second time, in another spelling, expected it once",
        ),
        (
            attributes(&format!(r#"{{"a": "{}"}}"#, "x".repeat(64_001))),
            "/entry/attributes/a: found 64001 bytes, expected an attribute of at most 64000 bytes",
        ),
        (
            attributes(r#"{"": 1}"#),
            "/entry/attributes/: found \"\", expected a name that is not empty, . or .., without / and zero bytes",
        ),
    ]);
}

#[test]
fn modules() {
    let module = |config: &str| entry(&format!(r#"{{"module": "f144", "config": {config}}}"#));
    let topic = "the name of a topic: 1 to 249 letters, digits, points, underscores and hyphens";
    check(&[
        (
            module(r#"{"source": "s"}"#),
            "/entry[0]/config/topic: found nothing, expected a value: the key is missing",
        ),
        (
            module(r#"{"topic": "t"}"#),
            "/entry[0]/config/source: found nothing, expected a value: the key is missing",
        ),
        (
            module(r#"{"topic": "a b", "source": "s"}"#),
            &format!("/entry[0]/config/topic: found \"a b\", expected {topic}"),
        ),
        (
            module(r#"{"topic": "t", "source": ""}"#),
            "/entry[0]/config/source: found no characters, expected the name of a source",
        ),
        (
            module(r#"{"topic": "t", "source": []}"#),
            "/entry[0]/config/source: found a list of 0, expected 1 to 10000 sources",
        ),
        (
            module(r#"{"topic": "t", "source": ["a", "a"]}"#),
            "/entry[0]/config/source: found \"a\" twice, expected each source once",
        ),
        (
            module(r#"{"topic": "t", "source": ["a", 5]}"#),
            "/entry[0]/config/source[1]: found 5, expected text",
        ),
        (
            module(r#"{"topic": "t", "source": "s", "dtype": "doubel"}"#),
            "/entry[0]/config/dtype: found \"doubel\", expected one of int8, uint8, int16, uint16, int32, uint32, int64, uint64, float, double, string; did you mean double?",
        ),
        (
            module(r#"{"topic": "t", "source": "s", "dtype": "string"}"#),
            "/entry[0]/config/dtype: found \"string\", expected a type of numbers: f144 has no text",
        ),
        (
            module(r#"{"topic": "t", "source": "s", "note": ["a\u0000"]}"#),
            "/entry[0]/config/note: found a list, expected text without zero bytes",
        ),
        (
            entry(
                r#"{"module": "f144", "config": {"topic": "t", "source": "a"}}, {"module": "f144", "config": {"topic": "t", "source": "b"}}"#,
            ),
            "/entry[1]: found a second f144 in its group, expected one module of each kind",
        ),
        (
            entry(r#"{"module": "mdat", "config": {"items": ["star_time"]}}"#),
            "/entry[0]/config/items[0]: found \"star_time\", expected start_time or end_time; did you mean start_time?",
        ),
        (
            entry(r#"{"module": "mdat", "config": {}}"#),
            "/entry[0]/config/items: found nothing, expected a value: the key is missing",
        ),
        (
            entry(r#"{"module": "link", "config": {"name": "a"}}"#),
            "/entry[0]/config/source: found nothing, expected a value: the key is missing",
        ),
    ]);
}

#[test]
fn depth() {
    let deep = |levels: usize| {
        format!("{}{}", r#"{"type":"group","name":"g","children":["#.repeat(levels), "]}".repeat(levels))
    };
    let root = |levels| format!(r#"{{"children":[{}]}}"#, deep(levels));
    assert!(parse(&root(48)).is_ok());
    assert_eq!(
        said(&root(49)),
        format!(
            "{}/children: found more groups in each other, expected at most 48 groups in each other",
            "/g".repeat(49)
        )
    );
    // However deep: nothing calls itself.
    assert!(said(&root(1_000_000)).ends_with("expected at most 48 groups in each other"));
    let lists = format!("{}{}", "[".repeat(1_000_000), "]".repeat(1_000_000));
    assert!(said(&values("int32", &lists)).ends_with("expected at most 32 axes"));
    let setting = format!(r#"{{"module": "da00", "config": {{"topic": "t", "source": "s", "x": {lists}}}}}"#);
    assert_eq!(
        said(&entry(&setting)),
        "/entry[0]/config/x: found a list, expected JSON that can be read (recursion limit exceeded at line 1 column 128)"
    );
}
