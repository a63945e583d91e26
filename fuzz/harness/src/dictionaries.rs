//! Dictionaries for libFuzzer (`-dict=`): words that parsers know, which bytes by chance would hardly become. All are made from what is
//! declared, or from the corpora, so that they follow it.

use crate::corpus;
use evforge_control::commands::COMMANDS;
use evforge_filewriter::structure::ModuleKind;
use evforge_view::http_api::samples;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Letters of a word at most: libFuzzer takes no longer ones.
const LONGEST: usize = 64;

/// The dictionary of a target.
#[derive(Clone, Debug)]
pub struct Dictionary {
    /// The target, by which its file is called, with `.dict`.
    pub target: &'static str,
    /// Its words.
    pub words: BTreeSet<String>,
}

impl Dictionary {
    /// As its file has it.
    pub fn text(&self) -> String {
        let mut text =
            String::from("# Made by the example write_corpus of fuzz/harness: it is not written by hand.\n");
        for word in self.words.iter().filter(|word| (1..=LONGEST).contains(&word.len())) {
            text.push('"');
            for byte in word.bytes() {
                match byte {
                    b'"' | b'\\' => text.extend(['\\', char::from(byte)]),
                    b' '..=b'~' => text.push(char::from(byte)),
                    _ => text.push_str(&format!("\\x{byte:02X}")),
                }
            }
            text.push_str("\"\n");
        }
        text
    }
}

/// The folder of the dictionaries.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../dictionaries")
}

/// All dictionaries.
pub fn dictionaries() -> Vec<Dictionary> {
    let of = |target, words: &BTreeSet<String>| Dictionary { target, words: words.clone() };
    let (json, commands) = (json(), COMMANDS.iter().map(|command| command.name.to_owned()).collect());
    vec![
        of("configuration", &configuration()),
        of("vmm_files", &json),
        of("structure", &json),
        of("writer_modules", &json),
        of("http", &http()),
        of("commands", &commands),
        of("command_port", &commands),
    ]
}

/// Keys of configurations, names of values, and units.
fn configuration() -> BTreeSet<String> {
    let found = corpus::configuration::found().iter();
    let mut words: BTreeSet<String> = found.flat_map(|(_, found)| found.words.iter().cloned()).collect();
    let signs = [
        "ns\"", "us\"", "ms\"", "MiB\"", "Hz\"", "kHz\"", " = ", " = [", " = { ", "\"\n", "[[", "]]\n",
        "true", "\0",
    ];
    words.extend(signs.map(str::to_owned));
    words
}

/// Keys and short texts of the wirings, calibrations and structures of the corpora, and the modules of the file writer.
fn json() -> BTreeSet<String> {
    let mut words: BTreeSet<String> = ModuleKind::ALL.iter().map(|kind| kind.name().to_owned()).collect();
    for target in ["vmm_files", "structure"] {
        let Ok(entries) = std::fs::read_dir(corpus::folder().join(target)) else { continue };
        for entry in
            entries.flatten().filter(|entry| !entry.file_name().to_string_lossy().starts_with("found-"))
        {
            let bytes = std::fs::read(entry.path()).unwrap_or_default();
            if let Ok(value) = serde_json::from_slice(&bytes) {
                texts_of(&value, &mut words);
            }
        }
    }
    let signs = [
        "\": ",
        "\": {",
        "\": [",
        "}, {",
        "null",
        "true",
        "-1",
        "1e308",
        "18446744073709551616",
        "\\u0000",
        "\\ud800",
    ];
    words.extend(signs.map(str::to_owned));
    words
}

fn texts_of(value: &serde_json::Value, words: &mut BTreeSet<String>) {
    let mut add = |word: &str| {
        if (1..30).contains(&word.len()) {
            words.insert(word.to_owned());
        }
    };
    match value {
        serde_json::Value::String(text) => add(text),
        serde_json::Value::Object(entries) => {
            entries.keys().for_each(|key| add(key));
            entries.values().for_each(|value| texts_of(value, words));
        }
        serde_json::Value::Array(values) => values.iter().for_each(|value| texts_of(value, words)),
        _ => {}
    }
}

/// Paths, their parameters, headers, and keys of bodies.
fn http() -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    for sample in samples() {
        let (path, query) = sample.address.split_once('?').unwrap_or((&sample.address, ""));
        words.insert(path.to_owned());
        words.extend(
            query.split('&').filter_map(|part| part.split_once('=')).map(|(name, _)| format!("{name}=")),
        );
        if let Ok(body) = serde_json::from_str(sample.body) {
            texts_of(&body, &mut words);
        }
    }
    let headers = [
        "host: localhost\r\n",
        "connection: Upgrade\r\n",
        "upgrade: websocket\r\n",
        "sec-websocket-version: 13\r\n",
        "sec-websocket-key: ",
        "origin: http://localhost\r\n",
        "content-length: ",
        "transfer-encoding: chunked\r\n",
        "accept-encoding: gzip\r\n",
        "accept: ",
        "if-none-match: ",
        "expect: 100-continue\r\n",
        "connection: close\r\n",
        " HTTP/1.1\r\n",
        " HTTP/1.0\r\n",
        "GET ",
        "POST ",
        "HEAD ",
        "\r\n\r\n",
        "0\r\n\r\n",
        "ack ",
        "{\"type\": \"looks\", \"looks\": [",
    ];
    words.extend(headers.map(str::to_owned));
    words.insert(format!("authorization: Bearer {}\r\n", crate::http::TOKEN));
    words
}
