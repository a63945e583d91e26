//! The messages of topics into events and values for the page, without brokers.

use crate::topic_messages::messages;
use evforge_core::batch_filler::BatchFiller;
use evforge_core::beam_monitor::{BeamMonitorKind, BeamMonitorPlan};
use evforge_core::counter::{CounterSet, Law};
use evforge_core::event::EventBatch;
use evforge_kafka::events::{EventTopics, MonitorPixels, TopicRole};

/// Names that are noted of values at most, and of each other kind.
const MOST_NAMES: usize = 256;

fn monitors() -> MonitorPixels {
    let plan = |name: &str, first_pixel, nx| BeamMonitorPlan {
        name: name.to_owned(),
        kind: BeamMonitorKind::Event0D,
        first_pixel,
        nx,
        ny: 1,
        histogram: Default::default(),
        alongside: true,
    };
    MonitorPixels::new([&plan("cave", 101, 1), &plan("flat", 102, 12)], Some(200))
}

/// Takes the messages in `bytes`. What a message's topic is read for is in its bits 6 and 7.
///
/// # Panics
/// If something is unaccounted for after any message, or if more names are noted than may be.
pub fn kafka_events(bytes: &[u8]) {
    let mut topics = EventTopics::of(monitors());
    let mut shown = 0;
    let mut hand_on = |batch: &EventBatch| shown += batch.len() as u64;
    let mut batch = EventBatch::new(4);
    let mut filler = BatchFiller::new(&mut batch, &mut hand_on);
    let mut read = 0;
    for message in messages(bytes) {
        const ROLES: [TopicRole; 4] =
            [TopicRole::Events, TopicRole::Monitors, TopicRole::Logs, TopicRole::Ledgers];
        topics.take((message.also.into(), ROLES[usize::from(message.also)]), &message.record, &mut filler);
        read += 1;
        let counters = topics.counters();
        assert_eq!(
            (counters.imbalance(Law::Packets), counters.imbalance(Law::Events)),
            (0, 0),
            "{counters:?}"
        );
        assert_eq!(counters.messages_read, read);
    }
    filler.finish();
    let counters = topics.counters();
    assert_eq!(counters.events_shown, shown);
    assert_eq!(counters.messages_refused > 0, topics.first_refused().is_some());
    assert!(topics.sources().iter().all(|source| source.packets.imbalance() == 0));
    let notes = topics.notes();
    assert!(notes.values().count() <= MOST_NAMES && notes.runs().count() <= MOST_NAMES);
    assert!(notes.pulses().count() <= 16 && notes.spectra().count() <= 32);
    let _ = topics.frames();
    let names: Vec<String> = topics.notes().values().map(|(name, _)| name.to_owned()).collect();
    let notes = topics.notes_mut();
    let _ = notes.take_charge();
    for name in &names {
        let _ = (notes.get(name), notes.stamps(name).len(), notes.take_spread(name));
    }
}
