//! What is asked of the history.

/// Most series in a question.
pub(crate) const MOST_SERIES: usize = 16;
/// How many points a series may have in an answer, and has if nothing else is said.
pub(crate) const POINTS: std::ops::RangeInclusive<u64> = 2..=4000;
const USUAL_POINTS: u64 = 600;
/// How far back a question goes if nothing else is said, in milliseconds.
const USUAL_BACK: i64 = -600_000;

/// A question, as it was put.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) series: Vec<String>,
    from: i64,
    to: Option<i64>,
    pub(super) points: u64,
}

impl Asked {
    /// Reads what is behind the `?`.
    ///
    /// # Errors
    /// With a sentence about the first parameter that is wrong.
    pub(super) fn read(query: &str) -> Result<Self, String> {
        let mut asked = Self { series: Vec::new(), from: USUAL_BACK, to: None, points: USUAL_POINTS };
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            match &*name {
                "series" if asked.series.len() == MOST_SERIES => {
                    return Err(format!("series: there may be at most {MOST_SERIES} in one question"));
                }
                "series" => asked.series.push(value.into_owned()),
                "from" => asked.from = time("from", &value)?,
                "to" => asked.to = Some(time("to", &value)?),
                "points" => {
                    let points = value.parse().ok().filter(|points| POINTS.contains(points));
                    asked.points = points.ok_or_else(|| {
                        let (least, most) = (POINTS.start(), POINTS.end());
                        format!("points is {value:?}; it must be a whole number from {least} to {most}")
                    })?;
                }
                // The router has refused others.
                _ => {}
            }
        }
        if asked.series.is_empty() {
            return Err("series is missing: name one or more of /api/series.json, as in \
                        series=evforge_run_events_total"
                .into());
        }
        Ok(asked)
    }

    /// From when to when, in milliseconds since the Unix epoch, if the newest that is kept ends at `now`.
    ///
    /// # Errors
    /// With a sentence, if the one is not before the other.
    pub(super) fn span(&self, now: u64) -> Result<(u64, u64), String> {
        let now = i64::try_from(now).unwrap_or(i64::MAX);
        let since = |zero: i64, time: i64| if time < 0 { zero.saturating_add(time).max(0) } else { time };
        let to = self.to.map_or(now, |to| since(now, to));
        let from = since(to, self.from);
        if from >= to {
            return Err(format!("from is {from} and to is {to}: the one must be before the other"));
        }
        Ok((from.unsigned_abs(), to.unsigned_abs()))
    }
}

fn time(name: &str, value: &str) -> Result<i64, String> {
    value.parse().map_err(|_| {
        format!(
            "{name} is {value:?}; it must be a whole number: milliseconds since the Unix epoch, or, with a minus sign, \
             milliseconds before {}",
            if name == "from" { "`to`" } else { "now" }
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_epoch_or_before_the_end() {
        let span =
            |query: &str| Asked::read(&format!("series=a&{query}")).and_then(|asked| asked.span(1_000_000));
        assert_eq!(span(""), Ok((400_000, 1_000_000)));
        assert_eq!(span("from=-5000&to=-1000"), Ok((994_000, 999_000)));
        assert_eq!(span("from=5&to=17"), Ok((5, 17)));
        assert_eq!(span("from=-99999999999"), Ok((0, 1_000_000)));
        assert_eq!(
            span("from=-9223372036854775808&to=-9223372036854775808"),
            Err("from is 0 and to is 0: the one must be before the other".into())
        );
        assert!(span("from=17&to=5").is_err());
    }

    #[test]
    fn what_makes_no_sense_is_refused_in_words() {
        let refused = |query: &str| Asked::read(query).unwrap_err();
        assert!(refused("points=7").starts_with("series is missing"));
        assert_eq!(refused("series=a&points=1"), "points is \"1\"; it must be a whole number from 2 to 4000");
        assert!(refused("series=a&points=4001").contains("2 to 4000"));
        assert!(
            refused("series=a&from=yesterday")
                .starts_with("from is \"yesterday\"; it must be a whole number")
        );
        assert!(refused("series=a&to=1.5").starts_with("to is \"1.5\""));
        let many = ["series=a"; MOST_SERIES + 1].join("&");
        assert!(refused(&many).contains("at most 16"));
        let asked = Asked::read("series=a%7Bb%3D%22c%20d%22%7D&series=e&points=2").unwrap();
        assert_eq!((asked.series, asked.points), (vec!["a{b=\"c d\"}".to_owned(), "e".to_owned()], 2));
    }
}
