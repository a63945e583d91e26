//! Counters: each declared once, with its name, unit, help text and its part in the laws.
//!
//! Metrics, the table in `docs/counters.md`, the report and the dashboards are all made from the
//! declarations; a counter that joins a law by its declaration is in the balance from then on.
//!
//! ```
//! use evforge_core::counter::{CounterSet, Law};
//!
//! evforge_core::counters! {
//!     /// Counters of a toy stage.
//!     pub struct ToyCounters: "toy" {
//!         readouts: Enters(Readouts), Readouts, "Readouts found in packets.";
//!         hits: Leaves(Readouts), Hits, "Hits made of readouts.";
//!         unmapped: Discarded(Readouts), Readouts, "Readouts of channels that no strip is wired to.";
//!     }
//! }
//!
//! let counters = ToyCounters { readouts: 3, hits: 2, unmapped: 1 };
//! assert_eq!(counters.imbalance(Law::Readouts), 0);
//! ```
//!
//! # The laws
//! * packets: received = formed from + discarded by reason
//! * readouts: in = mapped to hits + discarded by reason
//! * hits: in = in events + discarded by reason + held
//! * events: formed = handed out + discarded by reason + held (where whole events are put into order)
//! * outputs: offered = committed + discarded by reason + held (of each output)
//! * messages: read = written + discarded by reason + held (of the file writer)
//! * trains: opened = handed on + discarded by reason + open (of the assembly)
//! * images: in = kept + discarded by reason (of the steps over a train)
//!
//! No counter is computed as the remainder of others, so an imbalance means that a stage has lost
//! something without saying so.

/// What a counter counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// UDP datagrams.
    Packets,
    /// Bytes of UDP payload.
    Bytes,
    /// Single digitised measurements.
    Readouts,
    /// Readouts placed on the detector.
    Hits,
    /// Groups of hits of one plane.
    Clusters,
    /// Neutrons.
    Events,
    /// Messages of Kafka.
    Messages,
    /// Trains of images.
    Trains,
    /// Images of a train.
    Images,
    /// Occurrences of what the help text says.
    Times,
    /// A duration, as it is at the moment of the snapshot. Not cumulative.
    Microseconds,
}

impl Unit {
    /// The unit as it is printed.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Packets => "packets",
            Unit::Bytes => "bytes",
            Unit::Readouts => "readouts",
            Unit::Hits => "hits",
            Unit::Clusters => "clusters",
            Unit::Events => "events",
            Unit::Messages => "messages",
            Unit::Trains => "trains",
            Unit::Images => "images",
            Unit::Times => "times",
            Unit::Microseconds => "µs",
        }
    }
}

/// A balance that holds in every snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Law {
    /// received = formed from + discarded by reason
    Packets,
    /// in = mapped to hits + discarded by reason
    Readouts,
    /// in = in events + discarded by reason + held
    Hits,
    /// formed = handed out + discarded by reason + held; for detectors that put whole events into order
    Events,
    /// offered = committed + discarded by reason + held; of an output
    Outputs,
    /// read = written + discarded by reason + held; of the file writer
    Messages,
    /// opened = handed on + discarded by reason + open; of the assembly of trains
    Trains,
    /// in = kept + discarded by reason; of the steps over a train
    Images,
}

impl Law {
    /// All laws.
    pub const ALL: [Law; 8] = [
        Law::Packets,
        Law::Readouts,
        Law::Hits,
        Law::Events,
        Law::Outputs,
        Law::Messages,
        Law::Trains,
        Law::Images,
    ];

    /// The law as it is printed.
    pub fn name(self) -> &'static str {
        match self {
            Law::Packets => "packets",
            Law::Readouts => "readouts",
            Law::Hits => "hits",
            Law::Events => "events",
            Law::Outputs => "outputs",
            Law::Messages => "messages",
            Law::Trains => "trains",
            Law::Images => "images",
        }
    }
}

