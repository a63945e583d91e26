//! What threads wait for.

/// What a thread waits for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wait {
    /// Its turn, and nothing else.
    Turn,
    /// This time.
    Until(u64),
    /// That somebody wakes who waits at this address, or this time.
    Address(usize, Option<u64>),
    /// One of these descriptors, or this time. They lie in the memory of the thread, which waits.
    Descriptors(*mut libc::pollfd, usize, Option<u64>),
    /// The end of a thread.
    End(usize),
    /// Nothing: it has ended.
    Ended,
}

impl Wait {
    pub(crate) fn deadline(&self) -> Option<u64> {
        match *self {
            Self::Until(time) => Some(time),
            Self::Address(_, deadline) | Self::Descriptors(_, _, deadline) => deadline,
            Self::Turn | Self::End(_) | Self::Ended => None,
        }
    }
}

/// How a wait has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Woken {
    /// By what it waited for.
    Yes,
    /// Its time is over.
    InVain,
}
