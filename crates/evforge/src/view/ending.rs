//! How showing a source has ended: for people, for programs, as a status.

use super::arguments::ViewArguments;
use crate::exit_status::ExitStatus;
use crate::output::Ending;
use evforge_core::counter::CounterSnapshot;
use evforge_core::run_state::RunState;
use evforge_pipeline::report::grouped;
use serde_json::{Map, Value, json};
use std::fmt::Write as _;

/// What was shown, and whether all of it was to be read.
pub(super) struct Report {
    /// The file or the topics.
    pub(super) input: String,
    pub(super) state: RunState,
    /// Further keys for programs.
    pub(super) more: Map<String, Value>,
    /// True if reading went on to the end of what there is.
    pub(super) is_to_the_end: bool,
}

impl Report {
    /// Writes and prints it.
    pub(super) fn tell(&self, arguments: &ViewArguments) -> ExitStatus {
        let mut ending = Ending::alongside_file(arguments.report.as_deref());
        ending.write_json("the report", arguments.report.as_deref(), &self.json());
        let status = self.status();
        if !arguments.quiet {
            ending.print(&self.text());
        } else if status != ExitStatus::Good {
            eprint!("{}", self.text());
        }
        status.and(ExitStatus::of(ending.is_good()))
    }

    fn status(&self) -> ExitStatus {
        let RunState { ledger, faults, .. } = &self.state;
        if ledger.unaccounted() > 0 {
            return ExitStatus::Failed;
        }
        let nothing = self.is_to_the_end && ledger.events() == 0;
        let is_whole = faults.is_empty() && ledger.packets().lost == 0;
        match (nothing, is_whole) {
            (true, _) => ExitStatus::NoUse,
            (false, false) => ExitStatus::Incomplete,
            (false, true) => ExitStatus::Good,
        }
    }

    fn text(&self) -> String {
        let RunState { ledger, feed, outputs, faults, .. } = &self.state;
        let left_out: u64 = outputs.iter().map(|output| output.counters.left_out).sum();
        let mut text = format!("{}\n", self.input);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "ended         {}", feed.in_short());
        let _ = writeln!(text, "events        {} shown", grouped(ledger.events()));
        if left_out > 0 {
            let _ =
                writeln!(text, "NOT PICTURED  {} events of pixels that no picture has", grouped(left_out));
        }
        if let Some(read) = ledger.counters.value("messages_read") {
            let _ = writeln!(text, "messages      {} read, lost {}", grouped(read), ledger.packets().loss());
        }
        for discard in evforge_core::run_state::discards(&ledger.counters) {
            if discard.count > 0 {
                let _ = writeln!(text, "left out      {}: {}", grouped(discard.count), discard.help);
            }
        }
        for fault in faults {
            let _ = writeln!(text, "INCOMPLETE    {}", fault.text);
        }
        let unaccounted = ledger.unaccounted();
        if unaccounted > 0 {
            let _ = writeln!(text, "UNACCOUNTED   {}: a fault of the program", grouped(unaccounted));
        }
        text
    }

    fn json(&self) -> Value {
        let RunState { ledger, feed, outputs, faults, .. } = &self.state;
        let page = outputs.first().map(|page| counters(&page.all_counters()));
        let source = |source: &evforge_core::ledger::SourceLedger| json!({"name": source.name, "packets": source.packets});
        let mut json = json!({
            "schema": 1,
            "evforge": env!("CARGO_PKG_VERSION"),
            "input": self.input,
            "feed": {"state": feed.name(), "text": feed.in_short()},
            "status": self.status().words(),
            "events": ledger.events(),
            "counters": counters(&ledger.counters),
            "sources": ledger.sources.iter().map(source).collect::<Vec<_>>(),
            "page": page,
            "notes": ledger.notes,
            "faults": faults.iter().map(|fault| &fault.text).collect::<Vec<_>>(),
            "unaccounted": ledger.unaccounted(),
        });
        if let Some(fields) = json.as_object_mut() {
            fields.extend(self.more.clone());
        }
        json
    }
}

fn counters(snapshot: &CounterSnapshot) -> Value {
    snapshot.iter().map(|(info, value)| (info.name.to_owned(), json!(value))).collect::<Map<_, _>>().into()
}
