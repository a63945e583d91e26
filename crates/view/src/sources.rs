//! How many things of a limited number each address has: connections, browsers that watch. Of IPv6, all addresses of one network belong
//! to one.

use evforge_control::allowance::network;
use std::collections::HashMap;
use std::net::IpAddr;

/// Who has how many. It has no more entries than things are taken.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    taken: HashMap<IpAddr, usize>,
    all: usize,
}

/// Why there is none left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoneLeft {
    /// All of them are taken.
    AtAll,
    /// This address has its share.
    ForThisAddress,
}

impl Sources {
    /// Takes one for `from`, of `most` for all and `most_of_one` for each address.
    ///
    /// # Errors
    /// If there is none left; then nothing has changed.
    pub(crate) fn take(&mut self, from: IpAddr, most: usize, most_of_one: usize) -> Result<(), NoneLeft> {
        if self.all >= most {
            return Err(NoneLeft::AtAll);
        }
        let source = network(from);
        let of_one = self.taken.get(&source).copied().unwrap_or(0);
        if of_one >= most_of_one {
            return Err(NoneLeft::ForThisAddress);
        }
        self.taken.insert(source, of_one + 1);
        self.all += 1;
        Ok(())
    }

    /// Gives one back that `from` has taken.
    pub(crate) fn give_back(&mut self, from: IpAddr) {
        let source = network(from);
        let Some(count) = self.taken.get_mut(&source) else { return };
        *count -= 1;
        if *count == 0 {
            self.taken.remove(&source);
        }
        self.all -= 1;
    }

    /// Whether nobody has any.
    pub(crate) fn is_empty(&self) -> bool {
        self.all == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(address: &str) -> IpAddr {
        address.parse().unwrap()
    }

    #[test]
    fn a_network_of_ipv6_and_an_address_of_ipv4_are_one_source() {
        let source = |address| network(of(address));
        assert_eq!(source("2001:db8:1:2::1"), source("2001:db8:1:2:3::9"));
        assert_ne!(source("2001:db8:1:2::1"), source("2001:db8:1:3::1"));
        assert_eq!(source("::ffff:192.0.2.7"), of("192.0.2.7"));
        assert_ne!(source("192.0.2.7"), source("192.0.2.8"));
    }

    #[test]
    fn one_address_leaves_some_for_others_and_what_is_given_back_is_there_again() {
        let (here, there) = (of("192.0.2.7"), of("::ffff:192.0.2.8"));
        let mut sources = Sources::default();
        let take = |sources: &mut Sources, from| sources.take(from, 3, 2);
        assert_eq!([take(&mut sources, here), take(&mut sources, here)], [Ok(()), Ok(())]);
        assert_eq!(take(&mut sources, here), Err(NoneLeft::ForThisAddress));
        assert_eq!(take(&mut sources, there), Ok(()));
        assert_eq!(take(&mut sources, of("192.0.2.9")), Err(NoneLeft::AtAll));
        sources.give_back(of("192.0.2.8"));
        // Nobody gives back what it has not.
        sources.give_back(of("192.0.2.9"));
        assert_eq!(take(&mut sources, here), Err(NoneLeft::ForThisAddress));
        assert_eq!(take(&mut sources, there), Ok(()));
        for from in [here, here, there] {
            sources.give_back(from);
        }
        assert!(sources.is_empty() && sources.taken.is_empty());
    }
}
