//! The shelf in every order of who shows trains and of two clients.

use super::*;
use loom::thread;

/// Nothing in a model waits for so long: it is told.
const LONG: Duration = Duration::from_secs(1);

/// A client is woken by each train and by the end, and knows how many it has missed.
#[test]
fn clients_are_told_of_trains_and_of_the_end() {
    loom::model(|| {
        let shelf = Arc::new(Shelf::new(1));
        let clients: Vec<_> = (0..2)
            .map(|_| {
                let shelf = Arc::clone(&shelf);
                thread::spawn(move || {
                    let (mut next, mut seen) = (Some(0), 0);
                    loop {
                        match shelf.take(&mut next, LONG) {
                            Taken::Train(_, skipped) => seen += 1 + skipped,
                            Taken::Nothing => panic!("woken for nothing"),
                            Taken::End => return (next, seen),
                        }
                    }
                })
            })
            .collect();
        shelf.show(Message::default());
        shelf.show(Message::default());
        shelf.end();
        for client in clients {
            let (next, seen) = client.join().unwrap();
            assert_eq!(next, Some(seen));
            assert!(seen <= 2);
        }
    });
}
