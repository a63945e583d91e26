//! Names of files that have something of the run in them: `data/{instrument}_{run:6}.nxs`.

use crate::CommandError;
use evforge_config::{CommonConfig, Config};
use jiff::Timestamp;
use std::path::{Path, PathBuf};
use toml::Value;

/// What can stand in a name.
const KNOWN: &str = "{run}, {run:6} (with as many digits at least), {title}, {instrument}, {start}";
/// Digits of a number at most.
const MOST_DIGITS: usize = 10;

/// What names can have of a run.
struct About<'a> {
    config: &'a CommonConfig,
    start: String,
}

/// Puts what is known of the run into the names of all files of its outputs. Names without braces stay as they are.
///
/// # Errors
/// If a name has something in braces that is not known, or that the run does not have.
pub(crate) fn fill(config: &mut Config) -> Result<(), CommandError> {
    let about = About { config: &config.common, start: now() };
    let mut names = Vec::new();
    for (id, table) in &config.outputs {
        if let Some(Value::String(name)) = table.get("file") {
            let filled = about.fill(name).map_err(|problem| format!("outputs.{id}.file: {problem}"))?;
            names.push((id.clone(), filled));
        }
    }
    let record =
        config.serve.record.as_deref().map(|path| about.fill_path("serve.record", path)).transpose()?;
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

impl About<'_> {
    fn fill_path(&self, key: &str, path: &Path) -> Result<PathBuf, CommandError> {
        let Some(text) = path.to_str() else { return Ok(path.to_owned()) };
        self.fill(text).map(PathBuf::from).map_err(|problem| format!("{key}: {problem}").into())
    }

    fn fill(&self, name: &str) -> Result<String, String> {
        let mut filled = String::with_capacity(name.len());
        let mut rest = name;
        while let Some((before, behind)) = rest.split_once('{') {
            let Some((word, behind)) = behind.split_once('}') else {
                return Err(format!("`{name}` has `{{` and no `}}` behind it; in braces can be {KNOWN}"));
            };
            filled.push_str(before);
            filled.push_str(&self.value(name, word)?);
            rest = behind;
        }
        filled.push_str(rest);
        Ok(filled)
    }

    fn value(&self, name: &str, word: &str) -> Result<String, String> {
        let run = &self.config.run;
        let (word, digits) = match word.split_once(':') {
            Some((word, digits)) => (word, Some(digits)),
            None => (word, None),
        };
        let lacks = |what: &str| format!("`{name}` has {{{word}}} in it, and the run has no {what}");
        match (word, digits) {
            ("run", digits) => {
                let number = run.number.ok_or_else(|| lacks("number: give one with --run-number"))?;
                let digits = digits.map_or(Ok(0), str::parse);
                match digits {
                    Ok(digits) if digits <= MOST_DIGITS => Ok(format!("{number:0digits$}")),
                    _ => Err(format!("`{name}`: a number has at most {MOST_DIGITS} digits, as in {{run:6}}")),
                }
            }
            ("title", None) => {
                run.title.as_deref().map(plain).ok_or_else(|| lacks("title: give one with --title"))
            }
            ("instrument", None) => Ok(plain(&self.config.name)),
            ("start", None) => Ok(self.start.clone()),
            _ => Err(format!("`{name}`: {{{word}}} is not known; in braces can be {KNOWN}")),
        }
    }
}

/// A text of people as a part of a file name: no separators, nothing that a shell reads.
fn plain(text: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() || "._-+".contains(c) { c } else { '_' };
    let name: String = text.trim().chars().map(plain).collect();
    // Neither hidden nor a folder.
    name.trim_start_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

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
