//! What a run of a service may set for itself. Whoever may start runs (`evforge ctl`, the HTTP interface, a message on Kafka) decides
//! what is measured and how it is called; all else is the service's, which whoever wrote its configuration decides.
//!
//! | the run's | the service's |
//! |---|---|
//! | [`TABLES`]: title and numbers of the run, pulses, vetoes, changes, how numbers of packets are read | every other table: addresses, brokers, secrets, threads, the log |
//! | the detector's section: thresholds, masks, windows | in it, what names a file: libraries, wirings, calibrations |
//! | `outputs.….file`, below the folder of that output's file | the rest of each output: what kind it is, whether it replaces files |

use crate::ConfigError;
use crate::detectors::SECTIONS;
use crate::document::Document;
use std::collections::BTreeSet;
use std::path::Path;
use toml::{Table, Value};

/// Tables that belong to a run, besides those of the detector.
const TABLES: [&str; 6] = ["change", "ess", "pulses", "run", "sequence", "veto"];

/// Keys of detectors that name files, besides all that end with `_file`.
const NAMES_OF_FILES: [&str; 2] = ["library", "wiring"];

/// Checks that `of_run` (`key=value`) sets only what belongs to a run, on top of the configuration of a service: its file, and its
/// own overrides. No file but this one is read. Gives the files that it names for outputs, by the name of the output.
///
/// # Errors
/// If the file cannot be read, an override is none, or the first key that belongs to the service.
pub fn check_of_run(
    path: &Path,
    of_service: &[String],
    of_run: &[String],
) -> Result<Vec<(String, String)>, ConfigError> {
    let table = |document: Document| {
        document.text.parse::<Table>().map(Value::Table).map_err(|error| document.invalid(error.into()))
    };
    let both = [of_service, of_run].concat();
    // What an override does counts, not how it is spelled: a whole table can be set as well.
    let service = Document::read(path, of_service, &SECTIONS)?;
    let after = table(Document::new(path, &service.file_text, &both, &SECTIONS)?)?;
    let before = table(service)?;
    if let Some(key) = refused(Some(&before), Some(&after), &mut Vec::new()) {
        let problem = format!("{key} belongs to the service, and is the same for all of its runs");
        return Err(ConfigError::Invalid { path: path.to_owned(), place: None, problem });
    }
    let alone = table(Document::new(path, "", of_run, &SECTIONS)?)?;
    let outputs = alone.get("outputs").and_then(Value::as_table).into_iter().flatten();
    let named = outputs.filter_map(|(id, table)| Some((id.clone(), table.get("file")?.as_str()?.to_owned())));
    Ok(named.collect())
}

/// The first key that a run has changed, added or taken away and may not.
fn refused<'v>(
    before: Option<&'v Value>,
    after: Option<&'v Value>,
    keys: &mut Vec<String>,
) -> Option<String> {
    if before == after {
        return None;
    }
    let names: BTreeSet<String> = [before, after].into_iter().flatten().flat_map(inside).collect();
    if names.is_empty() {
        // An output stays what it is: it may have another file, not none.
        let takes_away = after.is_none() && keys.first().is_some_and(|table| table == "outputs");
        return (takes_away || !is_of_runs(keys)).then(|| keys.join("."));
    }
    names.into_iter().find_map(|name| {
        let [before, after] = [before, after].map(|value| at(value?, &name));
        keys.push(name);
        let found = refused(before, after, keys);
        keys.pop();
        found
    })
}

/// The keys of a table, the numbers of a list that has tables in it; none of what is a value.
fn inside(value: &Value) -> Vec<String> {
    match value {
        Value::Table(table) => table.keys().cloned().collect(),
        Value::Array(list) if list.iter().any(|entry| !inside(entry).is_empty()) => {
            (0..list.len()).map(|number| number.to_string()).collect()
        }
        _ => Vec::new(),
    }
}

fn at<'v>(value: &'v Value, name: &str) -> Option<&'v Value> {
    match value {
        Value::Table(table) => table.get(name),
        Value::Array(list) => list.get(name.parse::<usize>().ok()?),
        _ => None,
    }
}

