//! What a document says that a command prints, against what it prints.

use evforge_testkit::documents::is_as_documented;

/// Lines that depend on the machine alone, by how they begin: they are passed over.
const OF_THE_MACHINE: [(&str, &str); 2] = [
    ("the limit of receive buffers is set by the administrator", "warning: The kernel gave UDP port"),
    ("an accurate clock is a matter of the processor", "clock "),
];

/// A number without what surrounds it: `(12.5` is one.
fn is_number(word: &str) -> bool {
    let digits = word.trim_start_matches('(');
    digits.starts_with(|c: char| c.is_ascii_digit()) && digits.chars().all(|c| c.is_ascii_digit() || c == '.')
}

/// A word without brackets and what ends a sentence.
fn bare(word: &str) -> &str {
    word.trim_matches(['(', ')', ',', ';', ':'])
}

/// Whether a word is a time with its unit: `42.905µs`, `5m`.
fn is_time(word: &str) -> bool {
    let word = bare(word);
    let unit = word.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    unit.len() < word.len() && ["ns", "µs", "us", "ms", "s", "m"].contains(&unit)
}

/// Whether a word is a moment: `2026-11-22T21:11:58.18873226Z`.
fn is_date(word: &str) -> bool {
    let word = bare(word);
    word.len() >= 20 && word.ends_with('Z') && word.as_bytes()[4] == b'-' && word.as_bytes()[10] == b'T'
}

/// Whether a word is a rate without a prefix: `(98/s)`.
fn is_low_rate(word: &str) -> bool {
    bare(word).strip_suffix("/s").is_some_and(is_number)
}

/// A line in which what depends on time is a name: rates, durations, shares of a schedule, dates.
pub(crate) fn normalised(line: &str) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    let word = |at: usize| words.get(at).map_or("", |word| bare(word));
    let (mut result, mut at) = (Vec::new(), 0);
    while let Some(&one) = words.get(at) {
        let (name, length) = if is_date(one) {
            ("DATE", 1)
        } else if is_time(one) {
            ("DURATION", 1)
        } else if is_number(one) && word(at + 1) == "s" {
            ("DURATION", 2)
        } else if is_low_rate(one) {
            ("RATE", 1)
        } else if is_number(one) && word(at + 1).ends_with("/s") && !is_low_rate(word(at + 1)) {
            ("RATE", 2)
        } else if is_number(one) && ["k", "M", "G"].contains(&word(at + 1)) && word(at + 2).ends_with("/s") {
            ("RATE", 3)
        } else if is_number(one) && words.get(at + 1..at + 5) == Some(&["%", "of", "it", "achieved"]) {
            ("SHARE", 1)
        } else {
            (one, 1)
        };
        // With the brackets and commas around it.
        let last = words.get(at + length - 1).copied().unwrap_or_default();
        let before = if name != one && one.starts_with('(') { "(" } else { "" };
        let after =
            if name == one { "" } else { &last[bare(last).len() + last.find(bare(last)).unwrap_or(0)..] };
        result.push(format!("{before}{name}{after}"));
        at += length;
    }
    result.join(" ").trim_end().to_owned()
}

/// How what was printed differs from what a document says, if it does.
pub(crate) fn difference(printed: &str, documented: &str) -> Option<String> {
    let of_the_machine =
        |line: &&str| OF_THE_MACHINE.iter().any(|(_, beginning)| line.starts_with(beginning));
    let is_kept = |line: &&str| !line.trim().is_empty() && !of_the_machine(line);
    let lines = |text: &str| text.lines().filter(is_kept).map(normalised).collect::<Vec<_>>();
    let (found, wanted) = (lines(printed), lines(documented));
    // How many lines were printed before the next documented one can come; from there on anywhere after a `…`.
    let (mut at, mut is_anywhere) = (0, false);
    for line in &wanted {
        if line == "…" {
            is_anywhere = true;
            continue;
        }
        let rest = found.get(at..).unwrap_or_default();
        let place = rest.iter().take(if is_anywhere { rest.len() } else { 1 });
        match place.clone().position(|printed| is_as_documented(printed, line)) {
            Some(skipped) => at += skipped + 1,
            None => {
                let next = found.get(at).map_or("nothing", String::as_str);
                return Some(format!("the document says\n{line}\nbut there is\n{next}\nof\n{printed}"));
            }
        }
        is_anywhere = false;
    }
    (at < found.len() && !is_anywhere)
        .then(|| format!("the document does not have\n{}\nof\n{printed}", found[at]))
}

#[test]
fn what_depends_on_time_is_made_equal_and_nothing_else() {
    for (line, expected) in [
        ("events        5 101 (31.2 k/s)", "events        5 101 (RATE)"),
        ("events        482 (98/s)", "events        482 (RATE)"),
        ("ended         stopped after 13.997 s", "ended         stopped after DURATION"),
        ("sent 3 in 9.9 s: 391 packets/s, 12.4 Mbit/s", "sent 3 in DURATION: RATE, RATE"),
        ("  6 s  Live  256 k readouts/s", "  DURATION  Live  RATE"),
        ("half within 42.905µs, all within 3.00s", "half within DURATION, all within DURATION"),
        ("events up to 2026-11-22T21:11:58.18873226Z", "events up to DATE"),
        ("asked for: 99.02 % of it achieved", "asked for: SHARE % of it achieved"),
        ("1958 events, 3 %, 4 kHz", "1958 events, 3 %, 4 kHz"),
    ] {
        assert_eq!(normalised(line), expected);
    }
}

#[test]
fn another_output_is_noticed() {
    let printed = "warning: The kernel gave UDP port 6006 …\na 1\nb 2 (3 k/s)\n\nc 3\nd 4\n";
    for (documented, is_same) in [
        ("a 1\nb 2 (4 M/s)\nc 3\nd 4\n", true),
        ("a 1\n…\nd 4\n", true),
        ("…\nc 3\n…\n", true),
        ("…\nb … (9 k/s)\nc 3\nd …\n", true),
        ("a 1\nb 3 (3 k/s)\nc 3\nd 4\n", false),
        ("a 1\nc 3\nd 4\n", false),
        ("b 2 (3 k/s)\nc 3\nd 4\n", false),
        ("a 1\nb 2 (3 k/s)\nc 3\n", false),
        ("a 1\n…\nc 4\n…\n", false),
        ("…\nc 3\nb 2 (3 k/s)\n…\n", false),
        ("a 1\n…\nd 4\ne 5\n", false),
    ] {
        assert_eq!(difference(printed, documented).is_none(), is_same, "{documented}");
    }
}
