//! What `-h` and `--help` show: commands in groups, an example for each, the common options first.
//!
//! `-h` has the options that one needs every day, on one screen: those without a heading. `--help` has all of them; the others stand
//! under headings. Both have the examples, which a test runs as they are (`tests/program/help.rs`).

use crate::exit_status;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, Command, Error};
use evforge_core::suggestion::nearest;
use std::fmt::Write as _;

/// The groups of commands, in the order of a first day with a detector.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Events", &["demo", "run", "serve", "view", "ctl", "write"]),
    ("Captures", &["inspect", "record", "replay", "dump", "masks", "windows", "calibrate"]),
    ("Truth", &["simulate", "score", "accuracy", "overlay"]),
    ("Links and Kafka", &["send", "receive", "drop", "train", "measure", "kafka"]),
    ("This host", &["doctor", "tune", "selftest", "bench", "completion"]),
];

/// A command, by its name and that of its subcommand, and what one types.
const EXAMPLES: &[(&str, &[&str])] = &[
    ("demo", &["evforge demo", "evforge demo --detector freia --for 60"]),
    (
        "run",
        &[
            "evforge run --config configs/gdgem-srs.toml run.pcapng --nexus run.nxs --image run.png",
            "evforge run --config configs/gdgem-srs.toml --view 127.0.0.1:8080 --nexus live.nxs --for 2h",
            "evforge run --config configs/freia.toml --input-kafka freia_samples --nexus again.nxs",
        ],
    ),
    (
        "serve",
        &[
            "evforge serve configs/nmx.toml --view 127.0.0.1:8080 --nexus {run:6}.nxs",
            "evforge serve configs/freia.toml --start --record {instrument}-{run:6}.pcapng",
        ],
    ),
    (
        "view",
        &[
            "evforge view run.nxs --for 60",
            "evforge view --kafka --events freia_detector --config configs/freia.toml --begin 10min --for 60",
        ],
    ),
    ("ctl state", &["evforge ctl state", "evforge ctl state --url http://127.0.0.1:8080 --json"]),
    ("ctl counters", &["evforge ctl counters", "evforge ctl counters main.uptime --json"]),
    ("ctl config", &["evforge ctl config --origins"]),
    ("ctl parameters", &["evforge ctl parameters"]),
    (
        "ctl set",
        &[
            "evforge ctl set gdgem.clustering.x.adc_threshold=60",
            "evforge ctl set detector.clustering.x.adc_threshold=40 --after 2s",
        ],
    ),
    ("ctl calibration", &["evforge ctl calibration off"]),
    ("ctl clear", &["evforge ctl clear"]),
    ("ctl run", &["evforge ctl run start --title \"Vanadium, 2 mm\" --for 2h", "evforge ctl run stop"]),
    ("ctl monitor", &["evforge ctl monitor on"]),
    ("ctl log", &["evforge ctl log", "evforge ctl log input=debug"]),
    ("ctl shutdown", &["evforge ctl shutdown"]),
    (
        "write",
        &[
            "evforge write --config configs/freia.toml --begin oldest --end present --output written.nxs",
            "evforge write --recover killed.nxs",
        ],
    ),
    ("inspect", &["evforge inspect run.pcapng", "evforge inspect run.pcapng --config-skeleton my.toml"]),
    ("record", &["evforge record --port 6006 --output night.pcapng --rotate-size 1GB --for 12h"]),
    ("replay", &["evforge replay run.pcapng --to localhost:6006", "evforge replay run.pcapng --rate 10kpps"]),
    ("dump", &["evforge dump --config configs/multiblade.toml blades.pcapng --output raw.h5"]),
    ("masks", &["evforge masks --config configs/gdgem-srs.toml run.pcapng"]),
    ("calibrate", &["evforge calibrate -f configs/bifrost.toml slits.pcapng --slits 0.1,0.5,0.9"]),
    ("windows", &["evforge windows --config configs/gdgem-srs.toml run.pcapng"]),
    (
        "simulate",
        &[
            "evforge simulate gdgem --output simulated.pcapng --truth neutrons.csv",
            "evforge simulate freia --output - | evforge run -f configs/freia.toml - --image freia.png",
        ],
    ),
    ("score", &["evforge score --config configs/gdgem-srs.toml --truth truth.csv --events events.csv"]),
    (
        "accuracy",
        &["evforge accuracy -f configs/gdgem-srs.toml --rates 1kHz 100kHz --neutrons 20000 --plot gem.svg"],
    ),
    (
        "overlay",
        &[
            "evforge overlay -f configs/gdgem-srs.toml run.pcapng --copies 5 -o dense.pcapng --truth dense.csv",
        ],
    ),
    ("send", &["evforge send --to localhost:9000 --rate 100kpps --for 60"]),
    ("receive", &["evforge receive --port 9000 --idle 5 --report link.json"]),
    ("drop send", &["evforge drop send --to localhost:9100 --streams 4 --for 60 --report sent.json"]),
    ("drop receive", &["evforge drop receive --port 9100 --streams 4 --idle 5 --image words.png"]),
    (
        "train send",
        &[
            "evforge train send --to localhost:9200 --images 64 --trains 20 --report sent.json",
            "evforge train send --modules 2 --images 20 --fault-rates lost=1e-4,late=0.1 --for 3",
        ],
    ),
    ("train repair", &["evforge train repair data/r0012"]),
    (
        "train receive",
        &[
            "evforge train receive --images 64 --check --idle 3 --report received.json",
            "evforge train receive --images 64 --senders 2 --view 127.0.0.1:8080 --files data --run 12 --for 4",
        ],
    ),
    ("kafka topics", &["evforge kafka topics", "evforge kafka topics freia_events --json"]),
    (
        "kafka tail",
        &[
            "evforge kafka tail freia_events --begin last:5 --for 60",
            "evforge kafka tail freia_events --begin oldest --end present --schema ev44,f144 --json",
        ],
    ),
    (
        "kafka replay",
        &[
            "evforge kafka replay freia_events --to freia_again --unpaced",
            "evforge kafka replay run.nxs --to freia_events --new-times --speed 10",
        ],
    ),
    (
        "kafka aggregate",
        &[
            "evforge kafka aggregate hrpdx_rawEvents --to hrpdx_events --for 60",
            "evforge kafka aggregate hrpdx_rawEvents --to hrpdx_again --end present --report frames.json",
        ],
    ),
    ("kafka forward", &["echo \"freia:chopper_speed 14.0\" | evforge kafka forward --to freia_logs"]),
    ("kafka test-image", &["evforge kafka test-image --to freia_events --size 64x32 --for 60"]),
    (
        "measure link",
        &[
            "evforge measure link",
            "evforge measure link --speed 100Gb/s --mtu 1500 --mtu 9000 --output link-100",
        ],
    ),
    (
        "measure sweep",
        &[
            "evforge measure sweep --loopback --size 1472 --method paper,batched --for 200ms --rounds 1",
            "evforge measure sweep --size 64,8972 --method paper,xdp --for 200ms --rounds 1 --output sweep-2026",
        ],
    ),
    (
        "measure buffers",
        &[
            "evforge measure buffers --buffer 1MB --rate 5kpps --for 1200ms --rounds 1 -o buffers-2026",
            "evforge measure buffers --loopback --buffer 1MB --one-way --for 200ms --rounds 1",
        ],
    ),
    (
        "measure rate",
        &[
            "evforge measure rate --loopback --size 64 --method batched --work 100us --for 200ms --rounds 1",
            "evforge measure rate --size 1472 --method batched --for 200ms --rounds 1 --output rate-2026",
        ],
    ),
    (
        "measure pulses",
        &[
            "evforge measure pulses --work 100us --buffer 100kB --peak-factor 10",
            "evforge measure pulses --size 1472 --work 20us --buffer 100kB --peak-factor 50 -o pulses-2026",
        ],
    ),
    (
        "measure formation",
        &[
            "evforge measure formation --loopback --detector multigrid --pulses 2 --for 300ms --rounds 1",
            "evforge measure formation --detector freia --into nexus --pulses 2 --for 300ms --rounds 1",
        ],
    ),
    (
        "measure latency",
        &[
            "evforge measure latency --loopback --rate 2kpps --into nothing,nexus --for 1s --rounds 1",
            "evforge measure latency --into view --rate 5kpps --for 1s --rounds 1",
        ],
    ),
    (
        "measure observer",
        &[
            "evforge measure observer --loopback --rate 2kpps --by view,browsers-2 --for 1s --rounds 1",
            "evforge measure observer --by metrics --rate 5kpps --for 1s --rounds 1",
        ],
    ),
    (
        "measure placement",
        &[
            "evforge measure placement --list --streams 1,2",
            "evforge measure placement --loopback --streams 1 --rate 1kpps --for 200ms --rounds 2",
        ],
    ),
    ("measure soak", &["evforge measure soak --loopback --rate 20Mbit/s --for 6s --segment 3s -o soak-2026"]),
    (
        "measure streams",
        &[
            "evforge measure streams --loopback --streams 1,2 --for 200ms --rounds 2",
            "evforge measure streams --streams 1,2,4 --for 200ms --rounds 2 --output streams-2026",
        ],
    ),
    (
        "measure trains",
        &[
            "evforge measure trains --loopback --senders 2 --receivers 2 --images 8 --trains 2 --rounds 1",
            "evforge measure trains --senders 2 --receivers 3 --images 8 --trains 2 --rounds 1 -o trains-2026",
        ],
    ),
    (
        "measure agent",
        &["umask 077; xxd -l 32 -p -c 64 /dev/urandom token; evforge measure agent --token-file token"],
    ),
    (
        "measure compare",
        &["evforge measure link -o old && evforge measure link -o new && evforge measure compare old new"],
    ),
    ("selftest", &["evforge selftest --for 5", "evforge selftest --detector nmx --neutrons 10kHz --for 3"]),
    ("doctor", &["evforge doctor", "evforge doctor --config configs/nmx.toml --json"]),
    (
        "tune",
        &[
            "evforge tune --config configs/nmx.toml",
            "evforge tune --profile xfel --only net.core.rmem_max,mtu",
        ],
    ),
    ("bench", &["evforge bench --config configs/gdgem-srs.toml run.pcapng"]),
    ("completion", &["evforge completion bash > evforge.bash"]),
    ("man", &["evforge man manual-pages"]),
];

