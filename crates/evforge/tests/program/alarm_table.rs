//! The table of alarms in `docs/operating.md` says what their declarations say.

use crate::common::workspace;
use evforge_core::alarm::AlarmKind;
use std::fmt::Write as _;

const BEGIN: &str = "<!-- alarms: made from the declarations by `make counters` -->\n";
const END: &str = "<!-- end -->\n";

#[test]
fn the_table_of_alarms_is_up_to_date() {
    let path = workspace().join("docs/operating.md");
    let found = std::fs::read_to_string(&path).expect("docs/operating.md");
    let (head, rest) = found.split_once(BEGIN).expect("the document has lost the beginning of its table");
    let (_, tail) = rest.split_once(END).expect("the document has lost the end of its table");
    let expected = format!("{head}{BEGIN}{}{END}{tail}", table());
    if std::env::var_os("EVFORGE_UPDATE").is_some_and(|value| value == "1") {
        std::fs::write(&path, expected).expect("docs/operating.md can be written");
        return;
    }
    assert!(found == expected, "docs/operating.md is out of date: regenerate it with `make counters`");
}

/// The alarms, data at risk first.
fn table() -> String {
    let mut kinds = AlarmKind::ALL.to_vec();
    kinds.sort_by_key(|kind| kind.rank());
    let mut table = "| alarm | rank | it means | do |\n|---|---|---|---|\n".to_owned();
    for kind in kinds {
        let action = kind.action().replace("docs/loss.md", "[loss.md](loss.md#where)");
        let (name, rank) = (kind.name(), kind.rank().title());
        let _ = writeln!(table, "| `{name}` | {rank} | {} | {action} |", kind.meaning());
    }
    table
}
