//! Readings as text: the formats of Prometheus (0.0.4) and of OpenMetrics (1.0).
//!
//! Both say the same. OpenMetrics also has units, and an end by which a reader knows that nothing is missing. The writer is
//! here and not a library's, because what is written is decided while a run goes on: which stages, outputs and sources there
//! are. The libraries keep a registry of metrics that the program itself counts.

use crate::metric::Kind;
use crate::reading::{Reading, Section};
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

/// Most readings in one text; what is beyond is left out, and a comment at the end says how much.
pub const MOST_READINGS: usize = 20_000;

/// Most characters of the value of a label.
const LONGEST_LABEL: usize = 200;

/// A format of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// That of Prometheus, version 0.0.4.
    Prometheus,
    /// OpenMetrics, version 1.0.0.
    OpenMetrics,
}

impl Format {
    /// The format that suits what a reader accepts (the header `Accept`): OpenMetrics for those that ask for it.
    pub fn accepted_by(accept: &str) -> Self {
        let wants = |offer: &str| offer.trim_start().starts_with("application/openmetrics-text");
        if accept.split(',').any(wants) { Self::OpenMetrics } else { Self::Prometheus }
    }

    /// What an answer in it says it is.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// Values of one name.
struct Family<'a> {
    name: String,
    first: &'a Reading,
    /// What its declarations say: one sentence, unless outputs of several kinds have a counter of the same name.
    help: Vec<&'a str>,
    /// Lines behind the name, with their labels.
    lines: String,
    seen: HashSet<String>,
}

/// The text. Values of one name are together, in the order in which names come first.
pub fn text(sections: &[Section], format: Format) -> String {
    let mut families: Vec<Family<'_>> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    let (mut written, mut left_out) = (0, 0_usize);
    for (section, reading) in
        sections.iter().flat_map(|section| section.readings.iter().map(move |r| (section, r)))
    {
        if written == MOST_READINGS {
            left_out += 1;
            continue;
        }
        let mut name = reading.family();
        if places.get(&name).is_some_and(|&place| families[place].first.kind != reading.kind) {
            // A name has one kind: the later declaration has it in its name.
            name = format!("{name}_{}", reading.kind.name());
        }
        let place = *places.entry(name.clone()).or_insert_with(|| {
            let family =
                Family { name, first: reading, help: Vec::new(), lines: String::new(), seen: HashSet::new() };
            families.push(family);
            families.len() - 1
        });
        let family = &mut families[place];
        if !family.help.contains(&&*reading.help) {
            family.help.push(&reading.help);
        }
        let labels = labels(section, reading);
        // Two sources may be called the same; a reader takes a name with its labels only once.
        if family.seen.insert(labels.clone()) {
            let total = if reading.kind == Kind::Counter { "_total" } else { "" };
            // Writing to a string cannot fail.
            let _ = writeln!(family.lines, "{}{total}{labels} {}", family.name, reading.value);
            written += 1;
        }
    }
    let mut text = String::new();
    families.iter().for_each(|family| write_family(&mut text, family, format));
    if left_out > 0 {
        let _ = writeln!(text, "# HELP evforge_left_out Readings beyond the first {MOST_READINGS}.");
        let _ = writeln!(text, "# TYPE evforge_left_out gauge\nevforge_left_out {left_out}");
    }
    if format == Format::OpenMetrics {
        text.push_str("# EOF\n");
    }
    text
}

fn write_family(text: &mut String, family: &Family<'_>, format: Format) {
    let Family { name, first, help, lines, .. } = family;
    let kind = first.kind.name();
    let described = match (format, first.kind) {
        (Format::Prometheus, Kind::Counter) => format!("{name}_total"),
        _ => name.clone(),
    };
    let mut help = escaped(&help.join(" | "), format == Format::OpenMetrics);
    let unit = first.unit.filter(|unit| name.ends_with(&format!("_{unit}")));
    if let (Some(unit), None) = (first.unit, unit) {
        let _ = write!(help, " In {unit}.");
    }
    let _ = writeln!(text, "# HELP {described} {help}\n# TYPE {described} {kind}");
    if let (Some(unit), Format::OpenMetrics) = (unit, format) {
        let _ = writeln!(text, "# UNIT {described} {unit}");
    }
    text.push_str(lines);
}

