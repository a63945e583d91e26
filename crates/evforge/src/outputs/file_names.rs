//! Names of files that have something of the run in them: `data/{instrument}_{run:6}.nxs`.

use crate::CommandError;
use evforge_config::{Config, NameParts};
use jiff::Timestamp;
use std::path::PathBuf;
use toml::Value;

/// Puts what is known of the run into the names of all files of its outputs. Names without braces stay as they are.
///
/// # Errors
/// If a name has something in braces that is not known, or that the run does not have.
pub(crate) fn fill(config: &mut Config) -> Result<(), CommandError> {
    let start = now();
    let parts = NameParts { run: &config.run, instrument: &config.name, start: &start };
    let fill_in = |key: &str, name: &str| parts.fill(name).map_err(|problem| format!("{key}: {problem}"));
    let mut names = Vec::new();
    for (id, table) in &config.outputs {
        if let Some(Value::String(name)) = table.get("file") {
            names.push((id.clone(), fill_in(&format!("outputs.{id}.file"), name)?));
        }
    }
    let record =
        match config.serve.record.as_deref() {
            // What is no text has no braces that anybody meant.
            Some(path) => Some(path.to_str().map_or_else(
                || Ok(path.to_owned()),
                |text| fill_in("serve.record", text).map(PathBuf::from),
            )?),
            None => None,
        };
    for (id, name) in names {
        config.set_output(&id, "file", name);
    }
    config.common.serve.record = record;
    Ok(())
}

/// The time now, as it stands in names: `20261123T081500Z`.
fn now() -> String {
    Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn filled(name: &str, run: &str) -> Result<Value, String> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/gdgem-srs.toml");
        let overrides = [format!("outputs.csv.file={name:?}"), format!("run={run}")];
        let mut config = Config::read(&path, &overrides).map_err(|error| error.to_string())?;
        fill(&mut config).map_err(|error| error.to_string())?;
        Ok(config.outputs["csv"]["file"].clone())
    }

    #[test]
    fn names_have_something_of_the_run_in_them() {
        let run = r#"{ number = 42, title = "../a b/c" }"#;
        let name = |text: &str| filled(text, run).unwrap().as_str().unwrap().to_owned();
        assert_eq!(name("data/{run}.csv"), "data/42.csv");
        assert_eq!(name("{run:6}-{title}.csv"), "000042-_a_b_c.csv");
        assert_eq!(name("{instrument}.csv"), "gdgem-srs.csv");
        assert_eq!(name("plain.csv"), "plain.csv");
        let start = name("{start}");
        assert!(start.len() == 16 && start.starts_with("20") && start.ends_with('Z'), "{start}");
    }

    #[test]
    fn what_is_not_known_is_said() {
        let problem = |name: &str| filled(name, "{}").unwrap_err();
        assert!(problem("{run}.csv").contains("--run-number"), "{}", problem("{run}.csv"));
        assert!(problem("{title}.csv").contains("--title"));
        assert!(problem("{rum}.csv").contains("{rum} is not known; in braces can be {run}"));
        assert!(problem("{run.csv").contains("no `}` behind it"));
        assert!(filled("{run:99999999}.csv", "{ number = 1 }").unwrap_err().contains("at most 10 digits"));
        assert!(filled("{run:x}.csv", "{ number = 1 }").is_err());
        assert!(problem("{instrument:3}").contains("not known"));
    }
}
