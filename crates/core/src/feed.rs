//! What comes in at one moment: one state, decided here from counts and times, with the words that page, `/api`, status line
//! and report have for it.
//!
//! | state | when |
//! |---|---|
//! | `waiting` | no packet has come yet |
//! | `live` | packets come and are used; without events for a while that is said: heartbeats are no data |
//! | `stalled` | packets came, and none for a while |
//! | `rejecting` | packets come, and none is used |
//! | `ended` | the run is over |
//!
//! A page that has lost its connection says `disconnected`, which nobody on this side can know.

use std::time::Duration;

/// How long nothing may come until a feed is stalled, unless the configuration says something else.
pub const STALLED_AFTER: Duration = Duration::from_secs(5);

/// Whether data come in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum FeedState {
    /// No packet has come yet.
    #[default]
    Waiting,
    /// Packets come and are used.
    Live,
    /// Packets came, and none for a while.
    Stalled,
    /// Packets come and none is used: why, and what they look like.
    Rejecting(String),
    /// The run is over: how it ended.
    Ended(String),
    /// The input failed before its end: why.
    Failed(String),
}

/// What comes in at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feed {
    /// The state.
    pub state: FeedState,
    /// Time since the start of the run.
    pub running: Duration,
    /// Time since the newest packet; none before the first.
    pub packet_ago: Option<Duration>,
    /// Time since the newest events; none before the first.
    pub event_ago: Option<Duration>,
    /// How long nothing may come.
    pub stalled_after: Duration,
}

impl Default for Feed {
    fn default() -> Self {
        Self {
            state: FeedState::Waiting,
            running: Duration::ZERO,
            packet_ago: None,
            event_ago: None,
            stalled_after: STALLED_AFTER,
        }
    }
}

impl Feed {
    /// A feed that has ended so.
    pub fn ended(how: impl Into<String>) -> Self {
        Self { state: FeedState::Ended(how.into()), ..Self::default() }
    }

    /// The name of the state, for programs.
    pub fn name(&self) -> &'static str {
        match self.state {
            FeedState::Waiting => "waiting",
            FeedState::Live => "live",
            FeedState::Stalled => "stalled",
            FeedState::Rejecting(_) => "rejecting",
            FeedState::Ended(_) | FeedState::Failed(_) => "ended",
        }
    }

    /// The state in a few words, for a line that has others to say as well.
    pub fn in_short(&self) -> String {
        match &self.state {
            FeedState::Waiting => "Waiting for data".to_owned(),
            FeedState::Live => match self.without_events() {
                Some(words) => format!("Live, {words}"),
                None => "Live".to_owned(),
            },
            FeedState::Stalled => {
                format!("No data for {}", in_words(self.packet_ago.unwrap_or(self.running)))
            }
            FeedState::Rejecting(_) => "Packets come, none is used".to_owned(),
            FeedState::Ended(how) => format!("Ended: {how}"),
            FeedState::Failed(_) => "Input failed".to_owned(),
        }
    }

    /// More about the state; none where nothing is to be said.
    pub fn reason(&self) -> Option<String> {
        match &self.state {
            FeedState::Waiting => Some(format!("nothing has come in {}", in_words(self.running))),
            FeedState::Rejecting(why) | FeedState::Failed(why) => Some(why.clone()),
            FeedState::Live | FeedState::Stalled | FeedState::Ended(_) => None,
        }
    }

    /// The state and why, in a sentence.
    pub fn sentence(&self) -> String {
        match self.reason() {
            Some(reason) => format!("{}: {reason}", self.in_short()),
            None => self.in_short(),
        }
    }

    /// What is to be said of a feed of packets from which no events come.
    fn without_events(&self) -> Option<String> {
        match self.event_ago {
            Some(ago) if ago >= self.stalled_after => Some(format!("no events for {}", in_words(ago))),
            None if self.running >= self.stalled_after => Some("no event yet".to_owned()),
            _ => None,
        }
    }

    /// The same, `later`: whoever took note of it has heard nothing since. Nothing heard is nothing that came.
    #[must_use]
    pub fn aged(&self, later: Duration) -> Self {
        if matches!(self.state, FeedState::Ended(_) | FeedState::Failed(_)) {
            return self.clone();
        }
        let mut feed = Self {
            running: self.running + later,
            packet_ago: self.packet_ago.map(|ago| ago + later),
            event_ago: self.event_ago.map(|ago| ago + later),
            ..self.clone()
        };
        if feed.is_silent() {
            feed.state = FeedState::Stalled;
        }
        feed
    }

    fn is_silent(&self) -> bool {
        self.packet_ago.is_some_and(|ago| ago >= self.stalled_after)
    }

    /// How much a person has to know of it: of several feeds the largest one is shown.
    pub fn urgency(&self) -> u8 {
        match self.state {
            FeedState::Failed(_) => 5,
            FeedState::Rejecting(_) => 4,
            FeedState::Stalled => 3,
            FeedState::Waiting => 2,
            FeedState::Live => 1,
            FeedState::Ended(_) => 0,
        }
    }
}

