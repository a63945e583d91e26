//! The first cases of something that a person has to look for, each with how often it was seen.

/// Cases that are named.
const MOST_NAMED: usize = 6;

/// The first cases. Memory is taken once.
#[derive(Debug, get_size2::GetSize)]
pub struct FirstCases<C> {
    cases: Vec<(C, u64)>,
    others: u64,
}

impl<C> Default for FirstCases<C> {
    fn default() -> Self {
        Self { cases: Vec::with_capacity(MOST_NAMED), others: 0 }
    }
}

impl<C: PartialEq> FirstCases<C> {
    /// Takes note of a case.
    pub fn see(&mut self, case: C) {
        if let Some((_, count)) = self.cases.iter_mut().find(|(known, _)| *known == case) {
            *count += 1;
        } else if self.cases.len() < MOST_NAMED {
            self.cases.push((case, 1));
        } else {
            self.others += 1;
        }
    }

    /// The cases in the order in which they were first seen, with how often.
    pub fn named(&self) -> &[(C, u64)] {
        &self.cases
    }

    /// How often further cases were seen.
    pub fn others(&self) -> u64 {
        self.others
    }
}
