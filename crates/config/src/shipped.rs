//! The configurations that evforge comes with, part of the program, and what each of them reads.

use crate::config::{Config, expected_of};
use crate::detectors::{self, SECTIONS};
use crate::document::{Document, ReadFile, from_disk};
use crate::error::ConfigError;
use evforge_core::suggestion::did_you_mean;
use evforge_core::whole_file::as_text;
use evforge_inspect::shipped::ShippedConfiguration;
use rust_embed::RustEmbed;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

#[derive(RustEmbed)]
#[folder = "../../configs"]
struct Files;

/// Where they are in the repository.
const FOLDER: &str = "configs";

/// Detectors as people call them, each with the configuration that stands for it.
const DETECTORS: [(&str, &str); 2] = [("gdgem", "gdgem-srs"), ("gd-gem", "gdgem-srs")];

/// The names that [`configuration`] knows, those of detectors first.
pub fn names() -> impl Iterator<Item = &'static str> {
    let names = detectors::shipped().filter(|(_, key)| key.is_none()).map(|(name, _)| name);
    ["gdgem"].into_iter().chain(names.filter(|name| !name.contains('/')))
}

/// The shipped configuration of this name, or of the detector of this name, with overrides.
///
/// # Errors
/// If there is none, or an override does not fit it.
pub fn configuration(name: &str, overrides: &[String]) -> Result<Config, ConfigError> {
    let (name, text) = text(name)?;
    parse(name, &text, overrides, embedded_file)
}

/// As [`configuration`], with addresses of electronics that this host can send from: 192.168.x.y is 127.168.x.y.
///
/// # Errors
/// As [`configuration`].
pub fn on_loopback(name: &str, overrides: &[String]) -> Result<Config, ConfigError> {
    let (name, text) = text(name)?;
    parse(name, &to_loopback(&text), overrides, |path| Ok(to_loopback(&embedded_file(path)?)))
}

/// Files that it names are part of the program, too: an installed one need not have the folder.
fn parse(name: &str, text: &str, overrides: &[String], read_file: ReadFile) -> Result<Config, ConfigError> {
    let document = Document::new(&path_of(name), text, overrides, &SECTIONS)?;
    Config::of(Document { read_file, ..document })
}

/// Addresses stand in quotes in a configuration, and behind a comma in a wiring table.
fn to_loopback(text: &str) -> String {
    text.replace("\"192.168.", "\"127.168.").replace(",192.168.", ",127.168.")
}

/// A file that a shipped configuration names; one that it does not come with is on the disk.
fn embedded_file(path: &Path) -> std::io::Result<String> {
    path.strip_prefix(FOLDER).ok().and_then(file).map_or_else(|| from_disk(path), as_text)
}

/// A file that shipped configurations name, by its path from their folder.
pub fn file(path: &Path) -> Option<Vec<u8>> {
    Some(Files::get(path.to_str()?)?.data.into_owned())
}

/// The name and the text of the shipped configuration of this name, or of the detector of this name.
///
/// # Errors
/// If there is none.
pub fn text(name: &str) -> Result<(&'static str, String), ConfigError> {
    let named = DETECTORS.iter().find(|(detector, _)| *detector == name);
    let wanted = named.map_or(name, |(_, configuration)| configuration);
    let found = names().find(|known| *known == wanted).and_then(|name| Some((name, embedded(name)?)));
    found.ok_or_else(|| {
        let names: Vec<&str> = names().collect();
        let meant = did_you_mean(name, names.iter().copied());
        let known = names.join(", ");
        ConfigError::NotShipped(format!("there is no detector `{name}`{meant} Known are {known}"))
    })
}

fn embedded(name: &str) -> Option<String> {
    String::from_utf8(file(Path::new(&format!("{name}.toml")))?).ok()
}

fn path_of(name: &str) -> PathBuf {
    Path::new(FOLDER).join(format!("{name}.toml"))
}

/// All of them with what they read, for those who look for one that fits. Of a detector the likeliest comes first.
pub fn configurations() -> &'static [ShippedConfiguration] {
    static ALL: LazyLock<Vec<ShippedConfiguration>> = LazyLock::new(|| {
        let mut all = Vec::new();
        for (name, key) in detectors::shipped() {
            let Some(text) = embedded(name) else { continue };
            let path = path_of(name);
            let document = Document::new(&path, &text, &Vec::from_iter(key.map(str::to_owned)), &SECTIONS);
            let expected = document.ok().and_then(|document| expected_of(&document.text));
            let path = path.display().to_string();
            all.extend(expected.map(|expected| ShippedConfiguration { path, expected, key }));
        }
        all
    });
    &ALL
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_configuration_is_named_by_its_detector_and_says_what_it_reads() {
        let named: Vec<&str> = configurations().iter().map(|shipped| shipped.path.as_str()).collect();
        assert_eq!(named.len(), detectors::shipped().count(), "one is missing, or cannot be read: {named:?}");
        for name in Files::iter().filter(|name| name.ends_with(".toml") && !name.contains('/')) {
            let path = format!("configs/{name}");
            assert!(
                named.contains(&path.as_str()),
                "{path} is named by no detector (`shipped` of its settings)"
            );
            assert!(names().any(|known| name == format!("{known}.toml")), "{name} cannot be had by its name");
        }
    }

    #[test]
    fn each_can_be_had_by_its_name_and_some_by_that_of_a_detector() {
        names().for_each(|name| drop(configuration(name, &[]).unwrap()));
        assert_eq!(configuration("gdgem", &[]).unwrap().name, configuration("gdgem-srs", &[]).unwrap().name);
        let error = configuration("jungfrau", &[]).unwrap_err().to_string();
        assert!(error.contains("`jungfrau`") && error.contains("multiblade"), "{error}");
    }
}
