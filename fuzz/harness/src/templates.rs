//! What takes something of a run, or of a detector, into a name: files of outputs and of recordings, paths of Graphite.

use evforge_config::NameParts;
use evforge_core::run_identity::RunIdentity;
use evforge_metrics::graphite::GraphiteSettings;
use evforge_net::record::FileNames;
use std::ffi::OsStr;
use std::path::Path;

/// Between the parts of an input.
pub const SEPARATOR: char = '\0';

/// Fills a name in: the parts of `bytes`, with a zero byte between them, are the name with its braces, the number of the run (none if it
/// is no number), its title, the instrument, and `[outputs.graphite]`. What is not UTF-8 is replaced.
///
/// # Panics
/// If an error says nothing, if what a run is called brings a folder or a hidden file into the name, if a recording does not know its own
/// files, or if a path of Graphite could not be told from the rest of its line.
pub fn templates(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut parts = text.split(SEPARATOR);
    let mut part = || parts.next().unwrap_or_default();
    let (template, number, title, instrument, graphite) = (part(), part(), part(), part(), part());
    let run = RunIdentity {
        number: number.parse().ok(),
        title: (!title.is_empty()).then(|| title.to_owned()),
        ..RunIdentity::default()
    };
    let names = NameParts { run: &run, instrument, start: "20261123T081500Z" };
    match names.fill(template) {
        Ok(name) => {
            let own: String = outside_braces(template);
            assert_eq!(name.matches('/').count(), own.matches('/').count(), "{template:?} became {name:?}");
            let controls = |text: &str| text.chars().filter(|c| c.is_control()).count();
            assert_eq!(controls(&name), controls(&own), "{template:?} became {name:?}");
            recording(&name, run.number.unwrap_or(1).max(1));
        }
        Err(problem) => {
            assert!(!problem.trim().is_empty() && template.contains('{'), "{template:?}: {problem:?}");
        }
    }
    if let Ok(settings) = toml::from_str::<GraphiteSettings>(graphite) {
        let prefix = settings.prefix(instrument);
        let is_of_path = |c: char| c.is_ascii_graphic() && c != '/';
        assert!(!prefix.is_empty() && prefix.chars().all(is_of_path), "a path {prefix:?} of {instrument:?}");
        assert!(!settings.address.contains(char::is_whitespace));
    }
}

/// The files of a recording of this name.
fn recording(name: &str, number: u32) {
    let path = Path::new(name);
    if path.file_name().is_none() {
        return;
    }
    let series = FileNames::numbered(path);
    let file = series.path(number);
    assert_eq!(file.parent(), path.parent(), "a file of a series in another folder");
    let own = file.file_name().unwrap_or_else(|| OsStr::new(""));
    assert_eq!(series.number_of(own), Some(number), "{name:?} does not know {own:?}");
    assert_eq!(FileNames::single(path).path(number), path);
}

/// What of a name is not in braces.
fn outside_braces(template: &str) -> String {
    let mut own = String::new();
    let mut rest = template;
    while let Some((before, behind)) = rest.split_once('{') {
        own.push_str(before);
        rest = behind.split_once('}').map_or("", |(_, behind)| behind);
    }
    own + rest
}