/// Watches what comes in, from counts and times alone.
#[derive(Clone, Debug)]
pub struct FeedWatch {
    stalled_after: Duration,
    started: Duration,
    packets: u64,
    packet_at: Option<Duration>,
    events: u64,
    event_at: Option<Duration>,
}

impl FeedWatch {
    /// Begins at the time `now`, on the clock of the run.
    pub fn new(stalled_after: Duration, now: Duration) -> Self {
        Self { stalled_after, started: now, packets: 0, packet_at: None, events: 0, event_at: None }
    }

    /// The state at the time `now`, with so many packets and events until then. `refused` says why nothing of what came lately
    /// is used, if nothing is.
    pub fn observe(&mut self, now: Duration, packets: u64, events: u64, refused: Option<String>) -> Feed {
        if packets > self.packets {
            (self.packets, self.packet_at) = (packets, Some(now));
        }
        if events > self.events {
            (self.events, self.event_at) = (events, Some(now));
        }
        let mut feed = Feed {
            state: FeedState::Waiting,
            running: now.saturating_sub(self.started),
            packet_ago: self.packet_at.map(|at| now.saturating_sub(at)),
            event_ago: self.event_at.map(|at| now.saturating_sub(at)),
            stalled_after: self.stalled_after,
        };
        feed.state = match refused {
            _ if feed.packet_ago.is_none() => FeedState::Waiting,
            _ if feed.is_silent() => FeedState::Stalled,
            Some(why) => FeedState::Rejecting(why),
            None => FeedState::Live,
        };
        feed
    }
}

/// A time as people say it: "23 s", "4 min", "2.5 h".
pub fn in_words(time: Duration) -> String {
    match time.as_secs() {
        seconds @ ..120 => format!("{seconds} s"),
        seconds @ ..7200 => format!("{} min", seconds / 60),
        seconds => format!("{:.1} h", seconds as f64 / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    #[test]
    fn a_feed_waits_lives_stalls_and_comes_back() {
        let mut watch = FeedWatch::new(seconds(5), seconds(100));
        let feed = watch.observe(seconds(112), 0, 0, None);
        assert_eq!(
            (feed.name(), feed.sentence().as_str()),
            ("waiting", "Waiting for data: nothing has come in 12 s")
        );
        assert_eq!(watch.observe(seconds(113), 10, 4, None).sentence(), "Live");
        assert_eq!(watch.observe(seconds(117), 10, 4, None).name(), "live");
        let feed = watch.observe(seconds(136), 10, 4, None);
        assert_eq!((feed.name(), feed.sentence().as_str()), ("stalled", "No data for 23 s"));
        assert_eq!(watch.observe(seconds(137), 11, 5, None).sentence(), "Live");
    }

    /// The pulses of a closed shutter are no data, and no fault either.
    #[test]
    fn packets_without_events_are_live_and_that_is_said() {
        let mut watch = FeedWatch::new(seconds(5), Duration::ZERO);
        assert_eq!(watch.observe(seconds(1), 14, 0, None).sentence(), "Live");
        assert_eq!(watch.observe(seconds(6), 84, 0, None).sentence(), "Live, no event yet");
        assert_eq!(watch.observe(seconds(7), 98, 1, None).sentence(), "Live");
        assert_eq!(watch.observe(seconds(200), 2800, 1, None).sentence(), "Live, no events for 3 min");
    }

    #[test]
    fn packets_that_nobody_uses_are_refused_until_they_end() {
        let mut watch = FeedWatch::new(seconds(5), Duration::ZERO);
        let feed = watch.observe(seconds(1), 7, 0, Some("they are jadaq".into()));
        assert_eq!(
            (feed.name(), feed.sentence().as_str()),
            ("rejecting", "Packets come, none is used: they are jadaq")
        );
        assert_eq!(watch.observe(seconds(9), 7, 0, Some("they are jadaq".into())).name(), "stalled");
    }

    /// The page asks between two states, and also when a run says nothing any more.
    #[test]
    fn a_state_that_nobody_renews_grows_old() {
        let mut watch = FeedWatch::new(seconds(5), Duration::ZERO);
        let feed = watch.observe(seconds(1), 7, 7, None);
        assert_eq!(feed.aged(seconds(4)).name(), "live");
        assert_eq!(feed.aged(seconds(9)).sentence(), "No data for 9 s");
        assert_eq!(Feed::default().aged(seconds(9)).sentence(), "Waiting for data: nothing has come in 9 s");
        assert_eq!(Feed::ended("input used up").aged(seconds(9)).sentence(), "Ended: input used up");
    }
}
