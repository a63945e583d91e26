//! Holds back repeated messages, and says how many there were.
//!
//! Messages are the same if they come from the same place of the source and have the same text but for its numbers. Of these the
//! first ones are said at once, and the rest is counted; so it is with all messages of one place, with a higher limit. Memory is
//! bounded, whatever is said.

use crate::group::{Group, Level};
use crate::record::{Record, Severity};
use evforge_core::quantity::grouped;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, Instant};

/// Texts, and places, that are told apart at a time.
const MOST: usize = 512;
/// Bytes of a text that tell it from others.
const COMPARED: usize = 1024;
/// Characters of a text that its summary has.
const SHOWN: usize = 200;
/// So much more may be said of one place of the source with different texts.
const OF_A_PLACE: u32 = 10;
/// So much more may be said of each packet, which somebody has switched on to see.
const OF_DETAILS: u32 = 40;

/// Counts messages that are the same.
#[derive(Debug)]
pub struct Limiter {
    /// How often the same is said in `span`; 0: always.
    repeats: u32,
    span: Duration,
    texts: Seen,
    places: Seen,
}

/// What was said lately, by a number for each text, or for each place.
#[derive(Debug, Default)]
struct Seen(HashMap<u64, Window>);

/// Messages that are the same, since the first of them.
#[derive(Debug)]
struct Window {
    began: Instant,
    said: u32,
    held: u64,
    /// What a summary says of them.
    about: About,
}

#[derive(Clone, Debug)]
struct About {
    severity: Severity,
    level: Level,
    group: Group,
    lead: Option<String>,
    place: Option<(&'static str, u32)>,
    text: String,
}

impl Limiter {
    /// Has the same said `repeats` times in `span`; always, if that is 0.
    pub fn new(repeats: u32, span: Duration) -> Self {
        Self { repeats, span, texts: Seen::default(), places: Seen::default() }
    }

    /// Whether a message is to be said now; summaries that have to be said before it are added to `summaries`.
    pub fn admit(&mut self, record: &Record, now: Instant, summaries: &mut Vec<Record>) -> bool {
        if self.repeats == 0 || record.always {
            return true;
        }
        let most = self.repeats.saturating_mul(if record.level >= Level::Trace { OF_DETAILS } else { 1 });
        let mut of_place = DefaultHasher::new();
        (record.place, record.group.index()).hash(&mut of_place);
        let mut of_text = of_place.clone();
        hash_without_numbers(&record.message, &mut of_text);
        let (of_text, of_place, span) = (of_text.finish(), of_place.finish(), self.span);
        self.texts.pass(of_text, most, record, (now, span), summaries)
            && self.places.pass(of_place, most.saturating_mul(OF_A_PLACE), record, (now, span), summaries)
    }

    /// Summaries of what is over.
    pub fn due(&mut self, now: Instant) -> Vec<Record> {
        let mut due = self.texts.due(now, self.span);
        due.extend(self.places.due(now, self.span));
        due
    }

    /// Summaries of everything: nothing more is said.
    pub fn end(&mut self, now: Instant) -> Vec<Record> {
        let span = self.span;
        let summary = |(_, window): (u64, Window)| {
            let lasted = now.saturating_duration_since(window.began).min(span);
            window.summary(lasted)
        };
        self.texts.0.drain().chain(self.places.0.drain()).filter_map(summary).collect()
    }
}

impl Seen {
    fn pass(
        &mut self,
        key: u64,
        most: u32,
        record: &Record,
        (now, span): (Instant, Duration),
        summaries: &mut Vec<Record>,
    ) -> bool {
        let is_over = |window: &Window| now.saturating_duration_since(window.began) >= span;
        if self.0.get(&key).is_some_and(is_over)
            && let Some(window) = self.0.remove(&key)
        {
            summaries.extend(window.summary(span));
        }
        if !self.0.contains_key(&key) {
            self.make_room(now, span, summaries);
        }
        let window = self.0.entry(key).or_insert_with(|| Window {
            began: now,
            said: 0,
            held: 0,
            about: About::of(record),
        });
        if window.said < most {
            window.said += 1;
            return true;
        }
        window.held += 1;
        false
    }

    fn due(&mut self, now: Instant, span: Duration) -> Vec<Record> {
        let over = |window: &Window| now.saturating_duration_since(window.began) >= span;
        self.0.extract_if(|_, window| over(window)).filter_map(|(_, window)| window.summary(span)).collect()
    }

