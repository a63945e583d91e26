//! Texts of people that are no whole file: options of the command line, lines, tables, views of the page.

use evforge_detect::isis::wiring;
use evforge_kafka::client::Brokers;
use evforge_kafka::tools::forward::{LogLine, ValueType, time_of};
use evforge_train::generate::{Fault, FaultRates};
use evforge_train::sinks::ForwardTarget;
use evforge_view::ViewFile;
use evforge_wire::drop::{DropLayout, Order};
use std::fmt::Display;
use std::str::FromStr;

/// Reads `bytes` as each of them. What is not UTF-8 is replaced.
///
/// # Panics
/// If an error says nothing, or if what was read and is written reads differently.
pub fn small_texts(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    again::<Brokers>(&text);
    let _ = time_of(&text);
    said::<DropLayout>(&text);
    said::<FaultRates>(&text);
    again::<Fault>(&text);
    again::<ForwardTarget>(&text);
    said::<Order>(&text);
    for value_type in [ValueType::Double, ValueType::Int64] {
        for line in text.lines().take(100) {
            if let Err(problem) = LogLine::parse(line, value_type) {
                says_something(&problem);
            }
        }
    }
    match wiring::read(&text) {
        Ok(rows) => assert!(rows.len() <= text.lines().count(), "more rows than lines"),
        Err(problem) => says_something(&problem),
    }
    match ViewFile::parse("views.toml", &text) {
        Ok(_) => {}
        Err(error) => {
            says_something(&error.problem);
            let lines = text.matches('\n').count() + 1;
            assert!(
                error.line.is_none_or(|line| (1..=lines).contains(&line)),
                "line {:?} of {lines}",
                error.line
            );
        }
    }
}

fn says_something(problem: &str) {
    assert!(!problem.trim().is_empty(), "an error that says nothing");
}

fn said<T: FromStr<Err: Display>>(text: &str) -> Option<T> {
    text.parse().map_err(|error: T::Err| says_something(&error.to_string())).ok()
}

/// The same, of what can be written.
fn again<T: FromStr<Err: Display> + Display + PartialEq>(text: &str) {
    let Some(read) = said::<T>(text) else { return };
    let written = read.to_string();
    let is_same = said::<T>(&written).is_some_and(|again| again == read);
    assert!(is_same, "{text:?} is written as {written:?}, which reads differently");
}
