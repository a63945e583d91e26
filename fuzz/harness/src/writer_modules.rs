//! The file writer: any structure, its modules, and any messages for them, in a file that stays in memory.

use crate::packet_stream::pieces;
use evforge_filewriter::file::Columns;
use evforge_filewriter::modules::{Module, Opened, open};
use evforge_filewriter::structure::{Group, Node, StreamModule, parse};
use evforge_messages::decode;
use evforge_stream::storage::workers::Workers;
use hdf5_metno::File;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Modules of a structure that are opened: enough to have several of every kind.
const MOST_MODULES: usize = 24;

/// Bytes that may wait for a commit: a message has at most as many, but for what modules add to it.
const MOST_WAITING: usize = 64 << 20;

/// Structures to begin with, which a byte chooses: all modules as the file writer of the ESS has them, and as evforge adds to them.
pub const STRUCTURES: [&str; 2] = [
    r#"{"children": [
        {"module": "ev44", "config": {"topic": "t", "source": "s", "cue_interval": 7, "chunk_size": 5}},
        {"module": "ev42", "config": {"topic": "t", "source": "s", "chunk_size": 3}},
        {"module": "f144", "config": {"topic": "t", "source": "s", "dtype": "int16", "cue_interval": 3, "chunk_size": 2}},
        {"module": "f142", "config": {"topic": "t", "source": "s", "chunk_size": 3}},
        {"module": "al00", "config": {"topic": "t", "source": "s"}},
        {"module": "ep01", "config": {"topic": "t", "source": "s"}},
        {"module": "se00", "config": {"topic": "t", "source": "s", "dtype": "float", "chunk_size": 4}},
        {"module": "senv", "config": {"topic": "t", "source": "s", "dtype": "uint16"}},
        {"module": "tdct", "config": {"topic": "t", "source": "s", "chunk_size": 2}},
        {"module": "ad00", "config": {"topic": "t", "source": "s", "array_size": [2, 3], "cue_interval": 2}},
        {"module": "da00", "config": {"topic": "t", "source": "s", "cue_interval": 2, "chunk_size": 6,
            "variables": [{"name": "signal", "data_type": "int16", "shape": [2, 3]}],
            "constants": [{"name": "total", "data_type": "float", "shape": [1]}]}}
    ]}"#,
    r#"{"children": [
        {"module": "ev44", "config": {"topic": "t", "source": ["s", "r"], "layout": "evforge", "chunk_size": 5, "vetoes": ["a"]}},
        {"module": "ev44", "config": {"topic": "t", "source": "s", "layout": "evforge", "pixels": [1, 1073741824]}},
        {"module": "ev42", "config": {"topic": "t", "source": "s", "layout": "evforge"}},
        {"module": "da00", "config": {"topic": "t", "source": "s", "accumulate": true, "shape": [2, 3], "axes": ["x", "y"]}},
        {"module": "hs01", "config": {"topic": "t", "source": "s", "dtype": "double", "shape": [2, 3], "axes": ["x", "y"]}},
        {"module": "ar51", "config": {"topic": "t", "source": "s", "chunk_size": 4}},
        {"module": "pu00", "config": {"topic": "t", "source": "s", "chunk_size": 2}},
        {"module": "evforge_ledger", "config": {"topic": "t", "source": "s", "chunk_size": 2}}
    ]}"#,
];

/// Opens the modules of a structure, and has every one of them write the messages behind it. The first byte chooses one of
/// [`STRUCTURES`], or 255 the structure in the first piece. Each piece stands behind its length (u16, little-endian); the first byte of a
/// message has rows committed behind it if it is odd.
///
/// # Panics
/// If an error says nothing, if a message that is refused leaves something or one that is written leaves the memory without bound, if
/// what a module keeps cannot be given back to it, or if HDF5 does not take the rows.
pub fn writer_modules(bytes: &[u8]) {
    let Some((&choice, rest)) = bytes.split_first() else { return };
    let mut pieces = pieces(rest);
    let text = match choice {
        255 => String::from_utf8_lossy(pieces.next().unwrap_or_default()).into_owned(),
        choice => STRUCTURES[usize::from(choice) % STRUCTURES.len()].to_owned(),
    };
    let Ok(structure) = parse(&text) else { return };
    let mut specs = Vec::new();
    streams(&structure.root, &mut specs);
    let file = in_memory();
    let mut columns = Columns::new(Workers::start(0, 1).expect("no threads"), Some(1));
    let mut modules: Vec<(&StreamModule, Box<dyn Module>)> = Vec::new();
    for (number, spec) in specs.into_iter().enumerate() {
        let group = file.create_group(&format!("g{number}")).expect("a group in a new file");
        match open(spec, &group, &mut columns) {
            Ok(Opened { module, notes }) => {
                assert!(notes.iter().all(|note| !note.trim().is_empty()), "a note that says nothing");
                modules.push((spec, module));
            }
            Err(error) => assert!(!error.to_string().trim().is_empty(), "an error that says nothing"),
        }
    }
    for piece in pieces {
        let Some((&also, payload)) = piece.split_first() else { continue };
        if let Ok(message) = decode(payload) {
            for (_, module) in &mut modules {
                let before = columns.waiting();
                let is_own = module.schemas().contains(&message.schema());
                if let Err(refused) = module.write(&message, &mut columns) {
                    assert_eq!(columns.waiting(), before, "a message that was refused left something");
                    assert!(!refused.what.trim().is_empty(), "a refusal that says nothing");
                } else {
                    assert!(is_own, "a message of another schema was written");
                }
            }
        }
        assert!(columns.waiting() < MOST_WAITING, "{} bytes wait", columns.waiting());
        if also & 1 != 0 {
            modules.iter_mut().for_each(|(_, module)| module.before_commit(&mut columns));
            flush(&mut columns, false);
        }
    }
    for (spec, module) in &mut modules {
        // As a commit does.
        module.before_commit(&mut columns);
        let mut state = Vec::new();
        module.save(&mut state);
        let state = serde_json::from_slice(&state).expect("what a module keeps is JSON");
        module.restore(state).unwrap_or_else(|problem| panic!("{}: {problem}", spec.kind));
        module.close(&mut columns);
        let _ = (module.events(), module.notes());
    }
    flush(&mut columns, true);
}

fn flush(columns: &mut Columns, is_last: bool) {
    columns.prepare(is_last).expect("no threads that could end");
    columns.flush().expect("HDF5 takes the rows");
}

/// The modules of a group and those below it.
fn streams<'a>(group: &'a Group, into: &mut Vec<&'a StreamModule>) {
    for child in &group.children {
        match child {
            Node::Stream(module) if into.len() < MOST_MODULES => into.push(module),
            Node::Group(inner) => streams(inner, into),
            _ => {}
        }
    }
}

/// A new file that never comes to a disk.
fn in_memory() -> File {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let name = format!("exercise-{}.nxs", NUMBER.fetch_add(1, Relaxed));
    File::with_options()
        .with_fapl(|access| access.libver_latest().core_options(64 << 10, false))
        .create(name)
        .expect("a file in memory")
}
