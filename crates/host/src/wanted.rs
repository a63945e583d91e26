//! What is wanted of a value.

/// What a setting should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// At least so much; `set` is what is set where it is less.
    AtLeast {
        /// Less is not enough.
        least: u64,
        /// What to set.
        set: u64,
    },
    /// At most so much.
    AtMost(u64),
    /// Each of several numbers at least so much.
    EachAtLeast(Vec<u64>),
    /// This text.
    Exactly(String),
    /// One of these; the first is what is set.
    OneOf(&'static [&'static str]),
}

impl Wanted {
    /// At least so much, and so much is set.
    pub fn at_least(least: u64) -> Self {
        Self::AtLeast { least, set: least }
    }

    /// True if the value is as wanted. What is no number is never enough.
    pub fn is_met_by(&self, value: &str) -> bool {
        let number = |word: &str| word.parse::<u64>().ok();
        match self {
            Self::AtLeast { least, .. } => number(value).is_some_and(|value| value >= *least),
            Self::AtMost(most) => number(value).is_some_and(|value| value <= *most),
            Self::EachAtLeast(least) => {
                let values: Vec<_> = value.split_whitespace().map(number).collect();
                values.len() == least.len()
                    && values.iter().zip(least).all(|(value, least)| *value >= Some(*least))
            }
            Self::Exactly(text) => value == text,
            Self::OneOf(words) => words.contains(&value),
        }
    }

    /// What to set in the place of `now`.
    pub fn value(&self, now: &str) -> String {
        match self {
            Self::AtLeast { set, .. } => set.to_string(),
            Self::AtMost(most) => most.to_string(),
            // What is more already stays.
            Self::EachAtLeast(least) => {
                let mut now = now.split_whitespace().map(|word| word.parse::<u64>().unwrap_or(0));
                let each = least.iter().map(|least| now.next().unwrap_or(0).max(*least).to_string());
                each.collect::<Vec<_>>().join("\t")
            }
            Self::Exactly(text) => text.clone(),
            Self::OneOf(words) => words.first().copied().unwrap_or_default().to_owned(),
        }
    }

    /// For a person: "at least 16777216".
    pub fn text(&self) -> String {
        match self {
            Self::AtLeast { least, .. } => format!("at least {least}"),
            Self::AtMost(most) => format!("at most {most}"),
            Self::EachAtLeast(least) => {
                format!("at least {}", least.iter().map(u64::to_string).collect::<Vec<_>>().join(" "))
            }
            Self::Exactly(text) => text.clone(),
            Self::OneOf(words) => words.join(" or "),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_meets_what_is_wanted_or_is_replaced_by_it() {
        let least = Wanted::AtLeast { least: 10, set: 40 };
        assert!(least.is_met_by("10") && !least.is_met_by("9") && !least.is_met_by("n/a"));
        assert_eq!((least.value("9"), Wanted::AtMost(5).value("9")), ("40".to_owned(), "5".to_owned()));
        let each = Wanted::EachAtLeast(vec![1, 20, 3]);
        assert!(each.is_met_by("1\t20\t3") && !each.is_met_by("9 9 9") && !each.is_met_by("1 20"));
        assert_eq!(each.value("9 9 9"), "9\t20\t9");
        assert!(Wanted::OneOf(&["inactive", "unknown"]).is_met_by("unknown"));
    }
}
