//! Words that only this project would understand do not come back: texts that people read use those of the field.
//!
//! Looked through are the documents, the configurations, the page, `--help` of every command, and the texts in the
//! code that reports. Every finding is printed as `file:line`.

use crate::common::commands::{commands, help};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is not to be read any more, and what to write instead. Matched as whole words, in either case.
const OLD: [(&[&str], &str); 16] = [
    (&["way in", "ways in"], "receive backend"),
    (
        &["place of loss", "places of loss", "places of losses", "places of the losses"],
        "loss breakdown, location",
    ),
    (&["from outside"], "plugin, external"),
    (&["today's", "today’s"], "the ESS readout, current"),
    (&["mend", "mends", "mended", "mending"], "repair, fix"),
    (&["setting that cannot be", "what cannot be.", "what cannot be,", "cannot be: "], "invalid, impossible"),
    (&["so many"], "N, this many"),
    (&["beside"], "alongside, next to, besides"),
    (&["jointtime", "joint time"], "watermark"),
    (&["timeline", "time line"], "source clocks"),
    (&["sign of life", "signs of life"], "heartbeat"),
    (&["leap", "leaps", "leapt", "leaping"], "forward jump"),
    (&["mean value", "mean values"], "averaged waveforms, averages"),
    (&["stands in", "stand in", "stood in"], "is in"),
    (&["becomes of", "became of", "become of"], "happens to"),
    (&["anew"], "again"),
];

/// Texts in which an old word may stand, with the reason.
const ALLOWED: [(&str, &str); 5] = [
    ("`leap`", "the key until 0.2, documented for a release"),
    ("`leaps`", "the counter until 0.2, documented for a release"),
    ("\"leaps\"", "the counter's former name in JSON, there until 0.3"),
    ("\"beside\"", "the counter's former name in JSON, there until 0.3"),
    ("\"mend\"", "the key of doctor's JSON until 0.3"),
];

/// A text that people read, a line each with its number.
struct Text {
    name: String,
    lines: Vec<(usize, String)>,
}

impl Text {
    fn new(name: impl Into<String>, text: &str) -> Self {
        let lines = text.lines().enumerate().map(|(number, line)| (number + 1, line.to_owned())).collect();
        Self { name: name.into(), lines }
    }

    /// Every old word in it, also those that a line break divides.
    fn findings(&self) -> Vec<String> {
        let mut joined = String::new();
        let mut starts = Vec::new();
        for (number, line) in &self.lines {
            starts.push((joined.len(), *number));
            let line = ALLOWED.iter().fold(line.clone(), |line, (allowed, _)| line.replace(allowed, "·"));
            joined.push_str(line.trim().trim_start_matches(['/', '#', '!', '*', '>']).trim_start());
            joined.push(' ');
        }
        let lower = joined.to_lowercase();
        // No letter of these texts has another length in the other case; the places would be wrong.
        assert_eq!(lower.len(), joined.len(), "{}", self.name);
        let mut findings = Vec::new();
        for (words, instead) in OLD {
            for word in words {
                for (at, _) in
                    lower.match_indices(word).filter(|(at, found)| is_whole(&lower, *at, found.len()))
                {
                    let line = starts.partition_point(|(start, _)| *start <= at) - 1;
                    findings.push(format!("{}:{}: \"{word}\" ({instead})", self.name, starts[line].1));
                }
            }
        }
        findings
    }
}

/// True if no letter, digit or underscore touches the word.
fn is_whole(text: &str, at: usize, length: usize) -> bool {
    let in_word = |c: char| c.is_alphanumeric() || c == '_';
    let ends_in_word = text[..at + length].ends_with(in_word);
    !(text[..at].ends_with(in_word) || ends_in_word && text[at + length..].starts_with(in_word))
}

