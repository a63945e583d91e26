//! The declaration of a metric that is no counter of a stage.

/// What a value does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// It only grows, as long as the run, the program or the host goes on.
    Counter,
    /// It is what there is at the moment.
    Gauge,
}

impl Kind {
    /// As in the text of Prometheus.
    pub fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
        }
    }
}

/// A metric that is no counter of a stage: declared once, in this crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// What it belongs to: "run", "source", "host".
    pub group: &'static str,
    /// Its name there, with the unit at the end.
    pub name: &'static str,
    /// Its unit, if it has one: "packets", "bytes", "seconds".
    pub unit: Option<&'static str>,
    /// What its values do.
    pub kind: Kind,
    /// Names of the labels that tell its values apart.
    pub labels: &'static [&'static str],
    /// One sentence for people.
    pub help: &'static str,
}

/// Declares metrics: `IDENTIFIER: Kind, "group", "name", unit, [labels], "Help.";` for each, and `ALL`.
macro_rules! metrics {
    ($($identifier:ident: $kind:ident, $group:literal, $name:literal, $unit:expr, [$($label:literal),*], $help:literal;)+) => {
        $(pub(crate) const $identifier: $crate::metric::Metric = $crate::metric::Metric {
            group: $group,
            name: $name,
            unit: $unit,
            kind: $crate::metric::Kind::$kind,
            labels: &[$($label),*],
            help: $help,
        };)+
        /// All of them.
        pub(crate) const ALL: &[&$crate::metric::Metric] = &[$(&$identifier),+];
    };
}
pub(crate) use metrics;
