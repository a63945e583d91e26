//! How long a large structure takes from its text to its file: `cargo run --release -p evforge-filewriter --example
//! structure_start [MB …]`.
//!
//! Two kinds: few thousand groups with some hundred modules and large arrays, and very many small nodes.

use std::error::Error;
use std::fmt::Write as _;
use std::time::Instant;

use evforge_filewriter::structure::{Group, Node, RunTimes, bytes_at_most, create, parse};
use hdf5_metno::File;
use hdf5_metno::file::LibraryVersion;

fn main() -> Result<(), Box<dyn Error>> {
    println!("kind     MB    nodes  parse s  create s  of which on a core  file MB  bound MB");
    let mut sizes: Vec<usize> =
        std::env::args().skip(1).map(|size| size.parse()).collect::<Result<_, _>>()?;
    if sizes.is_empty() {
        sizes = vec![5, 50, 100];
    }
    for mb in sizes {
        report("arrays", &arrays(mb << 20)?)?;
        report("nodes", &nodes(mb << 20)?)?;
    }
    Ok(())
}

fn report(kind: &str, json: &str) -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("file.nxs");
    let begin = Instant::now();
    let structure = parse(json)?;
    let parsed = begin.elapsed().as_secs_f64();
    let file = File::with_options()
        .with_fapl(|access| {
            access.libver_bounds(LibraryVersion::V110, LibraryVersion::V110).meta_block_size(1 << 20)
        })
        .create(&path)?;
    let (begin, busy) = (Instant::now(), on_a_core());
    let created = create(&file, &structure, &RunTimes { start_ms: 1_790_000_000_000, stop_ms: None })?;
    drop(created);
    file.close()?;
    let (made, busy) = (begin.elapsed().as_secs_f64(), on_a_core() - busy);
    println!(
        "{kind:6} {:4.0} {:8} {parsed:8.2} {made:9.2} {busy:19.2} {:8.1} {:9.1}",
        json.len() as f64 / f64::from(1 << 20),
        count(&structure.root),
        std::fs::metadata(&path)?.len() as f64 / f64::from(1 << 20),
        bytes_at_most(&structure) as f64 / f64::from(1 << 20),
    );
    Ok(())
}

/// Seconds that this thread has run: less than the time that has passed where others want the cores.
fn on_a_core() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}

fn count(group: &Group) -> usize {
    let inner = |child: &Node| if let Node::Group(group) = child { count(group) } else { 1 };
    1 + group.children.iter().map(inner).sum::<usize>()
}

/// 3000 groups with a module in every tenth, and detectors with four arrays of 256 x 1024 pixels each.
fn arrays(bytes: usize) -> Result<String, std::fmt::Error> {
    let mut json = String::from(
        r#"{"children":[{"type":"group","name":"entry","attributes":[{"name":"NX_class","values":"NXentry"}],"children":["#,
    );
    for number in 0..3000 {
        write!(
            json,
            r#"{{"type":"group","name":"device_{number}","attributes":[{{"name":"NX_class","dtype":"string","values":"NXpositioner"}}],"children":[{{"module":"dataset","config":{{"name":"depends_on","dtype":"string","values":"."}}}}"#
        )?;
        if number % 10 == 0 {
            write!(
                json,
                r#",{{"type":"group","name":"value_log","children":[{{"module":"f144","config":{{"topic":"test_motion","source":"PV:{number}","dtype":"double","value_units":"mm"}}}}]}}"#
            )?;
        }
        json.push_str("]},");
    }
    let mut detector = 0;
    while detector == 0 || json.len() + (10 << 20) < bytes {
        write!(
            json,
            r#"{{"type":"group","name":"detector_{detector}","attributes":[{{"name":"NX_class","values":"NXdetector"}}],"children":["#
        )?;
        for (name, dtype) in [
            ("x_pixel_offset", "float"),
            ("y_pixel_offset", "float"),
            ("z_pixel_offset", "double"),
            ("detector_number", "int32"),
        ] {
            write!(json, r#"{{"module":"dataset","config":{{"name":"{name}","dtype":"{dtype}","values":["#)?;
            for row in 0..256_i32 {
                json.push(if row == 0 { '[' } else { ',' });
                json.push_str(if row == 0 { "" } else { "[" });
                for column in 0..1024_i32 {
                    json.push_str(if column == 0 { "" } else { ", " });
                    match dtype {
                        "int32" => write!(json, "{}", (detector * 256 + row) * 1024 + column + 1)?,
                        _ => write!(json, "{}", f64::from(row * 7 - column * 3) * 0.000_137 + 0.1)?,
                    }
                }
                json.push(']');
            }
            json.push_str(r#"]},"attributes":[{"name":"units","values":"m"}]},"#);
        }
        json.pop();
        json.push_str("]},");
        detector += 1;
    }
    json.pop();
    json.push_str("]}]}");
    Ok(json)
}

/// Groups of nine datasets, numbers with two attributes and texts without, about 500 bytes for each node, as json.dumps indents them.
fn nodes(bytes: usize) -> Result<String, std::fmt::Error> {
    let mut json = String::from("{\n  \"children\": [\n");
    let mut number = 0;
    while number == 0 || json.len() < bytes {
        let attributes =
            "\"attributes\": [\n{\n\"name\": \"NX_class\",\n\"values\": \"NXtransformations\"\n}\n]";
        let mut group = format!(
            "{{\n\"type\": \"group\",\n\"name\": \"group_{number}\",\n{attributes},\n\"children\": [\n"
        );
        for child in 0..9 {
            let value = f64::from(number * 9 + child) * 0.01;
            if child % 2 == 0 {
                write!(
                    group,
                    "{{\n\"module\": \"dataset\",\n\"config\": {{\n\"name\": \"translation_{child}\",\n\"values\": [\n{value},\n0.25,\n-1.5\n],\n\"dtype\": \"double\"\n}},\n\"attributes\": [\n{{\n\"name\": \"units\",\n\"dtype\": \"string\",\n\"values\": \"mm\"\n}},\n{{\n\"name\": \"transformation_type\",\n\"values\": \"translation\"\n}}\n]\n}},\n"
                )?;
            } else {
                write!(
                    group,
                    "{{\n\"module\": \"dataset\",\n\"config\": {{\n\"name\": \"depends_on_{child}\",\n\"values\": \"/entry/instrument/detector/transformations/group_{number}/translation_{child}\",\n\"dtype\": \"string\"\n}}\n}},\n"
                )?;
            }
        }
        group.truncate(group.len() - 2);
        group.push_str("\n]\n},\n");
        // The depth of a detector in an instrument.
        json.push_str(&group.replace('\n', "\n                    "));
        number += 1;
    }
    json.truncate(json.trim_end().len() - 1);
    json.push_str("\n  ]\n}\n");
    Ok(json)
}
