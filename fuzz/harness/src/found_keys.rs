//! The keys of configurations, found by asking the reader: what it says of a key that there is not names those that there are. So
//! nothing here is a list that could be forgotten.

use evforge_config::Config;
use std::collections::BTreeSet;
use std::path::Path;

/// A key that no table has.
const NONE: &str = "zzz";
/// Tables in each other at most.
const DEEPEST: usize = 6;

/// Values that some key takes, as TOML has them. Of those that a key takes the first one is given to it.
const VALUES: [&str; 22] = [
    "true",
    "1",
    "0.5",
    "\"1ms\"",
    "\"-1ns\"",
    "\"14Hz\"",
    "\"1MiB\"",
    "\"a\"",
    "\"127.0.0.1:9000\"",
    "\"127.0.0.1\"",
    "[1]",
    "[\"a\"]",
    "[\"1us\", \"2us\"]",
    "[\"127.0.0.1:9000\"]",
    "[0.5, 1.0]",
    "[1, 2]",
    "[0.5, 1.0, 1.5]",
    "[0, 1, 2]",
    "100",
    "\"1s\"",
    "\"auto\"",
    "[]",
];

/// What was found from a configuration on.
#[derive(Clone, Debug, Default)]
pub struct FoundKeys {
    /// Names of keys, and of values where only some are taken.
    pub words: BTreeSet<String>,
    /// The configuration with every key that took a value.
    pub text: String,
    /// Keys that took one.
    pub taken: usize,
    /// Keys that took none of those that were tried: they name files, or go with something else only.
    pub refused: Vec<String>,
}

/// Looks for keys in the tables of a configuration that can be read, and gives each a value that it takes.
///
/// # Panics
/// If the configuration cannot be read.
pub fn found_keys(text: &str) -> FoundKeys {
    let mut found = FoundKeys::default();
    let mut asked = Asked { text: text.to_owned(), overrides: Vec::new() };
    assert_eq!(asked.problem(""), None, "a configuration that cannot be read");
    asked.table("", 0, &mut found);
    let config = Config::parse(Path::new("x.toml"), text, &asked.overrides)
        .expect("what was taken one by one is taken");
    found.text = config.text.clone();
    found.taken = asked.overrides.len();
    found
}

/// A configuration with what was set so far.
struct Asked {
    text: String,
    overrides: Vec<String>,
}

impl Asked {
    /// What is wrong with it if this is set as well; none if nothing is.
    fn problem(&self, assignment: &str) -> Option<String> {
        let mut overrides = self.overrides.clone();
        overrides.extend((!assignment.is_empty()).then(|| assignment.to_owned()));
        Config::parse(Path::new("x.toml"), &self.text, &overrides).err().map(|error| error.to_string())
    }

    /// Looks into the table at `path`, which is there, or may be.
    fn table(&mut self, path: &str, depth: usize, found: &mut FoundKeys) {
        let key = if path.is_empty() { NONE.to_owned() } else { format!("{path}.{NONE}") };
        let Some(names) = self.problem(&format!("{key}=1")).and_then(|problem| names(&problem)) else {
            return;
        };
        for name in names {
            let key = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            let is_first = found.words.insert(name);
            if depth < DEEPEST {
                self.key(&key, depth, is_first, found);
            }
        }
    }

    /// Looks what is at a key: a table, a list of them, or a value.
    fn key(&mut self, key: &str, depth: usize, is_first: bool, found: &mut FoundKeys) {
        let is_unknown = |problem: &Option<String>| {
            problem.as_ref().is_some_and(|problem| problem.contains(NONE) && names(problem).is_some())
        };
        if is_unknown(&self.problem(&format!("{key}.{NONE}=1"))) {
            return self.table(key, depth + 1, found);
        }
        // The first of a list that is there; else of one that would be.
        if is_unknown(&self.problem(&format!("{key}[0].{NONE}=1"))) {
            return self.table(&format!("{key}[0]"), depth + 1, found);
        }
        let of_list = self.problem(&format!("{key}=[{{ {NONE} = 1 }}]"));
        if let Some(names) =
            of_list.filter(|problem| problem.contains(NONE)).and_then(|problem| names(&problem))
        {
            found.words.extend(names);
            return;
        }
        let variants = self.problem(&format!("{key}=\"{NONE}\"")).and_then(|problem| names(&problem));
        let variants = variants.unwrap_or_default();
        let quoted: Vec<String> = variants.iter().map(|word| format!("\"{word}\"")).collect();
        found.words.extend(variants);
        let all = quoted.iter().map(String::as_str).chain(VALUES);
        match all.map(|value| format!("{key}={value}")).find(|set| self.problem(set).is_none()) {
            Some(set) => self.overrides.push(set),
            None if is_first => found.refused.push(key.to_owned()),
            None => {}
        }
    }
}

/// The names that are told where another one was found; none if none are told.
fn names(problem: &str) -> Option<Vec<String>> {
    let (_, told) = problem.rsplit_once("expected")?;
    let told = told.strip_prefix(" one of").unwrap_or(told);
    let is_name = |word: &str| {
        word.len() > 1
            && word
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-".contains(&byte))
    };
    let names: Vec<String> = if told.contains('`') {
        told.split('`').skip(1).step_by(2).filter(|word| is_name(word)).map(str::to_owned).collect()
    } else {
        told.split(',').map(str::trim).filter(|word| is_name(word)).map(str::to_owned).collect()
    };
    (!names.is_empty()).then_some(names)
}
