//! A file is followed while another process writes it, and after that was killed.
#![allow(clippy::unwrap_used)]

use std::process::Child;

use evforge_core::batch_filler::BatchFiller;
use evforge_core::event::EventBatch;
use evforge_stream::nexus::{EventFollower, FileState};

use evforge_testkit::patience::{wait_for, wait_until};

use crate::common::alone;
use crate::kill::{SPACING, event, frame_of, start_writer};

/// A process that is killed at the latest when it is dropped.
struct Killed(Child);

impl Killed {
    fn end(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Killed {
    fn drop(&mut self) {
        self.end();
    }
}

#[test]
fn events_are_followed_in_their_order_and_a_killed_writer_is_noticed() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("growing.nxs");
    let mut writer = Killed(start_writer(&path, 2, 0));
    // HDF5 opens a file only when all is there with which it begins.
    let mut follower = wait_for("a file", || EventFollower::open(&path).ok());
    let (mut next, mut first_ns) = (0, None);
    let (mut newest, mut unknown) = (0, Vec::new());
    let mut check = |batch: &EventBatch| {
        for (start_ns, frame, _) in batch.by_frame() {
            let Some(start_ns) = start_ns else { continue };
            newest = start_ns;
            // What became known of a pulse after it was there.
            if frame != Some(frame_of(start_ns)) {
                unknown.push(start_ns);
            }
        }
        for found in batch.iter() {
            let first_ns = *first_ns.get_or_insert(found.time_ns);
            assert_eq!(found.time_ns - first_ns, next * SPACING);
            assert_eq!(found.pixel_id, event(next).pixel_id);
            next += 1;
        }
    };
    let mut batch = EventBatch::new(1000);
    let mut is_killed = false;
    wait_until("the end of what was committed", || {
        let mut filler = BatchFiller::new(&mut batch, &mut check);
        while follower.read(10_000, &mut filler) {}
        filler.finish();
        if matches!(follower.look().unwrap(), FileState::Incomplete(_)) && is_killed {
            return true;
        }
        // It grows while it is read: several commits have been seen. Nobody reads what the writer says, which holds it up some time.
        if !is_killed && follower.counters().events_shown > 100_000 {
            writer.end();
            is_killed = true;
        }
        false
    });
    // What came with the last commits.
    let mut filler = BatchFiller::new(&mut batch, &mut check);
    while follower.read(10_000, &mut filler) {}
    filler.finish();
    assert!(unknown.iter().all(|&pulse| pulse == newest), "{unknown:?} of {newest}");
    let counters = follower.counters();
    assert_eq!((counters.events_shown, counters.events_outside_epoch), (next, 0));
    // A kill in the middle of a commit leaves some arrays longer than others: what all of them have was shown.
    let is_torn =
        |fault: &String| fault.contains("read up to pulse") && fault.contains("they must be as many");
    assert!(next > 100_000 && follower.faults().iter().all(is_torn), "{next}: {:?}", follower.faults());
    let FileState::Incomplete(why) = follower.look().unwrap() else { panic!("it is not complete") };
    assert!(why.contains("--recover"), "{why}");
}