/// A counter's part in the laws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Left side of the law: what came in.
    Enters(Law),
    /// Right side: what went on to the next stage.
    Leaves(Law),
    /// Right side of the first law and left side of the second.
    Joins(Law, Law),
    /// Right side: what was thrown away, for the reason that the counter's name gives.
    Discarded(Law),
    /// Right side: what a stage holds at the moment of the snapshot. Not cumulative.
    Held(Law),
    /// In no law: the events that leave a detector which does not keep the law of events.
    HandedOut,
    /// In no law.
    Information,
    /// In no law: what is at the moment of the snapshot. Not cumulative.
    Now,
}

impl Role {
    /// +1, -1 or 0: the sign with which a counter of this role enters `incoming - outgoing` of `law`.
    pub fn sign(self, law: Law) -> i128 {
        match self {
            Role::Enters(l) if l == law => 1,
            Role::Joins(_, l) if l == law => 1,
            Role::Joins(l, _) | Role::Leaves(l) | Role::Discarded(l) | Role::Held(l) if l == law => -1,
            _ => 0,
        }
    }
}

/// The declaration of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterInfo {
    /// Its name, as in the code, the report and the metrics.
    pub name: &'static str,
    /// What it counts.
    pub unit: Unit,
    /// One sentence for people.
    pub help: &'static str,
    /// Its part in the laws.
    pub role: Role,
}

impl CounterInfo {
    /// True if it only ever grows while a run continues; false if it is what there is at the moment of a snapshot.
    pub fn is_cumulative(&self) -> bool {
        !matches!(self.role, Role::Held(_) | Role::Now) && self.unit != Unit::Microseconds
    }
}

/// A struct of counters made by [`counters!`](crate::counters).
pub trait CounterSet {
    /// Name of the stage that counts, for the table and the metrics.
    const STAGE: &'static str;

    /// The declarations, in the order of the values.
    fn infos() -> &'static [CounterInfo]
    where
        Self: Sized;

    /// Copies the values into `values`, in the order of the declarations. What does not fit is left out.
    fn copy_values(&self, values: &mut [u64]);

    /// Adds what others have counted, counter by counter.
    fn accumulate(&mut self, other: &Self)
    where
        Self: Sized;

    /// Incoming less outgoing of `law`: 0 unless something vanished (> 0) or appeared (< 0).
    fn imbalance(&self, law: Law) -> i128
    where
        Self: Sized,
    {
        CounterSnapshot::of(self).imbalance(law)
    }
}

/// A set of counters with what its stage does, for people.
#[derive(Clone, Copy, Debug)]
pub struct CountedStage {
    /// What the stage does: "Receiving from the network".
    pub title: &'static str,
    /// [`CounterSet::STAGE`].
    pub name: &'static str,
    /// [`CounterSet::infos`].
    pub counters: &'static [CounterInfo],
}

impl CountedStage {
    /// The counters of `C`.
    pub fn of<C: CounterSet>(title: &'static str) -> Self {
        Self { title, name: C::STAGE, counters: C::infos() }
    }
}

/// A consistent copy of one or more counter sets, free of their types.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CounterSnapshot {
    infos: Vec<&'static CounterInfo>,
    values: Vec<u64>,
}

impl CounterSnapshot {
    /// A snapshot of `counters`.
    pub fn of<C: CounterSet>(counters: &C) -> Self {
        Self::default().and(counters)
    }

    /// This snapshot with `counters` added behind. A pipeline whose stages count for themselves joins their
    /// sets; the laws then hold over all of them.
    #[must_use]
    pub fn and<C: CounterSet>(mut self, counters: &C) -> Self {
        let first = self.values.len();
        self.infos.extend(C::infos());
        self.values.resize(self.infos.len(), 0);
        if let Some(values) = self.values.get_mut(first..) {
            counters.copy_values(values);
        }
        self
    }

    /// This snapshot with another one added behind.
    #[must_use]
    pub fn join(mut self, other: &CounterSnapshot) -> Self {
        self.infos.extend(&other.infos);
        self.values.extend(&other.values);
        self
    }

    /// This snapshot with another one of parts that count the same: counters of the same name and role are added up, the
    /// others are added behind.
    #[must_use]
    pub fn merge(mut self, other: &CounterSnapshot) -> Self {
        for (info, value) in other.iter() {
            let same = |own: &&CounterInfo| (own.name, own.role) == (info.name, info.role);
            let place = self.infos.iter().position(same);
            match place.and_then(|place| self.values.get_mut(place)) {
                Some(own) => *own += value,
                None => {
                    self.infos.push(info);
                    self.values.push(value);
                }
            }
        }
        self
    }

