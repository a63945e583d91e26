//! What `ethtool` answers, as text: every version of it on every host prints this; only newer ones know JSON.

use serde::{Deserialize, Serialize};

/// A part of what `ethtool` shows and changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Group {
    /// Rings of descriptors: `-g`, `-G`.
    Ring,
    /// Coalescing of interrupts: `-c`, `-C`.
    Coalescing,
    /// What the card and the driver do for the kernel: `-k`, `-K`.
    Offload,
}

impl Group {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Ring, Self::Coalescing, Self::Offload];

    /// The option that shows it.
    pub fn show(self) -> &'static str {
        match self {
            Self::Ring => "-g",
            Self::Coalescing => "-c",
            Self::Offload => "-k",
        }
    }

    /// The option that changes it.
    pub fn change(self) -> &'static str {
        match self {
            Self::Ring => "-G",
            Self::Coalescing => "-C",
            Self::Offload => "-K",
        }
    }
}

/// A value as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// As `ethtool` prints it: `512`, `on`.
    pub now: String,
    /// The largest there can be, of a ring.
    pub most: Option<String>,
    /// It cannot be changed.
    pub is_fixed: bool,
}

/// The value of that name in an answer; none if it is not there, or `n/a`.
///
/// Names are those of the answer: `RX`, `rx-usecs`, `large-receive-offload`, `Adaptive RX`.
pub fn value(group: Group, answer: &str, name: &str) -> Option<Value> {
    let (before, now) = match group {
        Group::Ring => answer.split_once("Current hardware settings:")?,
        Group::Coalescing | Group::Offload => ("", answer),
    };
    let word = find(now, name).filter(|word| *word != "n/a")?;
    let most = find(before, name).filter(|word| *word != "n/a");
    let is_fixed = group == Group::Offload && line(now, name).is_some_and(|line| line.contains("[fixed]"));
    Some(Value { now: word.to_owned(), most: most.map(str::to_owned), is_fixed })
}

/// What follows the name, up to the end of the word: two values can be in one line (`Adaptive RX: off  TX: on`).
fn find<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    line(text, name)?.split_whitespace().next()
}

/// The rest of the line that begins with `name:`.
fn line<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.trim_start().strip_prefix(name)?.strip_prefix(':'))
}

/// Every feature of an answer to `ethtool -k`, with its state: `on`, `off`, and `[fixed]` or `[requested on]` behind it.
pub fn features(answer: &str) -> Vec<(&str, &str)> {
    let of_line = |line| -> Option<(&str, &str)> {
        let (name, state) = str::split_once(line, ": ")?;
        Some((name.trim(), state.trim()))
            .filter(|(_, state)| state.starts_with("on") || state.starts_with("off"))
    };
    answer.lines().filter_map(of_line).collect()
}

/// What the card is: a line of `ethtool -i`, as `driver`, `version`, `firmware-version`, `bus-info`.
pub fn identity<'a>(answer: &'a str, name: &str) -> Option<&'a str> {
    line(answer, name).map(str::trim).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RINGS: &str = "Ring parameters for eth2:\nPre-set maximums:\nRX:\t\t4096\nRX Mini:\tn/a\nTX:\t\t4096\n\
                         Current hardware settings:\nRX:\t\t512\nRX Mini:\tn/a\nTX:\t\t512\n";
    const COALESCING: &str = "Coalesce parameters for eth2:\nAdaptive RX: on  TX: off\nstats-block-usecs:\tn/a\n\nrx-usecs:\t1\nrx-frames:\tn/a\n";
    const OFFLOADS: &str = "Features for eth2:\nrx-checksumming: on\ntcp-segmentation-offload: on\n\ttx-tcp-segmentation: on\n\
                            large-receive-offload: off [fixed]\ngeneric-receive-offload: on [requested off]\n";

    #[test]
    fn values_are_found_in_each_kind_of_answer() {
        let ring = value(Group::Ring, RINGS, "RX").unwrap();
        assert_eq!((ring.now.as_str(), ring.most.as_deref()), ("512", Some("4096")));
        assert_eq!(value(Group::Ring, RINGS, "RX Mini"), None);
        assert_eq!(value(Group::Coalescing, COALESCING, "rx-usecs").unwrap().now, "1");
        assert_eq!(value(Group::Coalescing, COALESCING, "Adaptive RX").unwrap().now, "on");
        assert_eq!(value(Group::Coalescing, COALESCING, "rx-frames"), None);
        let lro = value(Group::Offload, OFFLOADS, "large-receive-offload").unwrap();
        assert!(lro.is_fixed && lro.now == "off");
        let gro = value(Group::Offload, OFFLOADS, "generic-receive-offload").unwrap();
        assert!(!gro.is_fixed && gro.now == "on");
        assert_eq!(value(Group::Offload, OFFLOADS, "no-such"), None);
        let all = features(OFFLOADS);
        assert_eq!((all.len(), all[3]), (5, ("large-receive-offload", "off [fixed]")), "{all:?}");
        assert_eq!(
            identity("driver: ixgbe\nfirmware-version: 0x8000\nversion:\n", "firmware-version"),
            Some("0x8000")
        );
        assert_eq!(identity("version:\n", "version"), None);
    }

    proptest! {
        #[test]
        fn no_answer_is_too_strange(answer in "[ -~\n\t:]{0,200}", name in "[a-zA-Z -]{1,12}") {
            for group in Group::ALL {
                value(group, &answer, &name);
            }
            identity(&answer, &name);
            features(&answer);
        }
    }
}