/// The string literals of Rust code, each as a line with the number of the line in which it begins.
fn literals(name: String, code: &str) -> Text {
    let mut lines = Vec::new();
    let mut line = 1;
    let mut rest = code.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\n' => line += 1,
            '/' if rest.peek() == Some(&'/') => while rest.next_if(|c| *c != '\n').is_some() {},
            // The quotation mark as a character: as it is, or escaped.
            '\'' if rest.next_if_eq(&'"').is_some() => {}
            '\\' => drop(rest.next()),
            '"' => {
                let begin = line;
                let mut text = String::from('"');
                while let Some(c) = rest.next_if(|c| *c != '"') {
                    line += usize::from(c == '\n');
                    text.push(if c == '\n' { ' ' } else { c });
                    // A line that ends with a backslash goes on behind the indentation of the next.
                    if c == '\\' && rest.peek() == Some(&'\n') {
                        text.pop();
                        line += 1;
                        while rest.next_if(|c| c.is_whitespace()).is_some() {}
                    } else if c == '\\' {
                        text.extend(rest.next());
                    }
                }
                rest.next();
                lines.push((begin, text + "\""));
            }
            _ => {}
        }
    }
    Text { name, lines }
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

/// The files below `folder`, or only in it, whose names end so.
fn files(folder: &Path, ends: &str, below: bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder of the repository") {
        let path = entry.expect("an entry").path();
        if path.is_dir() && below {
            found.extend(files(&path, ends, below));
        } else if path.to_string_lossy().ends_with(ends) {
            found.push(path);
        }
    }
    found
}

fn expect_none(texts: &[Text], at_least: usize) {
    assert!(texts.len() >= at_least, "only {} texts were found", texts.len());
    let findings: Vec<String> = texts.iter().flat_map(Text::findings).collect();
    assert!(findings.is_empty(), "old words:\n{}", findings.join("\n"));
}

#[test]
fn documents_configurations_and_page_have_none() {
    let root = repository();
    let mut paths: Vec<PathBuf> =
        ["README.md", "CONTRIBUTING.md", "SECURITY.md", "Makefile", "web/index.html"]
            .iter()
            .map(|name| root.join(name))
            .collect();
    paths.extend(files(&root.join("docs"), ".md", false));
    paths.extend(files(&root.join("configs"), ".toml", true));
    paths.extend(files(&root.join("views"), ".toml", false));
    paths.extend(files(&root.join("web/src"), ".ts", true));
    let texts: Vec<Text> = paths
        .iter()
        .map(|path| {
            let name = path.strip_prefix(&root).unwrap_or(path).display().to_string();
            Text::new(name, &std::fs::read_to_string(path).expect("a text"))
        })
        .collect();
    expect_none(&texts, 60);
}

#[test]
fn the_help_of_every_command_has_none() {
    let all = commands().into_iter().chain([String::new()]);
    let of = |command: String| Text::new(format!("evforge {command} --help"), &help(&command, "--help"));
    let mut texts: Vec<Text> = all.map(of).collect();
    let helper = Command::new(env!("CARGO_BIN_EXE_evforge-helper")).arg("--help").output().unwrap();
    assert!(helper.status.success());
    texts.push(Text::new("evforge-helper --help".to_owned(), &crate::common::text(&helper.stdout)));
    expect_none(&texts, 15);
}

#[test]
fn texts_in_the_code_that_reports_have_none() {
    let root = repository();
    let folders =
        ["evforge", "pipeline", "net", "core"].map(|name| root.join("crates").join(name).join("src"));
    let paths = folders.iter().flat_map(|folder| files(folder, ".rs", true));
    let texts: Vec<Text> = paths
        .map(|path| {
            let name = path.strip_prefix(&root).unwrap_or(&path).display().to_string();
            literals(name, &std::fs::read_to_string(&path).expect("code"))
        })
        .collect();
    let strings: usize = texts.iter().map(|text| text.lines.len()).sum();
    assert!(strings > 2000, "only {strings} texts were found in the code");
    expect_none(&texts, 150);
}

#[test]
fn an_old_word_is_found() {
    let found = |text: &str| Text::new("x", text).findings();
    assert_eq!(found("a\nThe Way in."), ["x:2: \"way in\" (receive backend)"]);
    assert_eq!(found("/// So\n/// many packets"), ["x:1: \"so many\" (N, this many)"]);
    assert_eq!(found("always in order, amended, besides, so much"), [""; 0]);
    assert_eq!(found("the key `leap` of before"), [""; 0]);
    let code = "let beside = '\"'; // mend\nlet text = \"it is \\\n    beside\\\" it\"; beside(\"a leap\")";
    let found = literals("y".to_owned(), code).findings();
    assert_eq!(found, ["y:2: \"beside\" (alongside, next to, besides)", "y:3: \"leap\" (forward jump)"]);
}