    fn make_room(&mut self, now: Instant, span: Duration, summaries: &mut Vec<Record>) {
        if self.0.len() < MOST {
            return;
        }
        summaries.extend(self.due(now, span));
        if self.0.len() < MOST {
            return;
        }
        // What began first, so that the summary of what is being held back is as complete as can be.
        let oldest = self.0.iter().min_by_key(|(_, window)| window.began).map(|(key, _)| *key);
        if let Some(window) = oldest.and_then(|key| self.0.remove(&key)) {
            let lasted = now.saturating_duration_since(window.began);
            summaries.extend(window.summary(lasted));
        }
    }
}

impl About {
    fn of(record: &Record) -> Self {
        let text = record.message.lines().next().unwrap_or_default();
        let cut = text.char_indices().nth(SHOWN).map(|(place, _)| place);
        Self {
            severity: record.severity,
            level: record.level,
            group: record.group,
            lead: record.lead.clone(),
            place: record.place,
            text: cut.map_or_else(|| text.to_owned(), |place| format!("{} …", &text[..place])),
        }
    }
}

impl Window {
    /// What is said of what was held back; none if nothing was.
    fn summary(self, lasted: Duration) -> Option<Record> {
        if self.held == 0 {
            return None;
        }
        let About { severity, level, group, lead, place, text } = self.about;
        let held = grouped(self.held);
        let seconds = lasted.as_secs_f64();
        let time = if seconds < 1.0 { format!("{:.0} ms", 1e3 * seconds) } else { format!("{seconds:.0} s") };
        let message = format!("… {held} more in {time} like: {text}");
        let mut record = Record { level, lead, place, ..Record::new(severity, group, message) };
        record.fields.push(("held_back", self.held.into()));
        Some(record)
    }
}

fn hash_without_numbers(text: &str, hasher: &mut impl Hasher) {
    let compared = &text.as_bytes()[..text.len().min(COMPARED)];
    let is_part_of_number = |byte: &u8| byte.is_ascii_digit() || b"., ".contains(byte);
    compared.iter().filter(|byte| !is_part_of_number(byte)).for_each(|byte| hasher.write_u8(*byte));
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPAN: Duration = Duration::from_secs(10);

    fn record(text: &str) -> Record {
        Record { place: Some(("a.rs", 1)), ..Record::new(Severity::Warning, Group::Parse, text) }
    }

    #[test]
    fn the_first_are_said_and_the_rest_is_counted() {
        let mut limiter = Limiter::new(5, SPAN);
        let mut summaries = Vec::new();
        let began = Instant::now();
        let said = (0..1239)
            .filter(|number| {
                limiter.admit(&record(&format!("packet {number} is bad")), began, &mut summaries)
            })
            .count();
        assert_eq!((said, summaries.len()), (5, 0));
        assert!(limiter.due(began + SPAN / 2).is_empty());
        let due = limiter.due(began + SPAN);
        assert_eq!(due.len(), 1);
        assert_eq!(due[0].message, "… 1 234 more in 10 s like: packet 0 is bad");
        assert_eq!((due[0].severity, due[0].fields[0].1.as_u64()), (Severity::Warning, Some(1234)));
        // Afterwards it begins again.
        assert!(limiter.admit(&record("packet 7 is bad"), began + SPAN, &mut summaries));
        assert!(limiter.end(began + SPAN).is_empty());
        // Where the next one comes before anybody has asked, the rest is said with it.
        let said = (0..7).filter(|_| limiter.admit(&record("late"), began, &mut summaries)).count();
        assert_eq!((said, summaries.len()), (5, 0));
        assert!(limiter.admit(&record("late"), began + SPAN, &mut summaries));
        assert_eq!(summaries[0].message, "… 2 more in 10 s like: late");
    }

    #[test]
    fn nothing_is_forgotten_whatever_is_said_and_memory_is_bounded() {
        let mut limiter = Limiter::new(5, SPAN);
        let mut summaries = Vec::new();
        let now = Instant::now();
        let mut said = 0_u64;
        let total = 40_000_u64;
        for number in 0..total {
            // Other letters, places and numbers.
            let letters: String = number.to_string().bytes().map(|digit| char::from(digit + 49)).collect();
            let mut record = record(&format!("{letters} {}", "x".repeat(100)));
            record.place = Some(("a.rs", u32::try_from(number % 700).expect("small")));
            said += u64::from(limiter.admit(&record, now, &mut summaries));
            assert!(limiter.texts.0.len() <= MOST && limiter.places.0.len() <= MOST);
        }
        summaries.extend(limiter.end(now));
        let held: u64 = summaries.iter().filter_map(|summary| summary.fields[0].1.as_u64()).sum();
        assert_eq!(said + held, total);
        let mut limiter = Limiter::new(5, SPAN);
        // More texts than are told apart: the place is not forgotten with them.
        let one_place = (0..1000).map(|number: u32| {
            let letters: String = number.to_string().bytes().map(|digit| char::from(digit + 49)).collect();
            record(&letters)
        });
        assert_eq!(one_place.filter(|record| limiter.admit(record, now, &mut summaries)).count(), 50);
    }

    #[test]
    fn lists_are_said_and_details_up_to_a_higher_limit() {
        let mut limiter = Limiter::new(5, SPAN);
        let mut admitted = |record: &Record| {
            let now = Instant::now();
            (0..1000).filter(|_| limiter.admit(record, now, &mut Vec::new())).count()
        };
        assert_eq!(admitted(&Record { always: true, ..record("a list") }), 1000);
        assert_eq!(admitted(&Record { level: Level::Debug, ..record("readouts refused") }), 5);
        assert_eq!(admitted(&Record { level: Level::Trace, ..record("a batch") }), 200);
        let mut never = Limiter::new(0, SPAN);
        assert!((0..1000).all(|_| never.admit(&record("a"), Instant::now(), &mut Vec::new())));
    }
}
