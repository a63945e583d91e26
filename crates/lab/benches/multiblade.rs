//! Event formation of the Multi-Blade captures from memory, on one core.
//!
//! The reference-2018 configuration, which takes readouts as they come, and the settings for daily use, which
//! put them into order of time first, under the rules of `evforge_lab::benchmark`. The expected events are
//! those of the oracle's model.
//!
//! `cargo bench -p evforge-lab --bench multiblade`; EVFORGE_BENCH_SECONDS sets the time per line.

#[path = "../../pipeline/tests/oracle/multiblade/captures.rs"]
#[allow(dead_code)]
mod captures;
#[path = "../../pipeline/tests/oracle/multiblade/model.rs"]
#[allow(dead_code)]
mod model;

mod common;

use common::{Row, print_header, print_row};
use evforge_core::event::Event;
use model::Rules;

fn main() {
    print_header();
    for (capture, _) in captures::CAPTURES {
        let Some(packets) = captures::payloads("the multiblade benchmark", capture) else { return };
        let readouts = model::decode(&packets);
        let events = model::events(&model::form(&readouts, &Rules::ours()));
        let expected: Vec<Event> =
            events.into_iter().map(|(time_ns, pixel_id)| Event { time_ns, pixel_id }).collect();
        for (configuration, expected) in
            [("reference-2018/multiblade.toml", Some(&expected[..])), ("multiblade.toml", None)]
        {
            print_row(&Row { capture, configuration, overrides: &[], packets: &packets, expected });
        }
    }
}
