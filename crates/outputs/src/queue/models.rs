//! The queue in every order of its threads: who forms events, who serves the output, and who looks.

use super::*;
use evforge_core::event::{Event, EventBatch};
use evforge_core::pulse::PulseTrain;
use evforge_core::pulsed::{CalendarRule, PulseStage, PulseStageSettings};
use loom::thread;

/// Nothing in a model waits for so long: it is told.
const LONG: Duration = Duration::from_secs(1);
static GOES_ON: AtomicBool = AtomicBool::new(false);

/// A batch with one event.
fn batch() -> Arc<PulsedBatch> {
    batch_of(1)
}

fn batch_of(count: usize) -> Arc<PulsedBatch> {
    let mut events = EventBatch::new(count);
    for _ in 0..count {
        assert!(events.push(Event { time_ns: 7, pixel_id: 1 }));
    }
    let mut batches = Vec::new();
    let settings = PulseStageSettings::new(PulseTrain::ess(), CalendarRule::Readout);
    PulseStage::new(settings).hand_on(&events, None, &mut |batch| batches.push(Arc::new(batch)));
    batches.remove(0)
}

/// With room for one event.
fn queue() -> Arc<Queue> {
    queue_for(1)
}

fn queue_for(events: u64) -> Arc<Queue> {
    let settings = QueueSettings { events, ..QueueSettings::COMPLETE };
    Arc::new(Queue::new("model".to_owned(), "model".to_owned(), CounterSnapshot::default(), settings))
}

fn is_balanced(queue: &Queue) {
    let about = queue.about();
    assert_eq!(CounterSnapshot::of(&about.counters).unaccounted(), 0, "{:?}", about.counters);
}

fn events_of(batches: &[Arc<PulsedBatch>]) -> u64 {
    batches.iter().map(|batch| batch.len() as u64).sum()
}

/// Serves an output that takes everything, until the end: what it took.
fn serve(queue: &Queue) -> Vec<Arc<PulsedBatch>> {
    let mut taken = Vec::new();
    loop {
        match queue.next() {
            Work::Batch(batch) => {
                taken.push(batch);
                let committed = events_of(&taken);
                queue.taken(
                    OutputProgress { committed, ..OutputProgress::default() },
                    CounterSnapshot::default(),
                    None,
                );
                is_balanced(queue);
            }
            Work::End(_) => {
                queue.is_over(None, None);
                return taken;
            }
            Work::Nothing => queue.wait(LONG),
        }
    }
}

/// Who waits for room is told when there is some, and who waits for work when there is some: nothing is lost, nothing out of order.
#[test]
fn everything_comes_in_order_where_forming_waits() {
    let batches = [batch(), batch()];
    loom::model(move || {
        let queue = queue();
        let serving = Arc::clone(&queue);
        let serves = thread::spawn(move || serve(&serving));
        for batch in &batches {
            assert!(queue.offer(batch, WhenFull::Wait, &GOES_ON));
        }
        queue.end(End::Abandon);
        let taken = serves.join().unwrap();
        assert!(taken.iter().zip(&batches).all(|(taken, offered)| Arc::ptr_eq(taken, offered)));
        let counters = queue.about().counters;
        assert_eq!((taken.len(), counters.offered, counters.accepted), (2, 2, 2));
        is_balanced(&queue);
    });
}

/// The batch at hand is never dropped under the output that is taking it, and whatever is dropped is counted.
#[test]
fn the_oldest_is_dropped_but_for_the_one_at_hand() {
    // Each has another number of events, so that none is counted for another one.
    let batches = [batch_of(1), batch_of(2), batch_of(3)];
    loom::model(move || {
        // There may be one at hand and another one behind it.
        let queue = queue_for(3);
        let serving = Arc::clone(&queue);
        let serves = thread::spawn(move || serve(&serving));
        for batch in &batches {
            assert!(queue.offer(batch, WhenFull::DropOldest, &GOES_ON));
        }
        queue.end(End::Abandon);
        let taken = serves.join().unwrap();
        let counters = queue.about().counters;
        assert_eq!((counters.accepted, counters.accepted + counters.dropped), (events_of(&taken), 6));
        let mut rest = batches.iter();
        assert!(taken.iter().all(|taken| rest.any(|offered| Arc::ptr_eq(taken, offered))), "not in order");
    });
}

/// Who waits for room in the queue of an output that fails does not wait for ever.
#[test]
fn an_output_that_fails_lets_forming_go_on() {
    let batches = [batch(), batch()];
    loom::model(move || {
        let queue = queue();
        let failing = Arc::clone(&queue);
        let fails = thread::spawn(move || failing.is_over(Some("it is gone".to_owned()), None));
        for batch in &batches {
            assert!(queue.offer(batch, WhenFull::Wait, &GOES_ON));
        }
        fails.join().unwrap();
        assert_eq!(queue.about().counters.missed, 2);
        is_balanced(&queue);
    });
}
