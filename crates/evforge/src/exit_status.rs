//! What a command says with its exit status: decided here, for all commands, and documented in docs/exit-status.md.

use evforge_pipeline::verdict::Verdict;
use std::process::ExitCode;

/// What `--help` says of it, of every command.
pub(crate) const HELP: &str = "\
Exit status:
  0  everything was done, and the input was whole and of use
  1  failed: something that was asked for could not be done, or did not pass
  2  the command line is wrong
  3  the input is incomplete or damaged: fragments, cut packets, a file that ends in the middle
  4  the input is of no use: no packets, all of them rejected, or no event in a file
What it was, and what to do, is in the report. With several the status is 1 before 4 before 3 (docs/exit-status.md).";

/// How a command ended; the later, the worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ExitStatus {
    /// Everything was done, and the input was whole and of use.
    Good,
    /// The input is incomplete or damaged.
    Incomplete,
    /// The input is of no use.
    NoUse,
    /// Something that was asked for could not be done, or did not pass.
    Failed,
}

impl ExitStatus {
    /// Good, or failed.
    pub(crate) fn of(is_good: bool) -> Self {
        if is_good { Self::Good } else { Self::Failed }
    }

    /// The worse of both.
    #[must_use]
    pub(crate) fn and(self, other: Self) -> Self {
        self.max(other)
    }

    /// What it means, in a few words.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Good => "whole and of use",
            Self::Incomplete => "incomplete or damaged",
            Self::NoUse => "of no use",
            Self::Failed => "something has failed",
        }
    }

    /// That of a process of ours which ended with this number.
    pub(crate) fn of_number(number: i32) -> Self {
        let known = [Self::Good, Self::Incomplete, Self::NoUse];
        known.into_iter().find(|status| i32::from(status.number()) == number).unwrap_or(Self::Failed)
    }

    /// The number. What clap finds wrong with a command line ends with 2.
    fn number(self) -> u8 {
        match self {
            Self::Good => 0,
            Self::Failed => 1,
            Self::Incomplete => 3,
            Self::NoUse => 4,
        }
    }
}

impl From<Verdict> for ExitStatus {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Good => Self::Good,
            Verdict::Incomplete => Self::Incomplete,
            Verdict::NoUse => Self::NoUse,
            Verdict::Failed => Self::Failed,
        }
    }
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        Self::from(status.number())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scripts rely on the numbers, people on the help.
    #[test]
    fn each_status_has_its_number_and_the_help_says_it() {
        use ExitStatus::{Failed, Good, Incomplete, NoUse};
        assert_eq!([Good, Failed, Incomplete, NoUse].map(ExitStatus::number), [0, 1, 3, 4]);
        for number in 0..5 {
            assert!(HELP.contains(&format!("\n  {number}  ")), "{number}");
        }
        assert_eq!(
            (Good.and(Incomplete), Incomplete.and(NoUse), Failed.and(NoUse)),
            (Incomplete, NoUse, Failed)
        );
    }
}
