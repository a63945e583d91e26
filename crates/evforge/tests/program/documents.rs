//! Every relative link in the documents of the repository leads somewhere: to a file that exists and, behind a
//! `#`, to one of its headings.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

/// All documents below `folder`, but those of dependencies and builds.
fn documents(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder of the repository") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_dir() && !path.is_symlink() {
            if !name.starts_with('.') && !["node_modules", "target"].contains(&name) {
                documents(&path, found);
            }
        } else if name.ends_with(".md") {
            found.push(path);
        }
    }
}

/// The lines of a document with their numbers, without those of code blocks.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_code = false;
    text.lines().enumerate().filter(move |(_, line)| {
        let fence = line.trim_start().starts_with("```");
        in_code ^= fence;
        !fence && !in_code
    })
}

/// The anchors of a document, as the usual viewers make them from its headings.
fn anchors(text: &str) -> Vec<String> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let headings = prose(text).filter(|(_, line)| line.starts_with('#'));
    headings
        .map(|(_, line)| {
            let title = line.trim_start_matches('#').trim().to_lowercase();
            let kept = title.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
            let anchor: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();
            let before = seen.entry(anchor.clone()).or_default();
            *before += 1;
            if *before == 1 { anchor } else { format!("{anchor}-{}", *before - 1) }
        })
        .collect()
}

/// The targets of all links of a document, with the number of the line in which each ends.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut links = Vec::new();
    for (number, line) in prose(text) {
        for after in line.split("](").skip(1) {
            if let Some((target, _)) = after.split_once(')') {
                links.push((number + 1, target.to_owned()));
            }
        }
    }
    links
}

/// What is wrong with a link of the document at `document`, if anything is.
fn fault(document: &Path, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = target.split_once('#').map_or((target, None), |(path, anchor)| (path, Some(anchor)));
    let file = match path {
        "" => document.to_owned(),
        path => document.parent().expect("a document is in a folder").join(path),
    };
    if !file.exists() {
        return Some("no such file".to_owned());
    }
    let anchor = anchor?;
    let Ok(text) = std::fs::read_to_string(&file) else {
        return Some("an anchor in what is no text".to_owned());
    };
    let known = anchors(&text);
    (!known.iter().any(|one| one == anchor))
        .then(|| format!("no such heading; there are {}", known.join(", ")))
}

#[test]
fn every_link_leads_somewhere() {
    let root = repository();
    let mut all = Vec::new();
    documents(&root, &mut all);
    let (mut checked, mut faults) = (0, Vec::new());
    for document in &all {
        let text = std::fs::read_to_string(document).expect("a document is text");
        for (line, target) in links(&text) {
            checked += 1;
            if let Some(fault) = fault(document, &target) {
                let name = document.strip_prefix(&root).unwrap_or(document).display();
                faults.push(format!("{name}:{line}: {target}: {fault}"));
            }
        }
    }
    assert!(checked > 150, "only {checked} links were found");
    assert!(faults.is_empty(), "links that lead nowhere:\n{}", faults.join("\n"));
}

#[test]
fn every_document_is_in_the_index() {
    let docs = repository().join("docs");
    let index = std::fs::read_to_string(docs.join("README.md")).expect("docs/README.md");
    let listed: Vec<_> = links(&index).into_iter().map(|(_, target)| docs.join(target)).collect();
    let mut all = Vec::new();
    documents(&docs, &mut all);
    // The pages of formats are in an index of their own (`format_pages`), which must be in this one.
    let [decisions, formats] = ["development/decisions", "formats"].map(|folder| docs.join(folder));
    all.retain(|document| !document.starts_with(&decisions) && *document != docs.join("README.md"));
    all.retain(|document| !document.starts_with(&formats) || *document == formats.join("README.md"));
    all.retain(|document| !listed.contains(document));
    assert!(all.is_empty(), "not in docs/README.md: {all:?}");
}

#[test]
fn links_to_missing_files_and_headings_are_noticed() {
    let document = repository().join("docs/README.md");
    assert_eq!(fault(&document, "configuration.md"), None);
    assert_eq!(fault(&document, "#an-operator-at-night"), None);
    assert_eq!(fault(&document, "loss.md#hints"), None);
    assert!(fault(&document, "absent.md").is_some());
    assert!(fault(&document, "#absent").is_some());
    assert!(fault(&document, "loss.md#absent").is_some());
}
