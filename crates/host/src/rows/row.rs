//! One setting: what is known of it without a host.

use crate::ethtool::Group;
use crate::finding::Verdict;
use crate::host::Host;
use crate::needs::HostNeeds;
use crate::place::{Place, Reading};
use crate::profile::Profile;
use crate::wanted::Wanted;
use std::path::Path;

/// Where a setting is on each host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// Below `/proc/sys`.
    Sysctl(&'static str),
    /// Of an interface, below `/sys/class/net/NAME`.
    Link(&'static str),
    /// A value of `ethtool`, by its name in the answer.
    Ethtool(Group, &'static str),
    /// Of each receive queue of an interface.
    EachQueue(&'static str),
    /// The cores of each interrupt of a card.
    EachInterrupt,
    /// Of each core, below `/sys/devices/system/cpu/cpuN`.
    EachCore(&'static str),
    /// A service of systemd.
    Service(&'static str),
    /// The largest read request of the card.
    PciReadRequest,
}

impl At {
    /// True if a host can have the setting at this place.
    pub(crate) fn can_be(self, place: &Place) -> bool {
        let is_name = |name: &str| !name.starts_with('-') && !name.contains('/');
        match (self, place) {
            (Self::Ethtool(group, value), Place::Ethtool { group: of, interface, name }) => {
                (group, value) == (*of, name) && is_name(interface)
            }
            (Self::Service(service), Place::Service(name)) => name == service,
            (Self::PciReadRequest, Place::PciReadRequest(address)) => {
                address.bytes().all(|byte| byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.'))
            }
            (_, Place::File(path)) => self.pattern().is_some_and(|pattern| has_form(path, &pattern)),
            _ => false,
        }
    }

    /// The path of its file, with a name for `*` and a number for `#`.
    fn pattern(self) -> Option<String> {
        Some(match self {
            Self::Sysctl(path) => format!("/proc/sys/{path}"),
            Self::Link(file) => format!("/sys/class/net/*/{file}"),
            Self::EachQueue(file) => format!("/sys/class/net/*/queues/rx-#/{file}"),
            Self::EachInterrupt => "/proc/irq/#/smp_affinity_list".to_owned(),
            Self::EachCore(file) => format!("/sys/devices/system/cpu/cpu#/{file}"),
            Self::Ethtool(..) | Self::Service(_) | Self::PciReadRequest => return None,
        })
    }

    /// True if there is one for each interface.
    pub fn is_of_an_interface(self) -> bool {
        !matches!(self, Self::Sysctl(_) | Self::EachCore(_) | Self::Service(_))
    }
}

/// True if a path is as a pattern says, in each of its parts.
fn has_form(path: &Path, pattern: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_part = |(part, expected): (&str, &str)| match expected.strip_suffix('#') {
        Some(begin) => part.strip_prefix(begin).is_some_and(is_number),
        None => expected == part || expected == "*" && part != "..",
    };
    let Some(path) = path.to_str() else { return false };
    path.split('/').count() == pattern.split('/').count()
        && path.split('/').zip(pattern.split('/')).all(is_part)
}

/// What a wish can depend on.
pub struct Context<'a> {
    /// What is to be received.
    pub needs: &'a HostNeeds,
    /// The interface.
    pub interface: Option<&'a str>,
    /// Where it is.
    pub place: &'a Place,
    /// The value now.
    pub reading: &'a Reading,
    /// The host.
    pub host: &'a dyn Host,
}

/// What a paper had.
#[derive(Clone, Copy, Debug)]
pub enum Paper {
    /// At least this number.
    Least(u64),
    /// Several numbers.
    Numbers(&'static [u64]),
    /// This value.
    Value(&'static str),
}

/// One setting.
#[derive(Debug)]
pub struct Row {
    /// Its name where administrators write about it: `net.core.rmem_max`.
    pub name: &'static str,
    /// What it is, for a person.
    pub subject: &'static str,
    /// Where it is.
    pub at: At,
    /// What evforge wants of it; None: nothing.
    pub wish: fn(&Context<'_>) -> Option<Wanted>,
    /// What the papers had.
    pub papers: &'static [(Profile, Paper)],
    /// How bad it is if it is not as evforge wants it.
    pub verdict: Verdict,
    /// How much it matters among others: 0 little, 9 much.
    pub weight: u8,
    /// What happens otherwise.
    pub why: &'static str,
    /// Where that is written.
    pub source: &'static str,
    /// What changing it can do that nobody wants.
    pub risk: &'static str,
}

impl Row {
    /// What this profile wants.
    pub fn wanted(&self, profile: Profile, context: &Context<'_>) -> Option<Wanted> {
        if profile == Profile::Evforge {
            return (self.wish)(context);
        }
        let (_, paper) = self.papers.iter().find(|(of, _)| *of == profile)?;
        Some(match paper {
            Paper::Least(number) => Wanted::at_least(*number),
            Paper::Numbers(numbers) => Wanted::EachAtLeast(numbers.to_vec()),
            Paper::Value(text) => Wanted::Exactly((*text).to_owned()),
        })
    }
}

/// evforge wants nothing of it: it sets it for itself, or it does not matter for receiving.
pub(super) fn nothing(_: &Context<'_>) -> Option<Wanted> {
    None
}
