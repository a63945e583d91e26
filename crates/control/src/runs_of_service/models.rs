//! The runs of a service in every order of who asks, the loop of the service, and the signal that ends it.

use super::*;
use loom::thread;

/// The loop of a service: what `evforge serve` does, without a run.
fn serve(runs: &Runs<u32>, stop: &AtomicBool, end: &AtomicBool) {
    // Who looks again and again sees the newest value some time: in a model, by an exchange.
    let wait = || {
        while !stop.fetch_or(false, Ordering::Relaxed) {
            thread::yield_now();
        }
    };
    while !end.load(Ordering::Relaxed) {
        let Some(number) = runs.take_next() else {
            wait();
            continue;
        };
        let run = RunStarted { number: Some(number.into()), ..RunStarted::default() };
        runs.has_begun(run.clone());
        wait();
        runs.has_ended(RunEnded { run, ..RunEnded::default() });
    }
    runs.close();
}

fn service() -> (Runs<u32>, thread::JoinHandle<()>) {
    let (stop, end) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let prepare = |_: &WantedRun, number: u32| Ok(number);
    let runs = Runs::new(Box::new(prepare), Arc::clone(&stop), Arc::clone(&end), 0);
    let looping = runs.clone();
    (runs, thread::spawn(move || serve(&looping, &stop, &end)))
}

/// A run starts, stops and the service ends, each when it is asked to, and who asks is told of its own run.
#[test]
fn a_run_is_started_and_stopped() {
    loom::model(|| {
        let (runs, service) = service();
        assert_eq!(runs.start(WantedRun::default()).unwrap().number, Some(1));
        assert_eq!(runs.stop().unwrap().run.number, Some(1));
        runs.shut_down();
        service.join().unwrap();
    });
}

/// The end of the service, by a signal at any moment, is neither forgotten nor does anybody wait for ever.
#[test]
fn the_end_comes_whatever_is_asked_for() {
    loom::model(|| {
        let (runs, service) = service();
        let ending = runs.clone();
        let ends = thread::spawn(move || ending.shut_down());
        match runs.start(WantedRun::default()) {
            Ok(run) => assert_eq!(run.number, Some(1)),
            Err(refusal) => assert!(matches!(refusal, Refusal::Ended), "{refusal:?}"),
        }
        ends.join().unwrap();
        service.join().unwrap();
    });
}