/// What people type because others have it: the command, what is behind it, and what does that here.
const MEANT: [(&str, &str, &str); 5] = [
    ("ctl", "start", "evforge ctl run start"),
    ("ctl", "stop", "evforge ctl run stop"),
    ("ctl", "status", "evforge ctl state"),
    ("kafka", "list", "evforge kafka topics"),
    (
        "write",
        "--structure",
        "evforge write structure.json: the file without an option (docs/file-writer.md)",
    ),
];

/// An error of the command line with what was probably meant.
pub(crate) fn with_remedy(mut error: Error, command: &Command) -> Error {
    let wrong = [ContextKind::InvalidSubcommand, ContextKind::InvalidArg];
    let Some(ContextValue::String(typed)) = wrong.into_iter().find_map(|kind| error.get(kind)).cloned()
    else {
        return error;
    };
    let at = std::env::args_os().skip(1).fold(command, |at, word| at.find_subcommand(word).unwrap_or(at));
    let meant = MEANT.iter().find(|(name, found, _)| *name == at.get_name() && *found == typed);
    let tip = match (meant, error.kind()) {
        (Some((.., meant)), _) => {
            // They look alike, and do something else.
            error.remove(ContextKind::SuggestedArg);
            error.remove(ContextKind::SuggestedSubcommand);
            (*meant).to_owned()
        }
        (None, ErrorKind::InvalidSubcommand) if error.get(ContextKind::SuggestedSubcommand).is_none() => {
            let known = || at.get_subcommands().filter(|sub| !sub.is_hide_set()).map(Command::get_name);
            let meant =
                nearest(&typed, known()).map_or_else(String::new, |name| format!("did you mean '{name}'? "));
            format!("{meant}There are {}", known().collect::<Vec<_>>().join(", "))
        }
        _ => return error,
    };
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    error
}

