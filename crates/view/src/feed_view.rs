//! From the feeds of the streams to the one that the page shows: what [`evforge_core::feed`] says of them now.

use crate::accumulator::{Accumulator, InputState};
use crate::protocol::FeedState;
use evforge_core::feed::{Feed, FeedState as State};
use std::sync::Arc;
use std::time::Instant;

/// The feed of all streams: the one that a person has to know of.
pub(crate) fn of(streams: &[Arc<Accumulator>], now: Instant) -> FeedState {
    let feeds = streams.iter().map(|stream| feed_of(stream, now));
    view(&feeds.max_by_key(Feed::urgency).unwrap_or_default())
}

/// The feed of one stream at this moment.
pub(crate) fn feed_of(stream: &Accumulator, now: Instant) -> Feed {
    let state = stream.state();
    let told = state.as_ref().map(|state| &state.run.feed);
    match stream.input() {
        InputState::Failed => match told {
            Some(feed) if matches!(feed.state, State::Failed(_)) => feed.clone(),
            _ => Feed {
                state: State::Failed("the page shows the events up to there".into()),
                ..Feed::default()
            },
        },
        InputState::Ended => match told {
            Some(feed) if feed.name() == "ended" => feed.clone(),
            _ => Feed::ended("no more events will come"),
        },
        InputState::Running => match (told, &state) {
            (Some(feed), Some(state)) if feed.packet_ago.is_some() || stream.last_event_at().is_none() => {
                feed.aged(now.saturating_duration_since(state.at))
            }
            // Nobody tells of packets, or not yet: events are all that is known.
            _ => of_events(stream, now),
        },
    }
}

fn of_events(stream: &Accumulator, now: Instant) -> Feed {
    let running = now.saturating_duration_since(stream.started());
    let ago = stream.last_event_at().map(|at| now.saturating_duration_since(at));
    let state = if ago.is_some() { State::Live } else { State::Waiting };
    let feed = Feed { state, running, packet_ago: ago, event_ago: ago, ..Feed::default() };
    feed.aged(std::time::Duration::ZERO)
}

fn view(feed: &Feed) -> FeedState {
    let milliseconds = |time: std::time::Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    FeedState {
        state: feed.name(),
        failed: matches!(feed.state, State::Failed(_)),
        text: feed.in_short(),
        reason: feed.reason(),
        packet_ms: feed.packet_ago.map(milliseconds),
        event_ms: feed.event_ago.map(milliseconds),
        stalled_after_ms: milliseconds(feed.stalled_after),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_core::run_state::RunState;
    use std::time::Duration;

    fn stream() -> Arc<Accumulator> {
        Arc::new(Accumulator::for_test(4))
    }

    fn tell(stream: &Accumulator, feed: Feed) {
        stream.set_state(&Arc::new(RunState { feed, ..RunState::default() }));
    }

    #[test]
    fn a_run_that_says_nothing_any_more_is_stalled() {
        let one = stream();
        let live = Feed {
            state: State::Live,
            packet_ago: Some(Duration::ZERO),
            event_ago: Some(Duration::ZERO),
            ..Feed::default()
        };
        tell(&one, live);
        assert_eq!(of(&[Arc::clone(&one)], Instant::now()).state, "live");
        let later = Instant::now() + Duration::from_secs(23);
        let feed = of(&[Arc::clone(&one)], later);
        assert_eq!((feed.state, feed.text.as_str()), ("stalled", "No data for 23 s"));
        one.set_input(InputState::Failed);
        assert_eq!((of(&[Arc::clone(&one)], later).state, of(&[one], later).failed), ("ended", true));
    }

    #[test]
    fn of_several_streams_the_page_shows_the_one_that_needs_a_person() {
        let (good, bad) = (stream(), stream());
        let live = Feed { state: State::Live, packet_ago: Some(Duration::ZERO), ..Feed::default() };
        tell(&good, live.clone());
        tell(&bad, Feed { state: State::Rejecting("they are of another format".into()), ..live });
        let feed = of(&[good, bad], Instant::now());
        assert_eq!((feed.state, feed.reason.as_deref()), ("rejecting", Some("they are of another format")));
    }

    #[test]
    fn without_a_run_the_events_say_whether_data_come() {
        let one = stream();
        assert_eq!(of(&[Arc::clone(&one)], Instant::now()).state, "waiting");
        one.count_events(1);
        assert_eq!(of(&[Arc::clone(&one)], Instant::now()).state, "live");
        assert_eq!(of(&[one], Instant::now() + Duration::from_secs(9)).state, "stalled");
        assert_eq!(of(&[], Instant::now()).state, "waiting");
    }
}
