//! `docs/counters.md` says what the declarations of the counters say.

use evforge::counter_table;
use std::path::Path;

/// The last line of the document that is written by hand.
const MARK: &str = "<!-- Made from the declarations: everything below this line. -->\n";

#[test]
fn the_document_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/counters.md");
    let found = std::fs::read_to_string(&path).expect("docs/counters.md");
    let (head, _) = found.split_once(MARK).expect("docs/counters.md has lost the line before its tables");
    let expected = format!("{head}{MARK}{}", counter_table());
    if std::env::var_os("EVFORGE_UPDATE").is_some_and(|value| value == "1") {
        std::fs::write(&path, expected).expect("docs/counters.md can be written");
        return;
    }
    assert!(found == expected, "docs/counters.md is out of date: regenerate it with `make counters`");
}