/// The examples of a command, named as `run` or `drop send`.
pub(crate) fn examples(command: &str) -> &'static [&'static str] {
    EXAMPLES.iter().find(|(name, _)| *name == command).map_or(&[], |(_, examples)| examples)
}

/// The command line with its help: only the common options if `is_short`.
pub(crate) fn with_help(command: Command, is_short: bool) -> Command {
    let groups = groups(&command);
    let command = command.mut_subcommands(|sub| {
        let name = sub.get_name().to_owned();
        if sub.has_subcommands() {
            let sub = sub.mut_subcommands(|inner| {
                let path = format!("{name} {}", inner.get_name());
                of_command(inner, &path, is_short)
            });
            return own_flags(sub);
        }
        of_command(sub, &name, is_short)
    });
    let command = if is_short { command.mut_arg("user", common) } else { command };
    let command = own_flags(command).help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{groups}\nOptions:\n{{options}}\n\n\
         `evforge COMMAND -h` shows an example and the common options of a command, `--help` all of them.\n\
         docs/first-hour.md is the place to begin, docs/README.md lists all documents.{{after-help}}"
    ));
    // The list of `-h` fits on a screen; its options say what shows all of them.
    if is_short { command } else { command.after_help(exit_status::HELP) }
}

/// The commands, in their groups, with what they do.
fn groups(command: &Command) -> String {
    let mut text = String::new();
    for (title, names) in GROUPS {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "\n{title}:");
        for name in names {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(text, "  {name:<12}{about}");
        }
    }
    text
}

