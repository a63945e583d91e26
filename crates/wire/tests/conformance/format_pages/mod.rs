//! The pages of `docs/formats` say what the decoders do: every packet in them is decoded, and what comes out is
//! compared with the text next to it.
//!
//! An example is a block ```` ```hex ````, with the variant of the format as a second word where there are several,
//! and right behind it a block ```` ```decoded ```` with lines `field = value`. What follows a `#` in a line of bytes is
//! a remark.

mod decode;
mod ess_and_srs;
mod fields;
mod isis;
mod page;
mod trains;

use decode::decode;
use page::{Example, examples};
use std::path::{Path, PathBuf};

/// The index, which has no examples.
const INDEX: &str = "README.md";

/// The pages, in the order of their names.
fn pages() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/formats");
    let entries = std::fs::read_dir(folder).expect("docs/formats");
    let mut pages: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    pages
        .retain(|page| page.extension().is_some_and(|extension| extension == "md") && !page.ends_with(INDEX));
    pages.sort();
    pages
}

/// What is wrong with the examples of a page; nothing if all are decoded to what is written.
fn faults(name: &str, text: &str) -> Vec<String> {
    let found = match examples(text) {
        Ok(found) if found.is_empty() => return vec![format!("{name}: no example")],
        Ok(found) => found,
        Err(fault) => return vec![format!("{name}:{fault}")],
    };
    found
        .iter()
        .filter_map(|example| Some(format!("{name}:{}: {}", example.line, fault(name, example)?)))
        .collect()
}

fn fault(name: &str, example: &Example) -> Option<String> {
    match decode(name, &example.variant, &example.bytes) {
        Ok(decoded) if decoded.trim_end() == example.decoded.trim_end() => None,
        Ok(decoded) => Some(format!("decoded to\n{decoded}\nwhere the page has\n{}", example.decoded)),
        Err(reason) => Some(reason),
    }
}

#[test]
fn every_example_is_decoded_to_what_is_next_to_it() {
    let pages = pages();
    assert!(pages.len() >= 14, "only {} pages were found", pages.len());
    let mut all = Vec::new();
    for page in &pages {
        let text = std::fs::read_to_string(page).expect("a page is text");
        let name = page.file_name().and_then(|name| name.to_str()).expect("the name of a page");
        all.extend(faults(name, &text));
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}

#[test]
fn what_is_wrong_with_an_example_is_noticed() {
    let page = |blocks: &str| faults("caen-records.md", &blocks.replace('\'', "```"));
    let sound = "'hex\n89 05 10 27 78 56 34 12  # one record\n'\n\n'decoded\n\
                 record[0] = digitizer 137, channel 5, adc 10000, time 305419896\n'\n";
    assert!(page(sound).is_empty(), "{:?}", page(sound));
    let swapped = sound.replace("10 27", "27 10");
    let cut = sound.replace(" 12 ", "");
    let no_digits = sound.replace("89", "8g");
    let alone = sound.split("\n\n").next().unwrap();
    let unframed = sound.replace("'hex\n", "'text\n");
    let open = sound.trim_end().trim_end_matches('\'');
    for (wrong, told) in [
        (swapped.as_str(), "adc 4135"),
        (&cut, "RaggedLength"),
        (&no_digits, "8g"),
        (alone, "no block decoded"),
        (&unframed, "no block hex"),
        (open, "does not end"),
        ("Only prose.", "no example"),
    ] {
        let faults = page(wrong);
        assert!(faults.len() == 1 && faults[0].contains(told), "{told}: {faults:?}");
    }
    assert!(faults("unknown.md", &sound.replace('\'', "```"))[0].contains("no decoder"));
}
