//! The objects of bodies: what somebody wants.

use crate::control::refused::Refused;
use crate::json_object::json_object;
use evforge_control::{WantedChange, WantedRun, WantedTime};
use evforge_core::change::ChangeTime;
use serde::Deserialize;
use std::time::Duration;

json_object! {
    /// Changes that somebody wants, one after the other. One that is refused changes nothing, and the others hold all the same.
    #[derive(Clone, Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub(crate) struct ChangesWanted {
        /// Each of them.
        pub(crate) changes: Vec<ChangeWanted>,
    }
}

json_object! {
    /// A change that somebody wants. Without a time it holds from the earliest time on that is possible.
    #[derive(Clone, Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub(crate) struct ChangeWanted {
        /// The key of the parameter, with its section; `detector` stands for the section.
        pub(crate) key: String,
        /// The value.
        pub(crate) value: u64,
        /// From this time on: nanoseconds on the clock of the events.
        #[serde(default)]
        pub(crate) at_ns: Option<u64>,
        /// Only with `at_ns`: on the clock as it runs after that many restarts; without it, as it runs now.
        #[serde(default)]
        pub(crate) restarts: Option<u32>,
        /// From this many nanoseconds after the earliest time on that is possible; without `at_ns`.
        #[serde(default)]
        pub(crate) after_ns: Option<u64>,
    }
}

impl ChangesWanted {
    pub(crate) fn wanted(self) -> Result<Vec<WantedChange>, Refused> {
        self.changes.into_iter().map(ChangeWanted::wanted).collect()
    }
}

impl ChangeWanted {
    fn wanted(self) -> Result<WantedChange, Refused> {
        let Self { key, value, at_ns, restarts, after_ns } = self;
        let at = match (at_ns, restarts, after_ns) {
            (None, None, None) => WantedTime::Earliest,
            (None, None, Some(later)) => WantedTime::After(later),
            (Some(time), None, None) => WantedTime::At(time),
            (Some(time_ns), Some(restarts), None) => WantedTime::Exactly(ChangeTime { restarts, time_ns }),
            _ => {
                let message = format!("the times of the change of {key} contradict each other");
                let remedy = "give none of them, or at_ns, or at_ns and restarts, or after_ns";
                return Err(Refused::invalid(message, remedy));
            }
        };
        Ok(WantedChange { key, value, at })
    }
}

json_object! {
    /// Whether something is to be on.
    #[derive(Clone, Copy, Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub(crate) struct SwitchWanted {
        /// True if it is to be.
        pub(crate) on: bool,
    }
}

json_object! {
    /// A run that somebody wants. What is left out is as the configuration has it.
    #[derive(Clone, Debug, Default, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub(crate) struct RunWanted {
        /// Its title.
        #[serde(default)]
        pub(crate) title: Option<String>,
        /// Its number.
        #[serde(default)]
        pub(crate) number: Option<u64>,
        /// The experiment that it belongs to.
        #[serde(default)]
        pub(crate) experiment: Option<String>,
        /// Whose it is.
        #[serde(default)]
        pub(crate) user: Option<String>,
        /// What is measured.
        #[serde(default)]
        pub(crate) sample: Option<String>,
        /// After how many seconds it ends by itself.
        #[serde(default)]
        pub(crate) duration_s: Option<f64>,
        /// Values of the configuration that hold for this run only: `KEY=VALUE`, as `--set` takes them.
        #[serde(default)]
        pub(crate) set: Vec<String>,
    }
}

impl RunWanted {
    pub(crate) fn wanted(self) -> Result<WantedRun, Refused> {
        let Self { title, number, experiment, user, sample, duration_s, set } = self;
        let duration = duration_s.map(|seconds| {
            let duration = Duration::try_from_secs_f64(seconds).ok().filter(|duration| !duration.is_zero());
            let message = || format!("a run cannot last {seconds} s");
            duration.ok_or_else(|| Refused::invalid(message(), "give a number of seconds above 0"))
        });
        let pair = |assignment: String| match assignment.split_once('=') {
            Some((key, value)) => Ok((key.trim().to_owned(), value.trim().to_owned())),
            None => {
                let message = format!("{assignment:?} is no KEY=VALUE");
                Err(Refused::invalid(
                    message,
                    "write each of `set` as --set has it: gdgem.sorting.window=1ms",
                ))
            }
        };
        let overrides = set.into_iter().map(pair).collect::<Result<_, _>>()?;
        Ok(WantedRun { title, number, experiment, user, sample, duration: duration.transpose()?, overrides })
    }
}

json_object! {
    /// What a group of messages is to say.
    #[derive(Clone, Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub(crate) struct LevelWanted {
        /// The least severe messages of it that are said: `error`, `warn`, `info`, `debug`, `trace`, or `off` for none.
        pub(crate) level: String,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Pieces of bodies, good and bad.
    fn piece() -> impl Strategy<Value = String> {
        prop_oneof![
            Just("{\"changes\":[".to_owned()),
            Just("{\"key\":\"a\",\"value\":".to_owned()),
            Just("\"at_ns\":".to_owned()),
            Just("\"duration_s\":".to_owned()),
            Just("\"set\":[\"a=b\"".to_owned()),
            Just("]}".to_owned()),
            Just(",".to_owned()),
            any::<f64>().prop_map(|number| number.to_string()),
            any::<u64>().prop_map(|number| number.to_string()),
            ".{0,8}",
        ]
    }

    proptest! {
        /// Whatever comes is read or refused.
        #[test]
        fn no_body_does_harm(pieces in prop::collection::vec(piece(), 0..12)) {
            let text = pieces.concat();
            if let Ok(wanted) = serde_json::from_str::<ChangesWanted>(&text) {
                let count = wanted.changes.len();
                prop_assert!(wanted.wanted().map_or(true, |changes| changes.len() == count));
            }
            if let Ok(wanted) = serde_json::from_str::<RunWanted>(&text) {
                let _ = wanted.wanted();
            }
            let _ = serde_json::from_str::<SwitchWanted>(&text);
            let _ = serde_json::from_str::<LevelWanted>(&text);
        }

        #[test]
        fn a_run_lasts_for_a_time_that_there_is(seconds in any::<f64>()) {
            let wanted = RunWanted { duration_s: Some(seconds), ..RunWanted::default() }.wanted();
            prop_assert!(seconds > 0.0 || wanted.is_err());
        }
    }

    #[test]
    fn times_that_contradict_each_other_are_refused() {
        let change = |at_ns, restarts, after_ns| {
            ChangeWanted { key: "a".into(), value: 1, at_ns, restarts, after_ns }
                .wanted()
                .map(|wanted| wanted.at)
        };
        assert_eq!(change(None, None, None).unwrap(), WantedTime::Earliest);
        assert_eq!(change(None, None, Some(5)).unwrap(), WantedTime::After(5));
        assert_eq!(change(Some(7), None, None).unwrap(), WantedTime::At(7));
        let exactly = WantedTime::Exactly(ChangeTime { restarts: 2, time_ns: 7 });
        assert_eq!(change(Some(7), Some(2), None).unwrap(), exactly);
        for (at, restarts, after) in
            [(Some(1), None, Some(1)), (None, Some(1), None), (None, Some(1), Some(1))]
        {
            assert_eq!(change(at, restarts, after).unwrap_err().code, "invalid");
        }
    }
}
