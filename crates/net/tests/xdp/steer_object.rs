//! The checked-in object of the steering program is what its source gives.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use aya_obj::Object;
use evforge_testkit::outside::succeed;

/// What decides how the program works: its instructions and maps, by name, without what is for debuggers.
fn essence(object: &Path) -> (BTreeMap<String, String>, BTreeMap<String, [u32; 5]>) {
    let bytes = fs::read(object).expect("an object");
    let object = Object::parse(&bytes).expect("an object with a program");
    let functions = object.functions.values();
    let functions = functions.map(|function| (function.name.clone(), format!("{:?}", function.instructions)));
    let maps = object.maps.iter().map(|(name, map)| {
        let properties =
            [map.map_type(), map.key_size(), map.value_size(), map.max_entries(), map.map_flags()];
        (name.clone(), properties)
    });
    (functions.collect(), maps.collect())
}

#[test]
fn the_object_is_what_the_source_gives() {
    const TEST: &str = "the_object_is_what_the_source_gives";
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/xdp");
    let checked_in = essence(&folder.join("steer.bpf.o"));
    assert_eq!(checked_in.0.keys().collect::<Vec<_>>(), ["steer", "steer_pieces"]);
    assert_eq!(
        checked_in.1.keys().collect::<Vec<_>>(),
        ["any_fragmenting", "counters", "fragmenting", "ports", "sockets"]
    );

    let Ok(version) = Command::new("clang").arg("--version").output() else {
        return evforge_testkit::skip(TEST, "clang is not installed");
    };
    let version = String::from_utf8_lossy(&version.stdout);
    let compiler = fs::read_to_string(folder.join("steer.bpf.compiler")).expect("the compiler's name");
    if version.lines().next() != Some(compiler.trim()) {
        let other = format!("the object was built by {}, here is {version}", compiler.trim());
        return evforge_testkit::skip_even_if_required(TEST, &other);
    }
    let fresh = tempfile::tempdir().expect("a folder");
    let object = fresh.path().join("steer.bpf.o");
    succeed(Command::new("sh").arg(folder.join("build-steer.sh")).arg(&object));
    assert!(
        essence(&object) == checked_in,
        "steer.bpf.o is not of this source: run {}/build-steer.sh",
        folder.display()
    );
}
