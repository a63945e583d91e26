//! Ways to look at a run.

use crate::measured_formation::Destination;
use crate::page_client::Wants;
use std::fmt;
use std::str::FromStr;

/// A way to look at a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Observer {
    /// Nobody looks: no counter of the host is read, and there is no view.
    Nothing,
    /// The run reads the kernel's tables once a second (`receive.loss_counters = "cheap"`).
    KernelCounters,
    /// The run reads the kernel's tables once a second, and the counters of interfaces every ten seconds: the default.
    HostCounters,
    /// Another program reads the kernel's tables every millisecond.
    PolledCounters,
    /// The live view, without a browser.
    View,
    /// The live view, asked for its metrics once a second.
    Metrics,
    /// The live view with this many browsers.
    Browsers(u16),
    /// The same, each with a slice of time of flight and 16 regions.
    Regions(u16),
    /// Monitor data from the start, into a file at the end.
    Monitor,
}

/// Browsers at most: the page serves 32, and a person may look, too.
const MOST_BROWSERS: u16 = 31;

impl Observer {
    /// All of them, with this many browsers next to a single one.
    pub fn all(browsers: u16) -> Vec<Self> {
        let mut all = vec![
            Self::Nothing,
            Self::KernelCounters,
            Self::HostCounters,
            Self::PolledCounters,
            Self::View,
            Self::Metrics,
            Self::Browsers(1),
        ];
        all.extend((browsers > 1).then_some(Self::Browsers(browsers)));
        all.push(Self::Regions(browsers.max(1)));
        all.push(Self::Monitor);
        all
    }

    /// What it is, in a sentence without its end.
    pub fn explanation(self) -> String {
        match self {
            Self::Nothing => "no counter of the host is read, and there is no view".to_owned(),
            Self::KernelCounters => "the run reads the kernel's tables once a second".to_owned(),
            Self::HostCounters => {
                "the run reads the kernel's tables once a second and those of interfaces every ten seconds, as it does by default".to_owned()
            }
            Self::PolledCounters => "another program reads the kernel's tables every millisecond".to_owned(),
            Self::View => "the live view, which nobody opens".to_owned(),
            Self::Metrics => "the live view, whose metrics are asked for once a second".to_owned(),
            Self::Browsers(1) => "the live view, with a browser".to_owned(),
            Self::Browsers(number) => format!("the live view, with {number} browsers"),
            Self::Regions(number) => {
                format!("the live view, with {number} browsers that each have a slice of time of flight and 16 regions")
            }
            Self::Monitor => "monitor data from the start, written into a file at the end".to_owned(),
        }
    }

    /// `receive.loss_counters` of the run.
    pub(super) const fn loss_counters(self) -> &'static str {
        match self {
            Self::KernelCounters => "cheap",
            Self::HostCounters => "all",
            _ => "off",
        }
    }

    /// Where events go.
    pub(super) const fn into(self) -> Destination {
        match self {
            Self::View | Self::Metrics | Self::Browsers(_) | Self::Regions(_) => Destination::View,
            Self::Nothing
            | Self::KernelCounters
            | Self::HostCounters
            | Self::PolledCounters
            | Self::Monitor => Destination::Nothing,
        }
    }

    /// What browsers want to see.
    pub(super) const fn wants(self) -> Wants {
        match self {
            Self::Regions(_) => Wants::Regions,
            _ => Wants::Everything,
        }
    }

    /// Browsers that look.
    pub(super) const fn browsers(self) -> u16 {
        match self {
            Self::Browsers(number) | Self::Regions(number) => number,
            _ => 0,
        }
    }
}

impl fmt::Display for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("nothing"),
            Self::KernelCounters => f.write_str("kernel-counters"),
            Self::HostCounters => f.write_str("host-counters"),
            Self::PolledCounters => f.write_str("polled-counters"),
            Self::View => f.write_str("view"),
            Self::Metrics => f.write_str("metrics"),
            Self::Browsers(number) => write!(f, "browsers-{number}"),
            Self::Regions(number) => write!(f, "regions-{number}"),
            Self::Monitor => f.write_str("monitor"),
        }
    }
}

impl FromStr for Observer {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        for (name, of) in [("browsers-", Self::Browsers as fn(u16) -> Self), ("regions-", Self::Regions)] {
            let Some(number) = text.strip_prefix(name) else { continue };
            let number = number.parse().ok().filter(|number| (1..=MOST_BROWSERS).contains(number));
            return number
                .map(of)
                .ok_or_else(|| format!("found `{text}`, expected {name}1 to {name}{MOST_BROWSERS}"));
        }
        let all = Self::all(1);
        all.iter().copied().find(|observer| observer.to_string() == text).ok_or_else(|| {
            let names: Vec<String> = all.iter().map(ToString::to_string).collect();
            format!("`{text}` is no way to look at a run: expected one of {}", names.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_found_by_its_name_and_nothing_is_first() {
        let all = Observer::all(8);
        assert_eq!((all.len(), all[0]), (10, Observer::Nothing));
        for observer in all {
            assert_eq!(observer.to_string().parse(), Ok(observer));
        }
        assert!("browsers-0".parse::<Observer>().unwrap_err().contains("browsers-1"));
        assert!("browsers-32".parse::<Observer>().is_err());
        assert!("curiosity".parse::<Observer>().unwrap_err().contains("polled-counters"));
        assert!("regions-32".parse::<Observer>().unwrap_err().contains("regions-31"));
        assert_eq!(Observer::all(1).len(), 9);
    }
}
