//! The queue of messages in every order of who says something, the thread that sends, and who waits for the end.

use super::*;
use crate::{Group, Severity};
use loom::thread;

/// Nothing in a model waits for so long: it is told.
const LONG: Duration = Duration::from_secs(1);

/// All that was taken is sent before the end is over, and who waits for it is told.
#[test]
fn the_end_waits_for_what_is_being_sent() {
    let records: Vec<Arc<Record>> =
        ["one", "two"].map(|text| Arc::new(Record::new(Severity::Warning, Group::ALL[0], text))).to_vec();
    loom::model(move || {
        let waiting = Arc::new(Waiting::new(8));
        let taking = Arc::clone(&waiting);
        let sends = thread::spawn(move || {
            let mut sent = 0;
            loop {
                match taking.next(LONG) {
                    Next::Send(_) => sent += 1,
                    Next::Nothing => {}
                    Next::End => {
                        taking.leave();
                        return sent;
                    }
                }
            }
        });
        for record in &records {
            assert!(waiting.offer(Arc::clone(record)));
        }
        assert_eq!(waiting.end(LONG), 0);
        assert!(!waiting.offer(Arc::clone(&records[0])), "nothing is taken any more");
        assert_eq!((sends.join().unwrap(), waiting.take_dropped()), (2, 1));
    });
}

/// Where nobody sends any more the end does not wait.
#[test]
fn the_end_does_not_wait_for_one_who_has_left() {
    let record = Arc::new(Record::new(Severity::Warning, Group::ALL[0], "one"));
    loom::model(move || {
        let waiting = Arc::new(Waiting::new(8));
        let leaving = Arc::clone(&waiting);
        let leaves = thread::spawn(move || leaving.leave());
        assert!(waiting.offer(Arc::clone(&record)));
        assert_eq!(waiting.end(LONG), 1);
        leaves.join().unwrap();
    });
}
