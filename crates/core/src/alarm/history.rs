//! Alarms over time: which begin, which change, which are over.

use super::kind::{Alarm, without_numbers};
use std::time::Duration;

/// Alarms that are over and kept with their times, together with those that last.
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

/// The alarms of a run from its start.
#[derive(Clone, Debug, Default)]
pub struct AlarmHistory {
    /// Those that last, whatever their number, and the first ones that are over.
    records: Vec<AlarmRecord>,
    not_kept: u64,
}

impl AlarmHistory {
    /// Takes the alarms at the time `now` on the clock of the run, `unix_ns` nanoseconds after 1970.
    pub fn observe(&mut self, now: Duration, unix_ns: u64, alarms: Vec<Alarm>) -> Vec<Turn> {
        let mut turns = Vec::new();
        for record in self.records.iter_mut().filter(|record| record.lasted.is_none()) {
            if !alarms.iter().any(|alarm| alarm.is_same(&record.alarm)) {
                let lasted = now.saturating_sub(record.began);
                record.lasted = Some(lasted);
                turns.push(Turn::Over(record.alarm.clone(), lasted));
            }
        }
        while self.records.len() > MOST
            && let Some(over) = self.records.iter().rposition(|record| record.lasted.is_some())
        {
            self.records.remove(over);
            self.not_kept += 1;
        }
        for alarm in alarms {
            let mut lasting = self.records.iter_mut().filter(|record| record.lasted.is_none());
            match lasting.find(|record| record.alarm.is_same(&alarm)) {
                Some(record) => {
                    if without_numbers(&record.alarm.text) != without_numbers(&alarm.text) {
                        turns.push(Turn::Changed(alarm.clone()));
                    }
                    record.alarm = alarm;
                }
                None => {
                    turns.push(Turn::Begun(alarm.clone()));
                    let record = AlarmRecord { alarm, began_unix_ns: unix_ns, began: now, lasted: None };
                    self.records.push(record);
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