/// `{stream="NMX",source="FEC 1"}`; nothing without labels.
fn labels(section: &Section, reading: &Reading) -> String {
    let mut text = String::new();
    for (name, value) in section.labels.iter().chain(&reading.labels) {
        let value: String = value.chars().take(LONGEST_LABEL).collect();
        let _ =
            write!(text, "{}{name}=\"{}\"", if text.is_empty() { '{' } else { ',' }, escaped(&value, true));
    }
    if !text.is_empty() {
        text.push('}');
    }
    text
}

fn escaped(text: &str, quotes: bool) -> String {
    let text = text.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', " ");
    if quotes { text.replace('"', "\\\"") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::Value;
    use crate::run_declared::{DISCARDED, ELAPSED, EVENTS, SOURCE_RECEIVED};

    fn section(readings: Vec<Reading>) -> [Section; 1] {
        [Section::of_run("NMX \"1\"", "gdgem", readings)]
    }

    #[test]
    fn both_formats_say_the_same() {
        let readings = vec![
            Reading::of(&EVENTS, &[], Value::Whole(7)),
            Reading::of(&ELAPSED, &[], Value::Millionths(1_500_000)),
        ];
        let labels = "{stream=\"NMX \\\"1\\\"\",detector=\"gdgem\"}";
        let expected = format!(
            "# HELP evforge_run_events_total Events handed out.\n# TYPE evforge_run_events_total counter\n\
             evforge_run_events_total{labels} 7\n\
             # HELP evforge_run_elapsed_seconds Time since the start of the run.\n# TYPE evforge_run_elapsed_seconds gauge\n\
             evforge_run_elapsed_seconds{labels} 1.500000\n"
        );
        assert_eq!(text(&section(readings.clone()), Format::Prometheus), expected);
        let expected = format!(
            "# HELP evforge_run_events Events handed out.\n# TYPE evforge_run_events counter\n\
             # UNIT evforge_run_events events\nevforge_run_events_total{labels} 7\n\
             # HELP evforge_run_elapsed_seconds Time since the start of the run.\n# TYPE evforge_run_elapsed_seconds gauge\n\
             # UNIT evforge_run_elapsed_seconds seconds\nevforge_run_elapsed_seconds{labels} 1.500000\n# EOF\n"
        );
        assert_eq!(text(&section(readings), Format::OpenMetrics), expected);
    }

    #[test]
    fn values_of_one_name_are_together_and_none_is_there_twice() {
        let of = |source: &str, value| Reading::of(&SOURCE_RECEIVED, &[source], Value::Whole(value));
        let readings = vec![of("a", 1), Reading::of(&EVENTS, &[], Value::Whole(7)), of("b", 2), of("a", 3)];
        let text = text(&section(readings), Format::Prometheus);
        let lines: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(lines.len(), 3, "{text}");
        assert!(lines[0].contains("source=\"a\"} 1") && lines[1].contains("source=\"b\"} 2"), "{text}");
    }

    #[test]
    fn a_name_has_one_kind() {
        let counter = Reading::of(&EVENTS, &[], Value::Whole(7));
        let gauge = Reading { kind: Kind::Gauge, ..counter.clone() };
        let text = text(&section(vec![counter, gauge]), Format::Prometheus);
        assert!(text.contains("# TYPE evforge_run_events_gauge gauge\n"), "{text}");
    }

    #[test]
    fn what_is_too_much_is_left_out_and_counted() {
        let reading =
            |number: usize| Reading::of(&DISCARDED, &["packets", &number.to_string()], Value::Whole(1));
        let text = text(&section((0..MOST_READINGS + 5).map(reading).collect()), Format::OpenMetrics);
        assert!(text.contains("\nevforge_left_out 5\n# EOF\n"));
        assert_eq!(text.matches("\nevforge_run_discarded_total{").count(), MOST_READINGS);
    }

    #[test]
    fn readers_get_what_they_accept() {
        let prometheus =
            "application/openmetrics-text;version=1.0.0;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        assert_eq!(Format::accepted_by(prometheus), Format::OpenMetrics);
        assert_eq!(Format::accepted_by("*/*"), Format::Prometheus);
        assert_eq!(Format::accepted_by(""), Format::Prometheus);
    }
}
