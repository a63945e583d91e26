//! Both ends of a ring over memory of a test: what the kernel does at its end is what the other kind of ring does at ours.

use super::*;
use std::sync::Arc;

/// A ring of memory that no kernel shares.
#[derive(Debug)]
struct Words<const SIZE: usize> {
    producer: AtomicU32,
    consumer: AtomicU32,
    flags: AtomicU32,
    entries: [RingEntry<u32>; SIZE],
}

// SAFETY: entries are reached by the ring alone, whose sides take turns at each.
unsafe impl<const SIZE: usize> Sync for Words<SIZE> {}

/// Both ends of a ring of so many entries, whose positions begin at `start`.
fn ring<const SIZE: usize>(start: u32) -> (ProducerRing<u32>, ConsumerRing<u32>) {
    let words = Arc::new(Words::<SIZE> {
        producer: AtomicU32::new(start),
        consumer: AtomicU32::new(start),
        flags: AtomicU32::new(0),
        entries: std::array::from_fn(|_| RingEntry::new(0)),
    });
    let shared = || Shared {
        producer: NonNull::from(&words.producer),
        consumer: NonNull::from(&words.consumer),
        flags: NonNull::from(&words.flags),
        // All of them, and not the first alone.
        entries: NonNull::from(&words.entries).cast(),
        mask: SIZE as u32 - 1,
        _memory: Box::new(Arc::clone(&words)),
    };
    (ProducerRing::of(shared()), ConsumerRing::of(shared()))
}

/// Puts `count` entries in, numbered on from 1, as soon as there is room.
fn fill(mut producer: ProducerRing<u32>, count: u32, wait: impl Fn()) {
    for entry in 1..=count {
        while !producer.push(entry) {
            wait();
        }
        producer.publish();
    }
}

/// Takes `count` entries out: they must be those, in order.
fn empty(mut consumer: ConsumerRing<u32>, count: u32, wait: impl Fn()) {
    let mut expected = 1;
    while expected <= count {
        let available = consumer.available();
        if available == 0 {
            wait();
            continue;
        }
        for ahead in 0..available {
            assert_eq!(consumer.peek(ahead), Some(expected));
            expected += 1;
        }
        assert_eq!(consumer.peek(available), None);
        consumer.advance(available);
        consumer.release();
    }
}

#[cfg(not(loom))]
mod threads {
    use super::*;

    #[test]
    fn entries_come_in_order_over_the_end_of_the_ring_and_of_the_positions() {
        let count = if cfg!(miri) { 40 } else { 100_000 };
        // The positions wrap in the middle.
        let (producer, consumer) = ring::<4>(u32::MAX - count / 2);
        std::thread::scope(|scope| {
            scope.spawn(|| fill(producer, count, std::thread::yield_now));
            empty(consumer, count, std::thread::yield_now);
        });
    }

    #[test]
    fn a_full_ring_takes_nothing_until_there_is_room() {
        let (mut producer, mut consumer) = ring::<2>(u32::MAX);
        assert!(producer.push(1) && producer.push(2) && !producer.push(3));
        assert_eq!((consumer.available(), consumer.peek(0)), (0, None));
        producer.publish();
        assert_eq!(
            (consumer.available(), consumer.peek(0), consumer.peek(1), consumer.peek(2)),
            (2, Some(1), Some(2), None)
        );
        consumer.advance(1);
        assert!(!producer.push(3), "it was not given back yet");
        consumer.release();
        assert!(producer.push(3));
        assert_eq!(producer.waiting(), 2);
        assert!(!producer.needs_wakeup());
    }
}

#[cfg(loom)]
mod models {
    use super::*;

    /// Every entry comes once, whole and in order, and nobody touches an entry that is the other side's.
    #[test]
    fn entries_come_whole_and_in_order() {
        loom::model(|| {
            let (producer, consumer) = ring::<2>(u32::MAX - 1);
            let fills = loom::thread::spawn(move || fill(producer, 3, loom::thread::yield_now));
            empty(consumer, 3, loom::thread::yield_now);
            fills.join().unwrap();
        });
    }
}
