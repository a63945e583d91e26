//! Alarms over time: which begin, which change, which are over.

use super::kind::{Alarm, without_numbers};
use std::time::Duration;

/// Alarms of a run that are kept with their times.
const MOST: usize = 256;

/// What has become of an alarm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Turn {
    /// It was not there before.
    Begun(Alarm),
    /// It is there still, and its sentence has other words.
    Changed(Alarm),
    /// It is over, after this time; the alarm as it was last.
    Over(Alarm, Duration),
}

/// An alarm of a run with its times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlarmRecord {
    /// The alarm as it was last.
    pub alarm: Alarm,
    /// When it began, in nanoseconds since 1970.
    pub began_unix_ns: u64,
    /// The same on the clock of the run.
    pub began: Duration,
    /// How long it lasted; none while it does.
    pub lasted: Option<Duration>,
}

#[derive(Clone, Debug)]
struct Raised {
    alarm: Alarm,
    begun: Duration,
    /// Its place among the records; none if there was no room.
    record: Option<usize>,
}

/// The alarms of a run from its start.
#[derive(Clone, Debug, Default)]
pub struct AlarmHistory {
    raised: Vec<Raised>,
    records: Vec<AlarmRecord>,
    not_kept: u64,
}

impl AlarmHistory {
    /// Takes the alarms at the time `now` on the clock of the run, `unix_ns` nanoseconds after 1970.
    pub fn observe(&mut self, now: Duration, unix_ns: u64, alarms: Vec<Alarm>) -> Vec<Turn> {
        let mut turns = Vec::new();
        self.raised.retain(|raised| {
            let lasts = alarms.iter().any(|alarm| alarm.is_same(&raised.alarm));
            if !lasts {
                let lasted = now.saturating_sub(raised.begun);
                if let Some(record) = raised.record.and_then(|place| self.records.get_mut(place)) {
                    record.lasted = Some(lasted);
                }
                turns.push(Turn::Over(raised.alarm.clone(), lasted));
            }
            lasts
        });
        for alarm in alarms {
            match self.raised.iter_mut().find(|raised| raised.alarm.is_same(&alarm)) {
                Some(raised) => {
                    if without_numbers(&raised.alarm.text) != without_numbers(&alarm.text) {
                        turns.push(Turn::Changed(alarm.clone()));
                    }
                    if let Some(record) = raised.record.and_then(|place| self.records.get_mut(place)) {
                        record.alarm = alarm.clone();
                    }
                    raised.alarm = alarm;
                }
                None => {
                    turns.push(Turn::Begun(alarm.clone()));
                    let record = (self.records.len() < MOST).then_some(self.records.len());
                    match record {
                        Some(_) => {
                            let alarm = alarm.clone();
                            self.records.push(AlarmRecord {
                                alarm,
                                began_unix_ns: unix_ns,
                                began: now,
                                lasted: None,
                            });
                        }
                        None => self.not_kept += 1,
                    }
                    self.raised.push(Raised { alarm, begun: now, record });
                }
            }
        }
        turns
    }

    /// The alarms so far, in the order in which they began.
    pub fn records(&self) -> &[AlarmRecord] {
        &self.records
    }

    /// Further ones, for which there was no room.
    pub fn not_kept(&self) -> u64 {
        self.not_kept
    }
}