    /// As [`CounterSnapshot::and`], with counters that are declared while the program runs. Declarations without
    /// a value, or values without a declaration, are left out.
    #[must_use]
    pub fn and_declared(mut self, infos: &'static [CounterInfo], values: &[u64]) -> Self {
        for (info, value) in infos.iter().zip(values) {
            self.infos.push(info);
            self.values.push(*value);
        }
        self
    }

    /// Declarations and values.
    pub fn iter(&self) -> impl Iterator<Item = (&'static CounterInfo, u64)> + '_ {
        self.infos.iter().copied().zip(self.values.iter().copied())
    }

    /// The value of the counter called `name`, or none.
    pub fn value(&self, name: &str) -> Option<u64> {
        self.iter().find(|(info, _)| info.name == name).map(|(_, value)| value)
    }

    /// The value of the counter with exactly this declaration, or none: a counter of another stage that happens to have
    /// the same name is another counter.
    pub fn value_of(&self, wanted: &CounterInfo) -> Option<u64> {
        self.iter().find(|(info, _)| *info == wanted).map(|(_, value)| value)
    }

    /// The sum of the counters whose role is one of those wanted; none if there is no such counter: then nobody has counted.
    pub fn sum(&self, wanted: impl Fn(Role) -> bool) -> Option<u64> {
        let counted = self.iter().filter(|(info, _)| wanted(info.role)).map(|(_, value)| value);
        counted.fold(None, |sum, value| Some(sum.unwrap_or(0_u64).saturating_add(value)))
    }

    /// What was counted since an earlier snapshot of the same stages. What is held now stays as it is.
    #[must_use]
    pub fn since(&self, earlier: &CounterSnapshot) -> Self {
        let mut since = self.clone();
        let before = earlier.values.iter().copied().chain(std::iter::repeat(0));
        for ((info, value), before) in since.infos.iter().zip(&mut since.values).zip(before) {
            if info.is_cumulative() {
                *value = value.saturating_sub(before);
            }
        }
        since
    }

    /// Incoming less outgoing of `law`.
    pub fn imbalance(&self, law: Law) -> i128 {
        self.iter().map(|(info, value)| info.role.sign(law) * i128::from(value)).sum()
    }

    /// How much is unaccounted for: the imbalances of all laws, each taken positive, added up.
    pub fn unaccounted(&self) -> u64 {
        let total: u128 = Law::ALL.iter().map(|&law| self.imbalance(law).unsigned_abs()).sum();
        u64::try_from(total).unwrap_or(u64::MAX)
    }
}

/// Declares a struct of `u64` counters: a name for the stage, then `name: Role, Unit, "Help.";` for each.
/// See the [module documentation](crate::counter).
#[macro_export]
macro_rules! counters {
    (
        $(#[$outer:meta])*
        $visibility:vis struct $set:ident: $stage:literal {
            $($name:ident: $role:ident $(($($law:ident),+))?, $unit:ident, $help:literal;)+
        }
    ) => {
        $(#[$outer])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        $visibility struct $set {
            $(#[doc = $help] pub $name: u64,)+
        }

        impl $crate::get_size2::GetSize for $set {}

        impl $crate::counter::CounterSet for $set {
            const STAGE: &'static str = $stage;

            fn accumulate(&mut self, other: &Self) {
                $(self.$name += other.$name;)+
            }

            fn infos() -> &'static [$crate::counter::CounterInfo] {
                const INFOS: &[$crate::counter::CounterInfo] = &[$(
                    $crate::counter::CounterInfo {
                        name: stringify!($name),
                        unit: $crate::counter::Unit::$unit,
                        help: $help,
                        role: $crate::counter::Role::$role $(($($crate::counter::Law::$law),+))?,
                    },
                )+];
                INFOS
            }

            fn copy_values(&self, values: &mut [u64]) {
                for (slot, value) in values.iter_mut().zip([$(self.$name),+]) {
                    *slot = value;
                }
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    counters! {
        /// A stage with one of each role.
        struct Stage: "stage" {
            readouts: Enters(Readouts), Readouts, "In.";
            hits: Joins(Readouts, Hits), Hits, "Between.";
            unmapped: Discarded(Readouts), Readouts, "Out.";
            in_events: Leaves(Hits), Hits, "Out.";
            held: Held(Hits), Hits, "Held.";
            markers: Information, Times, "Free.";
            waiting: Now, Times, "Waiting.";
        }
    }

    #[test]
    fn laws_follow_from_the_declarations() {
        let balanced =
            Stage { readouts: 10, hits: 8, unmapped: 2, in_events: 5, held: 3, markers: 99, waiting: 4 };
        assert_eq!(CounterSnapshot::of(&balanced).unaccounted(), 0);
        let swallowed = CounterSnapshot::of(&Stage { readouts: 11, ..balanced });
        assert_eq!(swallowed.imbalance(Law::Readouts), 1);
        assert_eq!(swallowed.unaccounted(), 1);
        let made_up = CounterSnapshot::of(&Stage { in_events: 6, ..balanced });
        assert_eq!(made_up.imbalance(Law::Hits), -1);
        assert_eq!(made_up.unaccounted(), 1);
    }

    counters! {
        /// A stage before [`Stage`].
        struct Before: "before" {
            seen: Enters(Readouts), Readouts, "In.";
            readouts_passed: Leaves(Readouts), Readouts, "Out.";
        }
    }

    #[test]
    fn the_laws_hold_over_joined_sets() {
        let stage = Stage { readouts: 2, hits: 2, in_events: 2, ..Stage::default() };
        let joined = CounterSnapshot::of(&Before { seen: 3, readouts_passed: 2 }).and(&stage);
        assert_eq!((joined.value("seen"), joined.value("in_events")), (Some(3), Some(2)));
        assert_eq!(joined.imbalance(Law::Readouts), 1);
        let declared = CounterSnapshot::default().and_declared(Before::infos(), &[3, 2]).and(&stage);
        assert_eq!(declared, joined);
    }

    #[test]
    fn parts_that_count_the_same_are_added_up() {
        let one = Stage { readouts: 3, unmapped: 3, ..Stage::default() };
        let two = Stage { readouts: 4, hits: 4, held: 4, ..Stage::default() };
        let both = CounterSnapshot::of(&one).merge(&CounterSnapshot::of(&two).and(&Before::default()));
        assert_eq!((both.value("readouts"), both.value("held"), both.unaccounted()), (Some(7), Some(4), 0));
        assert_eq!(both.iter().count(), Stage::infos().len() + Before::infos().len());
    }

    #[test]
    fn what_nobody_counts_is_not_0() {
        let stage = CounterSnapshot::of(&Stage { readouts: 7, ..Stage::default() });
        assert_eq!(stage.sum(|role| role == Role::Enters(Law::Readouts)), Some(7));
        assert_eq!(stage.sum(|role| role == Role::Enters(Law::Packets)), None);
    }

    #[test]
    fn what_came_since_leaves_out_what_was_before_but_not_what_is_held() {
        let before = CounterSnapshot::of(&Stage { readouts: 7, held: 2, waiting: 5, ..Stage::default() });
        let now = CounterSnapshot::of(&Stage { readouts: 9, held: 3, waiting: 6, ..Stage::default() });
        let since = now.since(&before);
        let values = ["readouts", "held", "waiting"].map(|name| since.value(name));
        assert_eq!(values, [Some(2), Some(3), Some(6)]);
    }

    #[test]
    fn a_snapshot_knows_names_and_values() {
        let snapshot = CounterSnapshot::of(&Stage { markers: 7, ..Stage::default() });
        assert_eq!(snapshot.value("markers"), Some(7));
        assert_eq!(snapshot.value("nonsense"), None);
        assert_eq!(snapshot.value_of(&Stage::infos()[5]), Some(7));
        let other = CounterInfo { help: "Of another stage.", ..Stage::infos()[5] };
        assert_eq!(snapshot.value_of(&other), None);
        assert_eq!(Stage::STAGE, "stage");
    }
}
