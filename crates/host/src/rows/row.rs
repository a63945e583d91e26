//! One setting: what is known of it without a host.

use crate::ethtool::Group;
use crate::finding::Verdict;
use crate::host::Host;
use crate::needs::HostNeeds;
use crate::place::{Place, Reading};
use crate::profile::Profile;
use crate::wanted::Wanted;

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
    /// True if there is one for each interface.
    pub fn is_of_an_interface(self) -> bool {
        !matches!(self, Self::Sysctl(_) | Self::EachCore(_) | Self::Service(_))
    }
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
