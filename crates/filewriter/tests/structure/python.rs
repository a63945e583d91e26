//! A file read by h5py, through `tests/python/test_structure_readback.py`, which reads the structure on its own.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use evforge_filewriter::structure::{create, create_links};

use super::file::TIMES;
use super::{new_file, parsed};

/// Something of everything, in both spellings.
const SAMPLE: &str = r#"{"template_version": "1.2", "attributes": {"default": "entry"}, "children": [
  {"type": "group", "name": "entry", "attributes": [{"name": "NX_class", "values": "NXentry"}], "children": [
    {"module": "dataset", "config": {"name": "title", "dtype": "string", "values": "Äpfel und Bananen"}},
    {"module": "dataset", "config": {"name": "texts", "dtype": "string", "values": [["ä", "bcd"], ["", "a"]]}},
    {"module": "dataset", "config": {"name": "default_type", "values": [0.1, 326.71000000000004, 1e-300, -5]}},
    {"module": "dataset", "config": {"name": "scalar", "dtype": "int64", "value": -9007199254740993}},
    {"module": "dataset", "config": {"name": "unsigned", "dtype": "uint64", "values": [10138143369737381149]}},
    {"module": "dataset", "config": {"name": "none", "dtype": "int32", "values": []}},
    {"type": "group", "name": "types", "children": [
      {"module": "dataset", "config": {"name": "int8", "type": "int8", "values": [-128, 127]}},
      {"module": "dataset", "config": {"name": "uint8", "type": "uint8", "values": [0, 255]}},
      {"module": "dataset", "config": {"name": "int16", "type": "int16", "values": [-32768, 32767]}},
      {"module": "dataset", "config": {"name": "uint16", "type": "uint16", "values": [0, 65535]}},
      {"module": "dataset", "config": {"name": "int32", "type": "int32", "values": [-2147483648, 2147483647]}},
      {"module": "dataset", "config": {"name": "uint32", "type": "uint32", "values": [0, 4294967295]}},
      {"module": "dataset", "config": {"name": "float", "type": "float", "values": [0.1, -2.5]}},
      {"type": "dataset", "name": "old", "values": [[[1], [2]], [[3], [4]]], "dataset": {"type": "int16"},
       "attributes": [{"name": "vector", "values": [[0, 0, -1], [1, 2, 3]], "dtype": "double"},
                      {"name": "small", "values": [1, 2], "dtype": "uint8"}, {"name": "without", "values": [1, 2]},
                      {"name": "depends_on", "values": "."}, {"name": "axes", "values": ["x", "yz"]}]}]},
    {"type": "group", "name": "other", "attributes": {"n": 3, "r": 2.5, "t": "ü", "l": [1, 2], "x_indices": [0]}, "children": [
      {"module": "link", "config": {"name": "link", "source": "../types/int8"}}]}
  ]}]}"#;

/// The command that runs the script, or none with `test` reported as skipped.
fn python(test: &str) -> Option<Command> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let interpreter = match std::env::var_os("EVFORGE_PYTHON") {
        Some(path) => PathBuf::from(path),
        None => root.join(".venv/bin/python"),
    };
    let mut probe = Command::new(&interpreter);
    probe.args(["-c", "import h5py"]).stdout(Stdio::null()).stderr(Stdio::null());
    if !probe.status().is_ok_and(|status| status.success()) {
        evforge_testkit::skip(test, &format!("{} cannot import h5py", interpreter.display()));
        return None;
    }
    let mut command = Command::new(interpreter);
    command.arg(root.join("tests/python/test_structure_readback.py"));
    Some(command)
}

/// Makes the file of a structure and has it compared.
fn compare(test: &str, json: &str) -> Option<(bool, String)> {
    let mut command = python(test)?;
    let folder = tempfile::tempdir().unwrap();
    let [path, structure] = ["a.nxs", "structure.json"].map(|name| folder.path().join(name));
    std::fs::write(&structure, json).unwrap();
    let content = parsed(json);
    let file = new_file(&path);
    drop(create(&file, &content, &TIMES).unwrap());
    create_links(&file, &content).unwrap();
    file.close().unwrap();
    // A program that another test starts at this moment may have inherited the open file, and its lock, for an instant.
    command.env("HDF5_USE_FILE_LOCKING", "FALSE");
    let output = command.args([&path, &structure]).output().unwrap();
    Some((output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned()))
}

#[test]
fn h5py_finds_what_the_structure_says() {
    let test = "h5py_finds_what_the_structure_says";
    let Some((is_equal, said)) = compare(test, SAMPLE) else { return };
    assert!(is_equal, "{said}");
}

#[test]
fn h5py_finds_large_arrays() {
    let row = |row: usize| {
        (0..700).map(|column| format!("{}", (row * 31 + column) as f64 * 0.000_137)).collect::<Vec<_>>()
    };
    let rows: Vec<String> = (0..450).map(|at| format!("[{}]", row(at).join(", "))).collect();
    let json = format!(
        r#"{{"children": [{{"module": "dataset", "config": {{"name": "x_pixel_offset", "values": [{}]}}, "attributes": {{"units": "m"}}}}]}}"#,
        rows.join(",\n")
    );
    let Some((is_equal, said)) = compare("h5py_finds_large_arrays", &json) else { return };
    assert!(is_equal, "{said}");
}
