//! `evforge completion`: what a shell needs to complete a command line.

use crate::CommandError;
use crate::exit_status::ExitStatus;
use crate::output::print;
use clap::builder::PossibleValuesParser;
use clap::{Arg, Args, Command, ValueHint};
use clap_complete::Shell;
use evforge_config::shipped;
use evforge_sim::instruments::INSTRUMENTS;

/// Arguments of `evforge completion`.
#[derive(Args)]
pub(crate) struct CompletionArguments {
    /// The shell; for bash, `source <(evforge completion bash)` in ~/.bashrc is all it needs
    #[arg(value_name = "SHELL", value_enum)]
    shell: Shell,
}

/// Runs the command. `command` is the whole command line.
pub(crate) fn completion(
    arguments: &CompletionArguments,
    command: Command,
) -> Result<ExitStatus, CommandError> {
    print(&script(arguments.shell, command)?)?;
    Ok(ExitStatus::Good)
}

fn script(shell: Shell, command: Command) -> Result<String, CommandError> {
    let mut bytes = Vec::new();
    clap_complete::generate(shell, &mut with_values(shown(&command)), "evforge", &mut bytes);
    Ok(String::from_utf8(bytes)?)
}

/// The command line without the commands that are not shown: some shells would offer them.
fn shown(command: &Command) -> Command {
    let subcommands = command.get_subcommands().filter(|sub| !sub.is_hide_set()).cloned();
    Command::new("evforge")
        .disable_help_flag(true)
        .version(env!("CARGO_PKG_VERSION"))
        .args(command.get_arguments().cloned())
        .subcommands(subcommands)
}

/// The command line with what its arguments take: files where it says FILE, and the names of detectors.
///
/// Only shells get it: the program itself looks a name up where it is used, and says what was meant.
fn with_values(command: Command) -> Command {
    command.mut_args(with_value).mut_subcommands(with_values)
}

fn with_value(argument: Arg) -> Arg {
    let id = argument.get_id().as_str().to_owned();
    let taken =
        argument.get_value_names().and_then(<[_]>::first).map(ToString::to_string).unwrap_or_default();
    let values = |names: Vec<&'static str>| PossibleValuesParser::new(names);
    match (id.as_str(), taken.as_str()) {
        (_, "FILE" | "INPUT" | "PARTIAL" | "LIBRARY") => argument.value_hint(ValueHint::FilePath),
        (_, "FOLDER") => argument.value_hint(ValueHint::DirPath),
        (_, "USER") => argument.value_hint(ValueHint::Username),
        (_, "HOST" | "HOST:PORT") => argument.value_hint(ValueHint::Hostname),
        ("detector", _) => argument.value_parser(values(shipped::names().collect())),
        ("instrument", "NAME") => {
            argument.value_parser(values(INSTRUMENTS.iter().map(|of| of.name).collect()))
        }
        _ => argument,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shell_has_a_script_with_commands_and_options_and_some_have_names() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish, Shell::Elvish, Shell::PowerShell] {
            let script = script(shell, crate::all_help()).unwrap();
            let names = ["beam-monitors", "LoKI-BCS"].iter().filter(|name| script.contains(**name)).count();
            assert_eq!(
                names == 2,
                [Shell::Bash, Shell::Zsh, Shell::Fish].contains(&shell),
                "{shell}: {names}"
            );
            for word in ["windows", "nexus"] {
                assert!(script.contains(word), "{shell}: {word}");
            }
            assert!(!script.contains("manual pages"), "{shell}: a command that is not shown");
        }
    }
}
