//! Until when an answer of the brokers is waited for: a time, or that nobody wants it any more.

use super::{Cause, ClientError};
use rdkafka::error::KafkaError;
use rdkafka::types::RDKafkaErrorCode as Code;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

/// How long an answer is waited for at first, and at most, before it is asked again. The library gives a request up when its time is
/// over, and closes the connection: three answers (of the connection, of the topic, the one asked for) must fit into the longest.
const FIRST: Duration = Duration::from_millis(150);
const LONGEST: Duration = Duration::from_secs(4);
/// How long brokers may take for an answer, and for all answers that are needed before something begins.
const AN_ANSWER: Duration = Duration::from_secs(10);
const ALL_ANSWERS: Duration = Duration::from_secs(30);
/// How often it is looked whether the answer is still wanted.
const LOOK: Duration = Duration::from_millis(100);

/// A time until which an answer is waited for, unless somebody asks for the end before it.
#[derive(Clone, Debug)]
pub struct Deadline {
    at: Instant,
    stop: Option<Arc<AtomicBool>>,
}

impl From<Duration> for Deadline {
    /// From now on, this long.
    fn from(within: Duration) -> Self {
        Self { at: Instant::now() + within, stop: None }
    }
}

impl Deadline {
    /// Half a minute: for all that is asked of brokers before something begins. A single answer has less of it:
    /// [`Deadline::of_an_answer`].
    pub fn of_opening() -> Self {
        Self::from(ALL_ANSWERS)
    }

    /// The same, and ten seconds from now on at most.
    #[must_use]
    pub fn of_an_answer(&self) -> Self {
        self.at_most(AN_ANSWER)
    }

    /// Half a minute from now on, for somebody who may be asked to end by the same flag.
    #[must_use]
    pub fn renewed(&self) -> Self {
        Self { at: Instant::now() + ALL_ANSWERS, stop: self.stop.clone() }
    }

    /// The wait ends when this is set, too.
    #[must_use]
    pub fn or_when(self, stop: &Arc<AtomicBool>) -> Self {
        Self { stop: Some(Arc::clone(stop)), ..self }
    }

    /// The same, and at most this long from now on.
    #[must_use]
    pub fn at_most(&self, within: Duration) -> Self {
        Self { at: self.at.min(Instant::now() + within), stop: self.stop.clone() }
    }

    /// What is left of it.
    pub fn left(&self) -> Duration {
        self.at.saturating_duration_since(Instant::now())
    }

    /// Whether its time is over. That nobody waits any more is an error: [`Deadline::check`].
    pub fn is_over(&self) -> bool {
        self.left().is_zero()
    }

    /// Goes on as long as the answer is wanted.
    ///
    /// # Errors
    /// With [`Cause::AskedToEnd`], if it is not.
    pub fn check(&self) -> Result<(), ClientError> {
        match self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            true => Err(ClientError::new(
                Cause::AskedToEnd,
                "the end was asked for before the brokers had answered",
            )),
            false => Ok(()),
        }
    }

    /// Waits this long, or as long as is left.
    ///
    /// # Errors
    /// As [`Deadline::check`].
    pub fn pause(&self, pause: Duration) -> Result<(), ClientError> {
        let until = self.at_most(pause);
        while !until.is_over() {
            self.check()?;
            std::thread::sleep(until.left().min(LOOK));
        }
        self.check()
    }

    /// Times to wait for one answer, each longer than the one before.
    pub(super) fn slices(&self) -> impl Iterator<Item = Duration> + '_ {
        let longer = |slice: &Duration| Some((*slice * 2).min(LONGEST));
        std::iter::successors(Some(FIRST), longer).map(|slice| slice.min(self.left()))
    }

    /// Asks again and again, each time with a longer time to answer in, while there is no answer or no connection. What this gives at the
    /// end is the last answer.
    ///
    /// # Errors
    /// As [`Deadline::check`].
    pub fn ask<T>(
        &self,
        mut ask: impl FnMut(Duration) -> Result<T, KafkaError>,
    ) -> Result<Result<T, KafkaError>, ClientError> {
        let mut slices = self.slices();
        loop {
            self.check()?;
            // The library takes no time for no end.
            let slice = slices.next().unwrap_or(LONGEST).max(Duration::from_millis(1));
            let asked = Instant::now();
            match ask(slice) {
                // Without a connection, the library may say so at once.
                Err(error) if passes(&error) && !self.is_over() => {
                    self.pause(slice.saturating_sub(asked.elapsed()))?;
                }
                answer => return Ok(answer),
            }
        }
    }

    /// The result of something that comes by itself, within a time of its own.
    ///
    /// # Errors
    /// As [`Deadline::check`].
    pub(super) fn wait<T>(&self, answer: impl Future<Output = T>) -> Result<T, ClientError> {
        let mut answer = pin!(answer);
        let waker = Waker::from(Arc::new(ThisThread(std::thread::current())));
        let mut context = Context::from_waker(&waker);
        loop {
            if let Poll::Ready(answer) = answer.as_mut().poll(&mut context) {
                return Ok(answer);
            }
            self.check()?;
            std::thread::park_timeout(LOOK);
        }
    }
}

