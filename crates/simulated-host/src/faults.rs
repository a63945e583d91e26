//! Which calls fail: rules with a time from and to, the calls that they are about, and what happens to these.

use crate::random::Random;

/// What a call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Call {
    /// Opens or creates a file.
    Open,
    /// Writes into a file.
    Write,
    /// Reads from a file.
    Read,
    /// Brings a file to the disk.
    Sync,
    /// Changes a file's length, or reserves room for it; asks how much room there is.
    Room,
    /// Gives a file another name.
    Rename,
    /// Removes a file.
    Remove,
    /// Takes a descriptor that is no file's: a socket, a connection.
    Descriptor,
    /// Starts a thread.
    Thread,
    /// Sends to a peer.
    Send,
    /// Receives from a peer.
    Receive,
}

/// The calls, by their names in a plan.
pub const CALLS: [(&str, Call); 11] = [
    ("open", Call::Open),
    ("write", Call::Write),
    ("read", Call::Read),
    ("sync", Call::Sync),
    ("room", Call::Room),
    ("rename", Call::Rename),
    ("remove", Call::Remove),
    ("descriptor", Call::Descriptor),
    ("thread", Call::Thread),
    ("send", Call::Send),
    ("receive", Call::Receive),
];

/// What happens to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It fails with this number (`errno`).
    Fails(i32),
    /// It does a part of what it is asked for: at least a byte, if there is one.
    Short,
    /// It takes this long, in nanoseconds.
    Slow(u64),
}

/// A rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// From this time on, in nanoseconds since the start.
    pub from: u64,
    /// To before this time.
    pub to: u64,
    /// The calls.
    pub calls: Vec<Call>,
    /// Part of the file's name; `*` for all, and for calls that have no file.
    pub name: String,
    /// One call in this many, on average.
    pub once_in: u64,
    /// What happens to it.
    pub fault: Fault,
}

impl Rule {
    fn is_about(&self, now: u64, call: Call, name: &str) -> bool {
        (self.from..self.to).contains(&now)
            && self.calls.contains(&call)
            && (self.name == "*" || name.contains(&self.name))
    }
}

/// The rule by which a call on the file `name` is hit at this time, by its number.
pub fn hit(rules: &[Rule], random: &mut Random, now: u64, call: Call, name: &str) -> Option<(usize, Fault)> {
    let (number, rule) = rules.iter().enumerate().find(|(_, rule)| rule.is_about(now, call, name))?;
    random.once_in(rule.once_in).then_some((number, rule.fault))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_holds_within_its_time_for_its_calls_and_files() {
        let rule = Rule {
            from: 10,
            to: 20,
            calls: vec![Call::Write, Call::Room],
            name: ".csv".into(),
            once_in: 1,
            fault: Fault::Fails(28),
        };
        let hit = |now, call, name| hit(std::slice::from_ref(&rule), &mut Random::new(1), now, call, name);
        assert_eq!(hit(10, Call::Write, "a.csv"), Some((0, Fault::Fails(28))));
        assert_eq!(hit(19, Call::Room, "a.csv.partial"), Some((0, Fault::Fails(28))));
        for (now, call, name) in
            [(9, Call::Write, "a.csv"), (20, Call::Write, "a.csv"), (15, Call::Open, "a.csv")]
        {
            assert_eq!(hit(now, call, name), None);
        }
        assert_eq!(hit(15, Call::Write, "a.nxs"), None);
    }
}