/// True if the value with these keys belongs to a run.
fn is_of_runs(keys: &[String]) -> bool {
    let names_file = |key: &String| NAMES_OF_FILES.contains(&key.as_str()) || key.ends_with("_file");
    match keys.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["outputs", _, key] => *key == "file",
        [table, ..] if TABLES.contains(table) || SECTIONS.contains(table) => !keys.iter().any(names_file),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CommonConfig;

    const TEXT: &str = "name = \"a\"\n[gdgem]\nreadout = \"vmm3a\"\n[gdgem.sorting]\nwindow = \"1ms\"\n[outputs.csv]\nfile = \"a.csv\"\n";

    fn said(of_run: &[&str]) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.toml");
        std::fs::write(&path, TEXT).unwrap();
        let of_run: Vec<String> = of_run.iter().map(|text| (*text).to_owned()).collect();
        let service = ["receive.address=\"127.0.0.1:1\"".to_owned()];
        check_of_run(&path, &service, &of_run).map_or_else(|error| error.to_string(), |_| String::new())
    }

    #[test]
    fn thresholds_vetoes_names_and_files_are_of_runs() {
        for key in [
            "gdgem.sorting.window=2ms",
            "detector.clustering.x.adc_threshold=5",
            "gdgem={readout=\"vmm3a\"}",
            "run.title=\"first\"",
            "pulses.frequency=\"14Hz\"",
            "veto=[{name=\"prompt\",time_of_flight=[\"0us\",\"3us\"]}]",
            "change=[{at_ns=5,key=\"a\",value=4}]",
            "sequence.confirm=5",
            "outputs.csv.file=\"b.csv\"",
            "plugin.settings.a=5",
            // The service has it so as well.
            "receive.address=\"127.0.0.1:1\"",
        ] {
            assert_eq!(said(&[key]), "", "{key}");
        }
    }

    #[test]
    fn addresses_secrets_libraries_and_what_is_replaced_are_of_the_service_however_they_are_written() {
        for (key, named) in [
            ("plugin.library=/tmp/evil.so", "plugin.library"),
            ("plugin={library=\"/tmp/evil.so\"}", "plugin.library"),
            ("outputs.csv={file=\"b.csv\",if_exists=\"overwrite\"}", "outputs.csv.if_exists"),
            ("outputs.csv.kind=\"nexus\"", "outputs.csv.kind"),
            ("outputs.kafka.password_file=/etc/shadow", "outputs.kafka.password_file"),
            ("outputs={kafka={}}", "outputs.csv.file"),
            ("outputs={}", "outputs.csv.file"),
            ("outputs.image={}", "outputs.image"),
            ("kafka.brokers=\"elsewhere:9092\"", "kafka.brokers"),
            ("kafka={}", "kafka"),
            ("gdgem.mapping_file=/etc/shadow", "gdgem.mapping_file"),
            ("detector.calibration_file=/etc/shadow", "gdgem.calibration_file"),
            ("gdgem={a=[{calibration_file=\"/etc/shadow\"}]}", "gdgem.a.0.calibration_file"),
            ("isis.wiring=/etc/shadow", "isis.wiring"),
            ("receive.address=\"0.0.0.0:1\"", "receive.address"),
            ("control.allow_remote=true", "control.allow_remote"),
            ("control={allow_remote=true}", "control.allow_remote"),
            ("serve.record=\"a.pcapng\"", "serve.record"),
            ("log.file=\"/tmp/a\"", "log.file"),
            ("name=\"b\"", "name"),
        ] {
            let said = said(&["run.title=\"first\"", key]);
            assert!(said.contains(&format!("{named} belongs to the service")), "{key}: {said}");
        }
    }

    #[test]
    fn the_files_that_it_names_are_given() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.toml");
        std::fs::write(&path, TEXT).unwrap();
        let named = check_of_run(&path, &[], &["outputs.csv={file=\"a.csv\"}".to_owned()]).unwrap();
        assert_eq!(named, [("csv".to_owned(), "a.csv".to_owned())], "also where the service has the same");
    }

    /// Of the configurations here, no value that is the name of a file that is there belongs to a run.
    #[test]
    fn no_file_that_a_detector_reads_is_of_runs() {
        fn walk(value: &Value, keys: &mut Vec<String>, folder: &Path, found: &mut usize) {
            if let Value::String(text) = value
                && folder.join(text).is_file()
            {
                *found += 1;
                assert!(!is_of_runs(keys), "{}", keys.join("."));
            }
            for name in inside(value) {
                keys.push(name);
                if let Some(value) = at(value, &keys[keys.len() - 1]) {
                    walk(value, keys, folder, found);
                }
                keys.pop();
            }
        }
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs");
        let mut found = 0;
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "toml") {
                let config = CommonConfig::read(&path, &[]).unwrap();
                let table = config.file_text.parse::<Table>().unwrap();
                walk(&Value::Table(table), &mut Vec::new(), &folder, &mut found);
            }
        }
        assert!(found > 3, "only {found} files are named");
    }
}