/// Whether an error says that there was no answer in time, or no connection: it may go away by itself. Until the first connection is made,
/// which can take longer than a short wait (TLS, a login, a host that is busy), the library says that the connection broke.
fn passes(error: &KafkaError) -> bool {
    matches!(
        error.rdkafka_error_code(),
        Some(
            Code::OperationTimedOut
                | Code::RequestTimedOut
                | Code::BrokerTransportFailure
                | Code::AllBrokersDown
                | Code::LeaderNotAvailable
                | Code::NotLeaderForPartition
        )
    )
}

/// Wakes who waits.
struct ThisThread(Thread);

impl Wake for ThisThread {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rdkafka::types::RDKafkaErrorCode;

    fn silence() -> KafkaError {
        KafkaError::MetadataFetch(RDKafkaErrorCode::OperationTimedOut)
    }

    #[test]
    fn who_answers_late_is_heard_with_a_longer_wait() {
        let mut waits = Vec::new();
        let answer = Deadline::from(Duration::from_secs(60)).ask(|wait| {
            waits.push(wait.as_millis());
            if wait >= Duration::from_secs(1) { Ok(7) } else { Err(silence()) }
        });
        assert_eq!((answer.unwrap().unwrap(), &waits[..]), (7, &[150, 300, 600, 1200][..]));
    }

    #[test]
    fn a_connection_that_takes_longer_than_the_first_waits_is_waited_for() {
        // At once, as librdkafka says it when no broker is connected.
        let (mut asked, begun) = (0, Instant::now());
        let answer = Deadline::from(Duration::from_secs(60)).ask(|_| {
            asked += 1;
            let broke = KafkaError::MetadataFetch(RDKafkaErrorCode::BrokerTransportFailure);
            if begun.elapsed() >= Duration::from_millis(400) { Ok(asked) } else { Err(broke) }
        });
        assert!((2..=4).contains(&answer.unwrap().unwrap()), "{asked} times");
    }

    #[test]
    fn who_never_answers_is_given_up_and_another_error_is_told_at_once() {
        let deadline = Deadline::from(Duration::from_millis(400));
        let (mut asked, begun) = (0, Instant::now());
        let answer = deadline.ask(|wait| {
            asked += 1;
            std::thread::sleep(wait);
            Err::<(), _>(silence())
        });
        assert!(answer.unwrap().is_err() && asked >= 2 && begun.elapsed() >= Duration::from_millis(400));
        let mut asked = 0;
        let refused = KafkaError::MetadataFetch(RDKafkaErrorCode::TopicAuthorizationFailed);
        let answer = Deadline::from(Duration::from_secs(60)).ask(|_| {
            asked += 1;
            Err::<(), _>(refused.clone())
        });
        assert_eq!((answer.unwrap().unwrap_err(), asked), (refused, 1));
    }

    #[test]
    fn nobody_waits_on_when_the_end_is_asked_for() {
        let stop = Arc::new(AtomicBool::new(false));
        let deadline = Deadline::from(Duration::from_secs(600)).or_when(&stop);
        std::thread::scope(|scope| {
            let others = [
                scope.spawn(|| deadline.wait(std::future::pending::<()>()).unwrap_err()),
                scope.spawn(|| deadline.pause(Duration::from_secs(600)).unwrap_err()),
                scope.spawn(|| {
                    let ask = |_| {
                        std::thread::sleep(Duration::from_millis(10));
                        Err::<(), _>(silence())
                    };
                    deadline.ask(ask).unwrap_err()
                }),
            ];
            std::thread::sleep(Duration::from_millis(50));
            stop.store(true, Ordering::Relaxed);
            for other in others {
                assert_eq!(other.join().unwrap().cause, Cause::AskedToEnd);
            }
        });
        assert_eq!(Deadline::from(Duration::ZERO).wait(std::future::ready(3)), Ok(3));
    }
}
