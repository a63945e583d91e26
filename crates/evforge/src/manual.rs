//! `evforge man`: the manual pages of all commands, from the same declarations as their help.

use crate::CommandError;
use crate::exit_status::{self, ExitStatus};
use crate::help::examples;
use crate::output::{print, write_file};
use clap::{Args, Command};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use std::path::PathBuf;

/// Arguments of `evforge man`.
#[derive(Args)]
pub(crate) struct ManualArguments {
    /// Folder for the pages: evforge.1, evforge-run.1 and so on
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
}

/// Runs the command. `command` is the whole command line.
pub(crate) fn manual(arguments: &ManualArguments, command: Command) -> Result<ExitStatus, CommandError> {
    let folder = &arguments.folder;
    std::fs::create_dir_all(folder)
        .map_err(|error| format!("the folder {} cannot be made: {error}", folder.display()))?;
    let pages = pages(command)?;
    for (name, page) in &pages {
        write_file("the manual page", &folder.join(format!("{name}.1")), page)?;
    }
    print(&format!("{} manual pages in {}\n", pages.len(), folder.display()))?;
    Ok(ExitStatus::Good)
}

/// All pages with their names: that of the program, then those of its commands.
fn pages(command: Command) -> Result<Vec<(String, Vec<u8>)>, CommandError> {
    let mut command = command.disable_help_subcommand(true);
    // Gives commands the names by which they are called: `evforge drop send`.
    command.build();
    let mut pages = Vec::new();
    add(&command, &mut pages)?;
    Ok(pages)
}

fn add(command: &Command, pages: &mut Vec<(String, Vec<u8>)>) -> Result<(), CommandError> {
    let called = command.get_bin_name().unwrap_or("evforge").to_owned();
    let name = called.replace(' ', "-");
    let shown: Vec<&Command> = command.get_subcommands().filter(|sub| !sub.is_hide_set()).collect();
    pages.push((name, page(command, &called, &shown)?));
    shown.into_iter().try_for_each(|sub| add(sub, pages))
}

/// A page. `clap_mangen` writes what clap knows; what it does not is added here.
fn page(command: &Command, called: &str, subcommands: &[&Command]) -> Result<Vec<u8>, CommandError> {
    let name = called.replace(' ', "-");
    let man = Man::new(command.clone().display_name(name.clone()));
    let version = env!("CARGO_PKG_VERSION");
    // Without a date: the same version has the same pages.
    let title = format!(".TH {} 1 \"\" \"evforge {version}\" \"evforge manual\"\n", name.to_uppercase());
    let mut page = title.into_bytes();
    man.render_name_section(&mut page)?;
    synopsis(command, called).to_writer(&mut page)?;
    man.render_description_section(&mut page)?;
    examples_of(called).to_writer(&mut page)?;
    man.render_options_section(&mut page)?;
    if !subcommands.is_empty() {
        commands(subcommands).to_writer(&mut page)?;
    }
    exit_status().to_writer(&mut page)?;
    see_also(called, subcommands).to_writer(&mut page)?;
    Ok(plain(&String::from_utf8(page)?).into_bytes())
}

/// What every section begins with: how apostrophes are written. Once is enough.
const APOSTROPHES: &str = ".ie \\n(.g .ds Aq \\(aq\n.el .ds Aq '\n";

/// The page with one such beginning, and with letters that not every formatter reads as their names.
fn plain(page: &str) -> String {
    let mut plain = APOSTROPHES.to_owned();
    for letter in page.replace(APOSTROPHES, "").chars() {
        if letter.is_ascii() {
            plain.push(letter);
        } else {
            plain += &format!("\\[u{:04X}]", u32::from(letter));
        }
    }
    plain
}

/// How it is called, as the first line of its help says: the options are listed below.
fn synopsis(command: &Command, called: &str) -> Roff {
    let usage = command.clone().render_usage().to_string();
    let rest = usage.trim_start_matches("Usage:").trim().strip_prefix(called).unwrap_or_default().to_owned();
    let mut roff = Roff::new();
    roff.control("SH", ["SYNOPSIS"]).text([bold(called), roman(rest)]);
    roff
}

fn examples_of(called: &str) -> Roff {
    let mut roff = Roff::new();
    let examples = match called.split_once(' ') {
        Some((_, command)) => examples(command),
        None => &["evforge demo", "evforge run --config configs/gdgem-srs.toml run.pcapng --nexus run.nxs"],
    };
    if !examples.is_empty() {
        roff.control("SH", ["EXAMPLES"]);
    }
    for (number, example) in examples.iter().enumerate() {
        if number > 0 {
            roff.control("PP", []);
        }
        roff.control("RS", ["4"])
            .control("nf", [])
            .text([roman(*example)])
            .control("fi", [])
            .control("RE", []);
    }
    roff
}

fn commands(subcommands: &[&Command]) -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", ["COMMANDS"]);
    for sub in subcommands {
        let about = sub.get_about().map(ToString::to_string).unwrap_or_default();
        let name = sub.get_bin_name().unwrap_or_default().replace(' ', "-");
        roff.control("TP", []).text([bold(name), roman("(1)")]).text([roman(about)]);
    }
    roff
}

/// The same as in the help.
fn exit_status() -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", ["EXIT STATUS"]);
    for line in exit_status::HELP.lines().skip(1) {
        match line.trim().split_once("  ") {
            Some((number, meaning)) if line.starts_with(' ') => {
                roff.control("TP", []).text([bold(number)]).text([roman(meaning)]);
            }
            _ => {
                roff.control("PP", []).text([roman(line)]);
            }
        }
    }
    roff
}

fn see_also(called: &str, subcommands: &[&Command]) -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", ["SEE ALSO"]);
    let above = called.rsplit_once(' ').map(|(above, _)| above.replace(' ', "-"));
    if let Some(above) = above.filter(|_| subcommands.is_empty()) {
        roff.text([bold(above), roman("(1)")]).control("PP", []);
    }
    roff.text([roman(
        "The documents, of which docs/first-hour.md is the place to begin and docs/README.md the list.",
    )]);
    roff
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page_with_its_examples() {
        let pages = pages(crate::all_help()).unwrap();
        let names: Vec<&str> = pages.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names[0], "evforge");
        assert!(names.contains(&"evforge-drop-send") && !names.contains(&"evforge-man"), "{names:?}");
        // Commands that only have others below them.
        let groups = ["evforge-ctl", "evforge-drop", "evforge-kafka", "evforge-measure", "evforge-train"];
        for (name, page) in &pages {
            let page = String::from_utf8_lossy(page);
            assert!(page.is_ascii() && page.matches(".ie ").count() == 1, "{name}");
            for title in [".SH NAME", ".SH SYNOPSIS", ".SH EXAMPLES", ".SH OPTIONS", ".SH \"EXIT STATUS\""] {
                assert!(page.contains(title) || groups.contains(&name.as_str()), "{name} has no {title}");
            }
            let command = name.trim_start_matches("evforge-");
            let command = ["ctl", "drop", "kafka", "measure", "train"]
                .iter()
                .fold(command.to_owned(), |command, group| {
                    command.replacen(&format!("{group}-"), &format!("{group} "), 1)
                });
            for example in examples(&command) {
                let written = example.replace('-', "\\-");
                assert!(page.contains(&written), "{name}: {written}");
            }
        }
    }

    #[test]
    fn letters_beyond_ascii_have_names() {
        assert_eq!(plain("a \u{2026} \u{b5}s"), format!("{APOSTROPHES}a \\[u2026] \\[u00B5]s"));
    }
}
