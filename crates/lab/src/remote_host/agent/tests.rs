//! Connections that ask for nothing, and somebody with the token.

use super::*;
use evforge_testkit::patience::{patience, wait_until};
use std::io::BufRead;
use std::sync::Mutex;

/// What an agent says of connections meanwhile.
type Said = Mutex<Vec<String>>;

/// Runs an agent that starts the program `true`, with so long to ask, while `does` does something at its address.
fn with_agent(to_ask: Duration, does: impl FnOnce(SocketAddr, &Said)) {
    /// Ends the agent, also if `does` panics.
    struct Ends<'a>(&'a AtomicBool);
    impl Drop for Ends<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let is_token = |token: &[u8]| token == b"right";
    let here = SocketAddr::from(([127, 0, 0, 1], 0));
    let mut agent = Agent::listen(here, Path::new("true"), folder.path(), &is_token).unwrap();
    agent.to_ask = to_ask;
    let (stop, said) = (AtomicBool::new(false), Said::default());
    std::thread::scope(|scope| {
        let _ends = Ends(&stop);
        scope.spawn(|| agent.serve(&stop, &|line| said.lock().unwrap().push(line.to_owned())));
        does(agent.address(), &said);
    });
    assert_eq!(agent.seats.open(), 0);
}

fn connect(agent: SocketAddr) -> TcpStream {
    let connection = TcpStream::connect(agent).unwrap();
    connection.set_read_timeout(Some(patience())).unwrap();
    connection
}

fn ask(mut connection: &TcpStream, token: &str) {
    let arguments = ["send", "--to", "127.0.0.1:9", "--for", "1s"].map(str::to_owned).into();
    let (evforge, token) = (env!("CARGO_PKG_VERSION").to_owned(), token.to_owned());
    protocol::write(&mut connection, &Request { protocol: PROTOCOL, evforge, token, arguments }).unwrap();
}

/// The last answer before the agent closes the connection.
fn answer(connection: &TcpStream) -> Option<Answer> {
    let lines: Vec<String> = BufReader::new(connection).lines().collect::<Result<_, _>>().ok()?;
    serde_json::from_str(lines.last()?).ok()
}

#[test]
fn six_hundred_idle_connections_keep_nobody_with_the_token_out() {
    with_agent(Duration::MAX, |agent, said| {
        let mut idle: Vec<_> = (0..600).map(|_| connect(agent)).collect();
        // All are of one address. The oldest have gone, and were told why.
        wait_until("the others have gone", || said.lock().unwrap().len() == idle.len() - SEATS.most_of_one);
        assert_eq!(answer(&idle[0]), Some(Answer::Refused(NOT_IN_TIME.to_owned())));
        let client = connect(agent);
        ask(&client, "right");
        let answer = answer(&client);
        assert!(matches!(&answer, Some(Answer::Ended(ended)) if ended.status == Some(0)), "{answer:?}");
        // Whoever has a wrong token has no seat either.
        let wrong = connect(agent);
        ask(&wrong, "wrong");
        let answer = self::answer(&wrong);
        assert!(matches!(&answer, Some(Answer::Refused(why)) if why.contains("token")), "{answer:?}");
        idle.clear();
    });
}

#[test]
fn who_asks_for_nothing_in_time_is_told_and_closed() {
    with_agent(Duration::ZERO, |agent, said| {
        let silent = connect(agent);
        assert_eq!(answer(&silent), Some(Answer::Refused(NOT_IN_TIME.to_owned())));
        wait_until("it is said", || said.lock().unwrap().iter().any(|line| line.contains(NOT_IN_TIME)));
    });
}
