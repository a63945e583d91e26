//! `docs/control.md` has every command, with the replies and limits of the code.

use evforge_control::command_port::{Patience, SEATS};
use evforge_control::commands::{COMMANDS, CommandError, LARGEST_REQUEST};
use std::path::Path;

fn document() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/control.md");
    std::fs::read_to_string(path).expect("docs/control.md")
}

#[test]
fn the_table_of_commands_is_that_of_the_code() {
    let document = document();
    let (_, table) =
        document.split_once("| command | arguments | reply | EFU |\n|---|---|---|---|\n").expect("the table");
    let found: Vec<&str> = table.lines().take_while(|line| line.starts_with('|')).collect();
    let expected: Vec<String> = COMMANDS
        .iter()
        .map(|command| {
            let arguments = if command.arguments.is_empty() { "–" } else { command.arguments };
            let efu = if command.of_2018 { "2018, 2026" } else { "2026" };
            format!("| `{}` | {arguments} | `{}` | {efu} |", command.name, command.reply)
        })
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn errors_and_limits_are_those_of_the_code() {
    let document = document();
    for error in [CommandError::Size, CommandError::Command, CommandError::Arguments] {
        assert!(document.contains(&format!("| `{}` |", error.reply())), "{error:?}");
    }
    let Patience { first, idle, reply } = Patience::default();
    for line in [
        format!("| clients at a time | {}, {} of one address |", SEATS.most, SEATS.most_of_one),
        format!("| bytes of a request | {LARGEST_REQUEST} |"),
        format!("| no command that the port knows, at the beginning | {} seconds |", first.as_secs()),
        format!("| silence of a client | {} minutes |", idle.as_secs() / 60),
        format!("| a reply that is not taken | {} seconds |", reply.as_secs()),
    ] {
        assert!(document.contains(&line), "{line}");
    }
}
