//! Who may be connected to a listener at once, and who gives way when all seats are taken.
//!
//! Whoever reaches a port can open connections and say nothing. So only who has asked for something keeps a seat:
//!
//! * Seats are limited, in all and for each address.
//! * If none is free, the oldest connection that has asked for nothing yet gives way to the new one.
//! * Who has asked for nothing in time has to go.
//! * Who has asked keeps the seat. If all have, the new one is refused.
//!
//! A listener decides what asking is. It closes whoever has to go, and counts or names each of them.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr, Shutdown, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Connections that have to go and have not ended yet: with so many of them, a listener accepts nobody.
pub const LEAVING: usize = 8;

/// How soon a listener looks again whether they have ended: they are about to.
pub const LEAVING_SOON: Duration = Duration::from_millis(1);

/// How many seats there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// In all, at least 1.
    pub most: usize,
    /// For one address, at least 1.
    pub most_of_one: usize,
}

/// Shuts connections that have to go, both ways or only for reading: whoever reads from them finds the end.
pub fn shut(connections: impl IntoIterator<Item = Arc<TcpStream>>, how: Shutdown) {
    for connection in connections {
        // One that has ended by itself is gone, too.
        let _ = connection.shutdown(how);
    }
}

/// Why nobody gives way: whoever has a seat has asked for something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoneLeft {
    /// All seats are taken.
    #[error("as many connections as may be have asked for something")]
    AtAll,
    /// This address has its share.
    #[error("as many connections of this address as may be have asked for something")]
    ForThisAddress,
}

/// The seats of a listener; with `C` it closes a connection that has to go.
#[derive(Debug)]
pub struct Seats<C> {
    state: Mutex<State<C>>,
}

#[derive(Debug)]
struct State<C> {
    /// By number: the oldest first.
    taken: BTreeMap<u64, Taken<C>>,
    next: u64,
    open: usize,
}

#[derive(Debug)]
struct Taken<C> {
    source: IpAddr,
    since: Instant,
    /// None once it has asked.
    silent: Option<C>,
}

impl<C> Default for Seats<C> {
    fn default() -> Self {
        Self { state: Mutex::new(State { taken: BTreeMap::new(), next: 0, open: 0 }) }
    }
}

impl<C> Seats<C> {
    /// A seat for a connection of this address, and the one that gives way to it, which the listener closes.
    ///
    /// # Errors
    /// If nobody gives way; then nothing has changed.
    pub fn take(
        self: &Arc<Self>,
        from: IpAddr,
        limits: Limits,
        connection: C,
        now: Instant,
    ) -> Result<(Seat<C>, Option<C>), NoneLeft> {
        let source = network(from);
        let mut state = self.lock();
        let of_one = state.taken.values().filter(|taken| taken.source == source).count();
        let none_left = if of_one >= limits.most_of_one {
            Some(NoneLeft::ForThisAddress)
        } else {
            (state.taken.len() >= limits.most).then_some(NoneLeft::AtAll)
        };
        let mut gives_way = None;
        if let Some(none_left) = none_left {
            let is_of_them = |taken: &Taken<C>| none_left == NoneLeft::AtAll || taken.source == source;
            let oldest = state.taken.iter().find(|(_, taken)| taken.silent.is_some() && is_of_them(taken));
            let number = *oldest.ok_or(none_left)?.0;
            gives_way = state.taken.remove(&number).and_then(|taken| taken.silent);
        }
        let number = state.next;
        state.next += 1;
        state.open += 1;
        state.taken.insert(number, Taken { source, since: now, silent: Some(connection) });
        Ok((Seat { seats: Arc::clone(self), number }, gives_way))
    }

    /// Those that have asked for nothing for `patience`. They have lost their seats, and the listener closes them.
    pub fn out_of_time(&self, patience: Duration, now: Instant) -> Vec<C> {
        let mut state = self.lock();
        let is_late = |taken: &Taken<C>| {
            taken.silent.is_some() && now.saturating_duration_since(taken.since) >= patience
        };
        let late: Vec<u64> =
            state.taken.iter().filter(|(_, taken)| is_late(taken)).map(|(number, _)| *number).collect();
        late.iter().filter_map(|number| state.taken.remove(number)?.silent).collect()
    }

    /// Connections that have not ended, those included that have to go.
    pub fn open(&self) -> usize {
        self.lock().open
    }

    /// True while [`LEAVING`] connections more are open than there are seats. The listener accepts nobody then, so that what
    /// connections cost has a bound, however fast new ones come.
    pub fn is_crowded(&self, limits: Limits) -> bool {
        self.open() >= limits.most + LEAVING
    }

    fn lock(&self) -> MutexGuard<'_, State<C>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A seat, free again when dropped: that is when its connection has ended.
#[derive(Debug)]
pub struct Seat<C> {
    seats: Arc<Seats<C>>,
    number: u64,
}

impl<C> Seat<C> {
    /// Its connection has asked for something, and keeps the seat. False if it has lost it before.
    pub fn keep(&self) -> bool {
        let mut state = self.seats.lock();
        let taken = state.taken.get_mut(&self.number);
        taken.map(|taken| taken.silent = None).is_some()
    }
}

impl<C> Drop for Seat<C> {
    fn drop(&mut self) {
        let mut state = self.seats.lock();
        state.taken.remove(&self.number);
        state.open -= 1;
    }
}

/// Whose share an address has: of IPv6, all addresses of one network (64 bits) have one.
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { most: 3, most_of_one: 2 };

