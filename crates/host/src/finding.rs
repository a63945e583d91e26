//! What is found about a host.

/// How good it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// As it should be, or of no consequence.
    Good,
    /// It works, and would be better or safer otherwise.
    Advice,
    /// What was asked for cannot be had.
    Missing,
}

impl Verdict {
    /// The verdict as it is printed.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Good => "good",
            Verdict::Advice => "advice",
            Verdict::Missing => "MISSING",
        }
    }
}

/// One thing about this host or process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What it is about: "receive buffer".
    pub subject: String,
    /// How good it is.
    pub verdict: Verdict,
    /// The value that was found, and what it means.
    pub found: String,
    /// The value that this configuration wants; none if it is as it should be, or no value.
    pub wanted: Option<String>,
    /// What happens otherwise.
    pub why: Option<&'static str>,
    /// Where that is written: paper and section, kernel documentation, or a measurement of our own.
    pub source: Option<&'static str>,
    /// What changing it can do that nobody wants.
    pub risk: Option<&'static str>,
    /// The command or the setting that fixes it.
    pub fix: Option<String>,
    /// How much it matters among others of its verdict: 0 little, 9 much.
    pub weight: u8,
}

impl Finding {
    /// It is as it should be.
    pub fn good(subject: &str, found: impl Into<String>) -> Self {
        Self {
            subject: subject.into(),
            verdict: Verdict::Good,
            found: found.into(),
            wanted: None,
            why: None,
            source: None,
            risk: None,
            fix: None,
            weight: 0,
        }
    }

    /// It would be better otherwise.
    pub fn advice(subject: &str, found: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { verdict: Verdict::Advice, fix: Some(fix.into()), weight: 3, ..Self::good(subject, found) }
    }

    /// What is asked for cannot be had.
    pub fn missing(subject: &str, found: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { verdict: Verdict::Missing, weight: 9, ..Self::advice(subject, found, fix) }
    }

    /// With what is wanted, why, and where that is written.
    #[must_use]
    pub fn because(mut self, wanted: &str, why: &'static str, source: &'static str) -> Self {
        (self.wanted, self.why, self.source) = (Some(wanted.to_owned()), Some(why), Some(source));
        self
    }
}

/// The findings that are not good, those first that matter most; at most `most` of them.
pub fn most_important(findings: &[Finding], most: usize) -> Vec<&Finding> {
    let mut open: Vec<_> = findings.iter().filter(|finding| finding.verdict != Verdict::Good).collect();
    open.sort_by_key(|finding| std::cmp::Reverse((finding.verdict, finding.weight)));
    open.truncate(most);
    open
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_comes_before_advice_and_what_matters_more_before_the_rest() {
        let little = Finding { weight: 1, ..Finding::advice("little", "", "") };
        let much = Finding { weight: 8, ..Finding::advice("much", "", "") };
        let missing = Finding { weight: 0, ..Finding::missing("missing", "", "") };
        let findings = [little, Finding::good("good", ""), much, missing];
        let order: Vec<_> =
            most_important(&findings, 2).iter().map(|finding| finding.subject.as_str()).collect();
        assert_eq!(order, ["missing", "much"]);
    }
}
