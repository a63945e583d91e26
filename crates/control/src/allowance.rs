//! How often somebody may ask, by address.

use evforge_core::seats::network;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::time::Instant;

/// Addresses that are remembered at a time. Those beyond share one allowance.
const MOST_ADDRESSES: usize = 4096;

/// How many at once, and how many in a second.
#[derive(Clone, Copy, Debug)]
pub struct Rate {
    /// As many at once.
    pub at_once: u32,
    /// As many more in each second.
    pub per_second: f64,
}

/// What each address has left.
#[derive(Debug)]
pub struct Allowances {
    rate: Rate,
    left: HashMap<IpAddr, (f64, Instant)>,
}

impl Allowances {
    /// Nobody has asked yet.
    pub fn new(rate: Rate) -> Self {
        Self { rate, left: HashMap::new() }
    }

    /// What is left of an address now. Of IPv6, all addresses of one network (64 bits) are one.
    fn left(&mut self, from: IpAddr, now: Instant) -> &mut f64 {
        let Rate { at_once, per_second } = self.rate;
        let full = f64::from(at_once);
        let refilled = |left: f64, at: Instant| {
            (left + now.saturating_duration_since(at).as_secs_f64() * per_second).min(full)
        };
        let mut from = network(from);
        if self.left.len() >= MOST_ADDRESSES && !self.left.contains_key(&from) {
            // Whose allowance is whole is as good as forgotten.
            self.left.retain(|_, (left, at)| refilled(*left, *at) < full);
            if self.left.len() >= MOST_ADDRESSES {
                from = Ipv6Addr::UNSPECIFIED.into();
            }
        }
        let (left, at) = self.left.entry(from).or_insert((full, now));
        *left = refilled(*left, *at);
        *at = now;
        left
    }

    /// Whether this address has anything left; takes nothing of it.
    pub fn has_left(&mut self, from: IpAddr, now: Instant) -> bool {
        *self.left(from, now) >= 1.0
    }

    /// Takes one: whether there was one left.
    pub fn take(&mut self, from: IpAddr, now: Instant) -> bool {
        let left = self.left(from, now);
        let has = *left >= 1.0;
        if has {
            *left -= 1.0;
        }
        has
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn an_allowance_is_used_up_refilled_and_belongs_to_one_network() {
        let mut allowances = Allowances::new(Rate { at_once: 3, per_second: 2.0 });
        let (one, other) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        let begun = Instant::now();
        assert_eq!([0; 5].map(|_| allowances.take(one, begun)), [true, true, true, false, false]);
        assert!(!allowances.has_left(one, begun) && allowances.has_left(other, begun));
        assert!(allowances.take(other, begun));
        let later = begun + Duration::from_millis(600);
        assert_eq!([0; 2].map(|_| allowances.take(one, later)), [true, false]);
        let (six, neighbour) = ("fd00::1".parse().unwrap(), "fd00::2:3".parse().unwrap());
        assert_eq!(
            [six, neighbour, six, neighbour].map(|of| allowances.take(of, begun)),
            [true, true, true, false]
        );
        assert_eq!(network("::ffff:10.0.0.1".parse().unwrap()), one);
    }

    #[test]
    fn addresses_beyond_the_limit_share_one() {
        let mut allowances = Allowances::new(Rate { at_once: 2, per_second: 0.001 });
        let now = Instant::now();
        for number in 0..20_000_u32 {
            allowances.take(IpAddr::from(number.to_be_bytes()), now);
        }
        assert!(allowances.left.len() <= MOST_ADDRESSES + 1, "{}", allowances.left.len());
        assert!(!allowances.take(IpAddr::from([99, 0, 0, 1]), now));
    }
}
