//! Configuration files and `--set`.

use evforge_config::{Config, ConfigError};
use std::path::Path;

/// Between the file and each of the `--set` of an input.
pub const SEPARATOR: char = '\0';

/// Reads `bytes` as a configuration file, without and with the `--set key=value` that follow it, each behind
/// a zero byte. What is not UTF-8 is replaced.
///
/// # Panics
/// If an error says nothing or points outside the file, or if what was read does not read the same again.
pub fn configuration(bytes: &[u8]) {
    let input = String::from_utf8_lossy(bytes);
    let mut parts = input.split(SEPARATOR);
    let text = parts.next().unwrap_or_default();
    let overrides: Vec<String> = parts.map(str::to_owned).collect();
    read(text, &[]);
    if !overrides.is_empty() {
        read(text, &overrides);
    }
}

fn read(text: &str, overrides: &[String]) {
    let path = Path::new("x.toml");
    match Config::parse(path, text, overrides) {
        Ok(config) => {
            assert!(!config.name.is_empty(), "an instrument without a name");
            let again = Config::parse(path, &config.text, &[])
                .unwrap_or_else(|error| panic!("what was read is refused: {error}"));
            assert_eq!((&again.name, again.input), (&config.name, config.input));
            assert_eq!(again.detector, config.detector, "what was read reads differently");
            again.detector.check().expect("settings that were read are refused");
        }
        Err(error) => {
            let said = error.to_string();
            let ConfigError::Invalid { place, problem, .. } = error else {
                panic!("no file was read: {said}");
            };
            assert!(!problem.trim().is_empty(), "an error that says nothing: {said}");
            assert!(said.starts_with("x.toml:"), "the file is not named: {said}");
            if let Some((line, column)) = place {
                assert!((1..=text.matches('\n').count() + 1).contains(&line), "line {line}: {said}");
                let columns = text.split('\n').nth(line - 1).map_or(0, |line| line.chars().count() + 1);
                assert!((1..=columns).contains(&column), "column {column} of {columns}: {said}");
            }
        }
    }
}
