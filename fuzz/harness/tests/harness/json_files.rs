//! The exercise of JSON files with text by chance: sound files of each kind in which something is changed, and words of
//! such files in any order.

use evforge_fuzz_harness::vmm_files::vmm_files;
use proptest::collection::vec;
use proptest::prelude::*;

fn list(value: &str) -> String {
    format!("[{}]", vec![value; 64].join(","))
}

/// Sound files of each kind.
fn sound() -> Vec<String> {
    let (offsets, slopes) = (list("1.5"), list("2"));
    let strips = format!("{:?}", (0..64).collect::<Vec<_>>());
    let config = |plane: u8| {
        format!(
            "{{\"Ring\":0,\"FEN\":{plane},\"Hybrid\":0,\"Plane\":{plane},\"Offset\":0,\"ReversedChannels\":false,\
             \"Panel\":0,\"HybridId\":\"a{plane}\"}}"
        )
    };
    let vmm = format!("{{\"tdc_offset\":{offsets},\"tdc_slope\":{slopes}}}");
    let geometry = |keys: &str, plane: u8| {
        format!("{{\"detector\":0,\"plane\":{plane},{keys},\"vmm\":{plane},\"id0\":{strips}}}")
    };
    let lines = format!("\"adc_offsets\":{offsets},\"adc_slopes\":{slopes}");
    vec![
        format!("{{\"Detector\":\"NMX\",\"Config\":[{},{}]}}", config(0), config(1)),
        "{\"Detector\":\"Freia\",\"Config\":[{\"CassetteNumber\":1,\"Ring\":0,\"FEN\":0,\"Hybrid\":0,\
         \"Thresholds\":[[1],[2]]}]}"
            .to_owned(),
        format!(
            "{{\"Detector\":\"NMX\",\"Version\":1,\"Calibrations\":[{{\"VMMHybridCalibration\":{{\"HybridId\":\"aa\",\
             \"vmm0\":{vmm},\"vmm1\":{vmm}}}}}]}}"
        ),
        format!("{{\"vmm_geometry\":[{},{}]}}", geometry("\"fec\":1", 0), geometry("\"fec\":1", 1)),
        format!(
            "{{\"vmm_geometry\":[{},{}]}}",
            geometry("\"ring\":1,\"fen\":2", 0),
            geometry("\"ring\":1,\"fen\":2", 1)
        ),
        format!("{{\"vmm_calibration\":[{{\"fecID\":1,\"vmmID\":0,\"hybridID\":\"aa\",{lines}}}]}}"),
        format!("{{\"vmm_calibration\":[{{\"ring\":0,\"fen\":0,\"vmm\":0,{lines}}}]}}"),
        "{\"srs_mappings\":[{\"fecID\":1,\"vmmID\":0,\"planeID\":0,\"strip_offset\":64}]}".to_owned(),
    ]
}

/// What can stand in the place of something else.
const WORDS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "null",
    "true",
    "-1",
    "0",
    "1",
    "2",
    "3",
    "11",
    "12",
    "64",
    "127",
    "255",
    "65535",
    "65536",
    "99999999999999999999",
    "-99999999999999999999",
    "1e3",
    "1e999",
    "1.5",
    "NaN",
    "\"x\"",
    "\"\"",
    "\"aa\"",
    "\"Plane\"",
    "\"Ring\"",
    "\"Panel\"",
    "\"vmm_geometry\":[]",
    "\"Config\":[]",
    "\"id\":[]",
    "\u{fe}",
];

fn word() -> impl Strategy<Value = &'static str> {
    prop::sample::select(WORDS)
}

/// The parts of a text: words and numbers, and each other character by itself.
fn parts(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let same = |c: char| c.is_alphanumeric() || c == '_' || c == '.' || c == '-';
        let length =
            if same(first) { rest.find(|c: char| !same(c)).unwrap_or(rest.len()) } else { first.len_utf8() };
        let (part, after) = rest.split_at(length);
        parts.push(part);
        rest = after;
    }
    parts
}

#[test]
fn sound_files_are_sound() {
    for text in sound() {
        vmm_files(text.as_bytes());
    }
    let detector = evforge_detect::gdgem::vmm_files::wiring(&sound()[3]);
    assert_eq!(detector.expect("a sound wiring").content.chips.len(), 2);
}

/// What a change once made of a sound file: a clustering unit beyond those that a detector has, which was taken as 31 sectors.
#[test]
fn a_clustering_unit_that_no_detector_has_is_refused_with_its_place() {
    let text = include_str!("../../../corpus/vmm_files/kept-efu-nmx-panel-30");
    vmm_files(text.as_bytes());
    let detector = "name = \"nmx\"\ness.type = \"nmx\"\n[ess_gdgem]\ngeometry = { nx = 1280, ny = 1280 }\n\
                    hybrid = [{ ring = 0, fen = 0, hybrid = 0, plane = \"x\", offset = 0 }, \
                    { ring = 0, fen = 1, hybrid = 0, plane = \"y\", offset = 0 }]\n";
    let config = evforge_config::Config::parse(std::path::Path::new("x.toml"), detector, &[]);
    let evforge_config::DetectorSettings::EssGdGem(mut settings) = config.expect("a configuration").detector
    else {
        panic!("a Gd-GEM in the ESS readout");
    };
    let problem = settings.take_wiring(text).unwrap_err();
    assert!(problem.contains("found clustering unit 30, expected 0 to 15"), "{problem}");
}

proptest! {
    #[test]
    fn words_in_any_order(words in vec(word(), 0..60)) {
        vmm_files(words.concat().as_bytes());
    }

    #[test]
    fn sound_files_with_changes(
        file in 0..8_usize, changes in vec((any::<prop::sample::Index>(), 0..4_u8, word()), 1..4),
    ) {
        let text = sound().swap_remove(file);
        let mut parts = parts(&text);
        for (place, change, word) in changes {
            if parts.is_empty() {
                break;
            }
            let place = place.index(parts.len());
            match change {
                0 => parts[place] = word,
                1 => parts.insert(place, word),
                2 => drop(parts.remove(place)),
                _ => parts.truncate(place.max(1)),
            }
        }
        vmm_files(parts.concat().as_bytes());
    }

    #[test]
    fn any_bytes(bytes in vec(any::<u8>(), 0..200)) {
        vmm_files(&bytes);
    }
}
