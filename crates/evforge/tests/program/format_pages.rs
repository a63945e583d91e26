//! The pages of `docs/formats` name counters that exist, and are all in their index. Their packets are decoded by the
//! test of the same name in `evforge-wire`.

use std::path::{Path, PathBuf};

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

fn read(document: &Path) -> String {
    std::fs::read_to_string(document).unwrap_or_else(|error| panic!("{}: {error}", document.display()))
}

/// The pages with their names, the index among them.
fn pages() -> Vec<(String, String)> {
    let entries = std::fs::read_dir(docs().join("formats")).expect("docs/formats");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths
        .map(|path| (path.file_name().expect("a name").to_string_lossy().into_owned(), read(&path)))
        .collect()
}

/// The names in backquotes in the columns `counter`, which are the last of their tables.
fn counters(page: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut is_of_counters = false;
    for line in page.lines() {
        let Some((_, cell)) = line.trim_end_matches('|').rsplit_once('|') else {
            is_of_counters = false;
            continue;
        };
        is_of_counters |= cell.trim() == "counter";
        if is_of_counters {
            names.extend(cell.split('`').skip(1).step_by(2));
        }
    }
    names
}

#[test]
fn every_counter_of_a_check_exists() {
    let declared = read(&docs().join("counters.md"));
    let mut unknown = Vec::new();
    for (page, text) in pages() {
        let names = counters(&text);
        assert!(!names.is_empty(), "{page} has no table with a column `counter`");
        let is_unknown = |name: &&str| !declared.contains(&format!("\n| `{name}` |"));
        unknown.extend(names.into_iter().filter(is_unknown).map(|name| format!("{page}: {name}")));
    }
    assert!(unknown.is_empty(), "not in docs/counters.md: {}", unknown.join(", "));
}

#[test]
fn every_page_is_in_the_index_and_the_index_in_that_of_the_documents() {
    let index = read(&docs().join("formats/README.md"));
    for (page, _) in pages().iter().filter(|(page, _)| page != "README.md") {
        assert!(
            index.contains(&format!("| [{page}]({page}) |")),
            "docs/formats/README.md does not list {page}"
        );
    }
    assert!(
        read(&docs().join("README.md")).contains("](formats/README.md)"),
        "docs/README.md does not link it"
    );
}

#[test]
fn counters_are_read_from_the_last_column_of_their_tables_only() {
    let page = "`a`\n\n| | check | counter |\n|---|---|---|\n| 1 | `b` | `c`; else `d` |\n\n| what | key |\n|---|---|\n| x | `e` |\n";
    assert_eq!(counters(page), ["c", "d"]);
}
