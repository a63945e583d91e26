//! What an agent starts: `evforge send` with options that name no file.

/// Options with a value.
const WITH_VALUE: [&str; 10] = [
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
];
/// Options without.
const ALONE: [&str; 3] = ["--unpaced", "--single-calls", "--tcp"];
/// Longest value, in bytes.
const LONGEST_VALUE: usize = 1000;

/// Why these arguments are not started; none if they are.
pub fn problem(arguments: &[String]) -> Option<String> {
    let [command, options @ ..] = arguments else { return Some("no command was given".to_owned()) };
    if command != "send" {
        return Some(format!("an agent starts `evforge send` and nothing else, not `{}`", shown(command)));
    }
    let mut options = options.iter();
    let mut ends = false;
    while let Some(option) = options.next() {
        if ALONE.contains(&option.as_str()) {
            continue;
        }
        if !WITH_VALUE.contains(&option.as_str()) {
            return Some(format!("an agent does not take the option `{}`", shown(option)));
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

/// What somebody sent, for a message.
fn shown(text: &str) -> String {
    text.chars().take(60).map(|character| if character.is_control() { '?' } else { character }).collect()
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
        for (line, reason) in [
            ("run --config a", "nothing else, not `run`"),
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
        assert!(
            of(&format!("send --for {}", "9".repeat(2000))).is_some_and(|said| said.contains("too long"))
        );
        assert!(
            of(&format!("{}\u{7}", "x".repeat(9999)))
                .is_some_and(|said| said.len() < 200 && !said.contains('\u{7}'))
        );
    }
}