    fn of(address: &str) -> IpAddr {
        address.parse().unwrap()
    }

    /// A seat for connection `number`, and who gave way to it.
    fn take(seats: &Arc<Seats<u32>>, from: &str, number: u32) -> Result<(Seat<u32>, Option<u32>), NoneLeft> {
        seats.take(of(from), LIMITS, number, Instant::now())
    }

    #[test]
    fn the_oldest_that_has_asked_for_nothing_gives_way() {
        let seats = Arc::<Seats<u32>>::default();
        let (first, _) = take(&seats, "192.0.2.1", 1).unwrap();
        let (second, _) = take(&seats, "192.0.2.2", 2).unwrap();
        let (third, none) = take(&seats, "192.0.2.3", 3).unwrap();
        assert_eq!(none, None);
        assert!(first.keep());
        let (fourth, gave_way) = take(&seats, "192.0.2.4", 4).unwrap();
        assert_eq!((gave_way, second.keep()), (Some(2), false));
        let (fifth, gave_way) = take(&seats, "192.0.2.5", 5).unwrap();
        assert_eq!((gave_way, third.keep()), (Some(3), false));
        assert!([&first, &fourth, &fifth].into_iter().all(Seat::keep));
        assert_eq!(take(&seats, "192.0.2.6", 6).err(), Some(NoneLeft::AtAll));
        // Those that had to go count until they have ended, and are nobody's seats.
        assert_eq!(seats.open(), 5);
        drop((second, third));
        assert_eq!(take(&seats, "192.0.2.6", 6).err(), Some(NoneLeft::AtAll));
        drop(first);
        assert_eq!(take(&seats, "192.0.2.6", 6).unwrap().1, None);
        assert_eq!(seats.open(), 2);
    }

    #[test]
    fn an_address_has_a_share_and_makes_room_for_itself_only() {
        let seats = Arc::<Seats<u32>>::default();
        let (other, _) = take(&seats, "192.0.2.8", 1).unwrap();
        let (first, _) = take(&seats, "192.0.2.7", 2).unwrap();
        let (second, _) = take(&seats, "::ffff:192.0.2.7", 3).unwrap();
        // The oldest of all is of another address.
        let (third, gave_way) = take(&seats, "192.0.2.7", 4).unwrap();
        assert_eq!((gave_way, first.keep()), (Some(2), false));
        assert!(second.keep() && third.keep());
        assert_eq!(take(&seats, "192.0.2.7", 5).err(), Some(NoneLeft::ForThisAddress));
        assert_eq!(take(&seats, "192.0.2.9", 6).unwrap().1, Some(1));
        assert!(!other.keep());
    }

    #[test]
    fn who_asks_for_nothing_in_time_has_to_go_and_who_has_asked_stays() {
        let (seats, begun) = (Arc::<Seats<u8>>::default(), Instant::now());
        let at = |milliseconds| begun + Duration::from_millis(milliseconds);
        let take = |number, milliseconds| {
            let from = IpAddr::from([192, 0, 2, number]);
            Seats::take(&seats, from, LIMITS, number, at(milliseconds)).unwrap().0
        };
        let late = |milliseconds| seats.out_of_time(Duration::from_millis(100), at(milliseconds));
        let (first, second, third) = (take(1, 0), take(2, 10), take(3, 50));
        assert!(late(99).is_empty() && second.keep());
        assert_eq!(late(149), [1]);
        assert_eq!((late(150), late(1_000_000)), (vec![3], vec![]));
        assert_eq!([&first, &second, &third].map(Seat::keep), [false, true, false]);
    }

    #[test]
    fn nobody_is_accepted_while_many_that_have_to_go_have_not_ended() {
        let seats = Arc::<Seats<u32>>::default();
        let mut open = Vec::new();
        for number in 0..(LIMITS.most + LEAVING) as u32 {
            assert!(!seats.is_crowded(LIMITS), "{number}");
            open.push(take(&seats, "192.0.2.1", number).unwrap().0);
        }
        assert!(seats.is_crowded(LIMITS));
        open.remove(0);
        assert!(!seats.is_crowded(LIMITS));
        open.clear();
        assert!(seats.open() == 0 && seats.lock().taken.is_empty());
    }

    #[test]
    fn a_network_of_ipv6_and_an_address_of_ipv4_are_one_source() {
        let source = |address| network(of(address));
        assert_eq!(source("2001:db8:1:2::1"), source("2001:db8:1:2:3::9"));
        assert_ne!(source("2001:db8:1:2::1"), source("2001:db8:1:3::1"));
        assert_eq!(source("::ffff:192.0.2.7"), of("192.0.2.7"));
        assert_ne!(source("192.0.2.7"), source("192.0.2.8"));
        let seats = Arc::<Seats<u32>>::default();
        let kept: Vec<_> = ["2001:db8::1", "2001:db8::2"].map(|from| take(&seats, from, 0).unwrap().0).into();
        assert!(kept.iter().all(Seat::keep));
        assert_eq!(take(&seats, "2001:db8::3", 0).err(), Some(NoneLeft::ForThisAddress));
    }
}
