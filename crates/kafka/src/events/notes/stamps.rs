//! Time stamps of choppers: the newest of each, and how many there are in a second.

use super::outcome::NotNoted;
use super::values::Values;
use std::collections::BTreeMap;

/// Time stamps of a chopper that are kept.
const KEPT: usize = 16;

/// The newest time stamps by name: there are no more than values.
#[derive(Clone, Debug, Default)]
pub(super) struct Stamps {
    newest: BTreeMap<String, Vec<u64>>,
}

impl Stamps {
    pub(super) fn get(&self, name: &str) -> &[u64] {
        self.newest.get(name).map_or(&[], Vec::as_slice)
    }

    /// Takes time stamps, in any order; those after `latest` are none. Gives the rate in Hz, if it is known, and the newest.
    pub(super) fn take(
        &mut self,
        name: &str,
        times: impl Iterator<Item = u64>,
        latest: u64,
        values: &Values,
    ) -> Result<(Option<f64>, u64), NotNoted> {
        if !values.has_room(name) {
            return Err(NotNoted::TooManyNames);
        }
        let mut all = self.get(name).to_vec();
        let before = all.len();
        for time in times.filter(|&time| time > 0 && time <= latest) {
            all.push(time);
            // However many come, no more than a few are kept.
            if all.len() >= 64 * KEPT {
                keep_newest(&mut all);
            }
        }
        if all.len() == before {
            return Err(NotNoted::NoNumber);
        }
        keep_newest(&mut all);
        let (first, last) = (all[0], all[all.len() - 1]);
        let seconds = (last - first) as f64 / 1e9;
        let rate = (all.len() > 1).then(|| (all.len() - 1) as f64 / seconds).filter(|rate| rate.is_finite());
        self.newest.insert(name.to_owned(), all);
        Ok((rate, last))
    }
}

/// Sorts, leaves out what is there twice, and keeps the newest.
fn keep_newest(times: &mut Vec<u64>) {
    times.sort_unstable();
    times.dedup();
    times.drain(..times.len().saturating_sub(KEPT));
}
