//! What an agent starts: `evforge send`, `evforge drop send` and `evforge train send` with options that name no file.

use evforge_core::printable::printable;

/// Letters of a refused word that are repeated.
const SHOWN: usize = 60;

/// A command that is started.
struct Allowed {
    /// As it is typed.
    command: &'static [&'static str],
    /// Options with a value.
    with_value: &'static [&'static str],
    /// Options without.
    alone: &'static [&'static str],
}

const ALLOWED: [Allowed; 3] = [
    Allowed {
        command: &["send"],
        with_value: &[
            "--size",
            "--to",
            "--core",
            "--for",
            "--rate",
            "--bytes",
            "--segment",
            "--buffer",
            "--source-ports",
            "--layout",
        ],
        alone: &["--unpaced", "--single-calls", "--tcp"],
    },
    Allowed {
        command: &["drop", "send"],
        with_value: &["--packet", "--to", "--cores", "--for", "--rate", "--bytes", "--layout"],
        alone: &["--segment"],
    },
    Allowed {
        command: &["train", "send"],
        with_value: &[
            "--to",
            "--images",
            "--image-size",
            "--packet",
            "--packets-per-train",
            "--cores",
            "--for",
            "--rate",
            "--pause",
            "--frequency",
        ],
        alone: &[],
    },
];
/// Options that name the core of a sender.
const CORE: [&str; 2] = ["--core", "--cores"];
/// Longest value, in bytes.
const LONGEST_VALUE: usize = 1000;

/// Why these arguments are not started; none if they are.
pub fn problem(arguments: &[String]) -> Option<String> {
    if arguments.is_empty() {
        return Some("no command was given".to_owned());
    }
    let is_asked_for = |allowed: &&Allowed| {
        arguments.len() >= allowed.command.len()
            && allowed.command.iter().zip(arguments).all(|(one, other)| one == other)
    };
    let Some(allowed) = ALLOWED.iter().find(is_asked_for) else {
        let command = arguments.iter().take_while(|word| !word.starts_with('-')).take(2);
        let command = command.map(|word| printable(word, SHOWN)).collect::<Vec<_>>().join(" ");
        return Some(format!(
            "an agent starts `evforge send`, `evforge drop send` and `evforge train send`, and nothing else, not `{command}`"
        ));
    };
    let mut options = arguments.iter().skip(allowed.command.len());
    let mut ends = false;
    while let Some(option) = options.next() {
        if allowed.alone.contains(&option.as_str()) {
            continue;
        }
        if !allowed.with_value.contains(&option.as_str()) {
            return Some(format!("an agent does not take the option `{}`", printable(option, SHOWN)));
        }
        let Some(value) =
            options.next().filter(|value| value.len() <= LONGEST_VALUE && !value.starts_with('-'))
        else {
            return Some(format!("the option {option} has no value, or one that is too long"));
        };
        ends |= option == "--for" && !value.is_empty();
    }
    (!ends).then(|| "--for is missing: a sender must end by itself".to_owned())
}

/// The core of the sender; none if it is not said.
pub(super) fn core(arguments: &[String]) -> Option<usize> {
    CORE.iter().find_map(|option| value(arguments, option))?.parse().ok()
}

/// The value of an option.
pub(super) fn value<'a>(arguments: &'a [String], option: &str) -> Option<&'a str> {
    let at = arguments.iter().position(|argument| argument == option)?;
    arguments.get(at + 1).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Option<String> {
        problem(&line.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn a_sender_that_ends_is_started_and_nothing_else() {
        assert_eq!(of("send --to 10.0.0.1:9000 --unpaced --for 1s --size 64B --core 1"), None);
        assert_eq!(of("drop send --to 10.0.0.1:9000 --packet 64B --cores 1 --segment --for 1s"), None);
        assert_eq!(of("train send --to 10.0.0.1:9200 --packet 8184B --pause 0ns --cores 1 --for 1s"), None);
        for (line, reason) in [
            ("train send --for 1s --fault lost:train=3,packet=17", "`--fault`"),
            ("train receive --for 1s", "nothing else, not `train receive`"),
            ("run --config a", "nothing else, not `run`"),
            ("drop receive --for 1s", "nothing else, not `drop receive`"),
            ("drop", "nothing else, not `drop`"),
            ("drop send --cores 1", "--for is missing"),
            ("drop send --for 1s --xdp eth0", "`--xdp`"),
            ("drop send --for 1s --report /etc/passwd", "`--report`"),
            ("drop send --for 1s --unpaced", "`--unpaced`"),
            ("send --unpaced", "--for is missing"),
            ("send --for 1s --report /etc/passwd", "`--report`"),
            ("send --for 1s --fault lose:packet=1", "`--fault`"),
            ("send --for", "--for has no value"),
            ("send --for --unpaced", "--for has no value"),
            ("send --for=1s", "`--for=1s`"),
        ] {
            let said = of(line).unwrap_or_else(|| panic!("{line} is started"));
            assert!(said.contains(reason), "{line}: {said}");
        }
        assert!(problem(&[]).is_some());
        let core_of = |line: &str| core(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(
            (core_of("send --core 3"), core_of("drop send --cores 2"), core_of("send")),
            (Some(3), Some(2), None)
        );
        assert!(
            of(&format!("send --for {}", "9".repeat(2000))).is_some_and(|said| said.contains("too long"))
        );
        assert!(
            of(&format!("{}\u{7}", "x".repeat(9999)))
                .is_some_and(|said| said.len() < 200 && !said.contains('\u{7}'))
        );
    }
}