/// A command with its examples and options.
fn of_command(command: Command, path: &str, is_short: bool) -> Command {
    let mut shown = String::new();
    for example in examples(path) {
        let _ = writeln!(shown, "  {example}");
    }
    let title = if examples(path).len() == 1 { "Example" } else { "Examples" };
    let after = match is_short {
        true => format!("All options: evforge {path} --help"),
        false => exit_status::HELP.to_owned(),
    };
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{title}:\n{shown}\n{{all-args}}{{after-help}}\n"
    );
    let command =
        command.mut_args(|argument| if is_short { common(argument) } else { argument.hide_env_values(true) });
    own_flags(command).help_template(template).after_help(after)
}

/// An option as `-h` shows it: not at all if it has a heading, else without what one looks up.
fn common(argument: Arg) -> Arg {
    let hidden = argument.is_hide_set() || argument.get_help_heading().is_some();
    let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
    let short = help.split(" [configuration:").next().unwrap_or_default().to_owned();
    argument.help(short).hide(hidden).hide_env(true)
}

/// `-h` and `--help`, both with the help of an option in its own line.
fn own_flags(command: Command) -> Command {
    let flag = |id| Arg::new(id).action(ArgAction::HelpShort).help_heading(None::<&str>);
    command
        .disable_help_flag(true)
        .arg(flag("h").short('h').help("Show the common options"))
        .arg(flag("help").long("help").help("Show all options"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CommandLine;
    use clap::CommandFactory;
    use std::collections::BTreeSet;

    /// A command that is added is shown, and has an example.
    #[test]
    fn every_command_is_in_one_group_and_has_an_example() {
        let command = CommandLine::command();
        let mut names: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        names.sort_unstable();
        let all: BTreeSet<&str> =
            command.get_subcommands().filter(|sub| !sub.is_hide_set()).map(Command::get_name).collect();
        assert_eq!(names, all.into_iter().collect::<Vec<_>>());
        for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
            let inner: Vec<String> = sub
                .get_subcommands()
                .filter(|inner| !inner.is_hide_set())
                .map(|inner| format!("{} {}", sub.get_name(), inner.get_name()))
                .collect();
            for path in if inner.is_empty() { vec![sub.get_name().to_owned()] } else { inner } {
                assert!(!examples(&path).is_empty(), "{path} has no example");
            }
        }
    }
}
