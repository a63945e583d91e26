//! The configurations that evforge comes with, part of the program.

use crate::LabError;
use evforge_config::Config;
use evforge_core::suggestion::did_you_mean;
use std::path::Path;

/// Name and text of each.
macro_rules! shipped {
    ($($name:literal),+ $(,)?) => {
        const SHIPPED: &[(&str, &str)] = &[
            $(($name, include_str!(concat!("../../../configs/", $name, ".toml")))),+
        ];
    };
}

shipped!(
    "gdgem-srs",
    "gdgem-nmx",
    "nmx",
    "multigrid",
    "multigrid-cncs",
    "trex",
    "let",
    "multiblade",
    "multiblade-50",
    "freia",
    "estia",
    "amor-ess",
    "tblmb",
    "sonde",
    "sonde-module",
    "beam-monitors",
    "adc-readout",
    "isis-v2",
);

/// The detector of this name, as people call it, and the configuration that stands for it.
const DETECTORS: &[(&str, &str)] = &[("gdgem", "gdgem-srs"), ("gd-gem", "gdgem-srs")];

/// The names that [`configuration`] knows, those of detectors first.
pub fn names() -> impl Iterator<Item = &'static str> {
    ["gdgem"].into_iter().chain(SHIPPED.iter().map(|(name, _)| *name))
}

/// The shipped configuration of this name, or of the detector of this name, with overrides.
///
/// # Errors
/// If there is none, or an override does not fit it.
pub fn configuration(name: &str, overrides: &[String]) -> Result<Config, LabError> {
    let (name, text) = text(name)?;
    Ok(Config::parse(Path::new(&format!("configs/{name}.toml")), text, overrides)?)
}

/// As [`configuration`], with addresses of electronics that this host can send from: 192.168.x.y is 127.168.x.y.
///
/// # Errors
/// As [`configuration`].
pub fn on_loopback(name: &str, overrides: &[String]) -> Result<Config, LabError> {
    let (name, text) = text(name)?;
    let text = text.replace("\"192.168.", "\"127.168.");
    Ok(Config::parse(Path::new(&format!("configs/{name}.toml")), &text, overrides)?)
}

/// The name and the text of the shipped configuration of this name, or of the detector of this name.
///
/// # Errors
/// If there is none.
pub fn text(name: &str) -> Result<(&'static str, &'static str), LabError> {
    let named = DETECTORS.iter().find(|(detector, _)| *detector == name);
    let wanted = named.map_or(name, |(_, configuration)| configuration);
    SHIPPED.iter().find(|(shipped, _)| *shipped == wanted).copied().ok_or_else(|| {
        let names: Vec<&str> = names().collect();
        let meant = did_you_mean(name, names.iter().copied());
        format!("there is no detector `{name}`{meant} Known are {}", names.join(", ")).into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_configuration_is_valid() {
        for (name, _) in SHIPPED {
            assert!(configuration(name, &[]).is_ok(), "{name}");
        }
        assert_eq!(configuration("gdgem", &[]).unwrap().name, configuration("gdgem-srs", &[]).unwrap().name);
        let error = configuration("jungfrau", &[]).unwrap_err().to_string();
        assert!(error.contains("`jungfrau`") && error.contains("multiblade"), "{error}");
    }
}
