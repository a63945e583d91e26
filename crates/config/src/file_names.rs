//! Names of files that have something of the run in them: `data/{instrument}_{run:6}.nxs`.

use evforge_core::run_identity::RunIdentity;

/// What can stand in a name.
const KNOWN: &str = "{run}, {run:6} (with as many digits at least), {title}, {instrument}, {start}";
/// Digits of a number at most.
const MOST_DIGITS: usize = 10;

/// What names can have of a run.
#[derive(Clone, Copy, Debug)]
pub struct NameParts<'a> {
    /// Its number and its title.
    pub run: &'a RunIdentity,
    /// The name of the instrument.
    pub instrument: &'a str,
    /// When it began, as it stands in names: `20261123T081500Z`.
    pub start: &'a str,
}

impl NameParts<'_> {
    /// `name` with what is known of the run in place of what is in braces. A name without braces stays as it is. A title or a
    /// name of an instrument brings neither a folder nor anything that a shell reads.
    ///
    /// # Errors
    /// If a name has something in braces that is not known, or that the run does not have.
    pub fn fill(&self, name: &str) -> Result<String, String> {
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
        let run = self.run;
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
            ("instrument", None) => Ok(plain(self.instrument)),
            ("start", None) => Ok(self.start.to_owned()),
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
