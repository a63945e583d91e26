//! The band of the page: the alarms of all streams, as they are at this moment.

use crate::accumulator::Accumulator;
use crate::feed_view::feed_of;
use crate::protocol::SignState;
use evforge_core::alarm::{Alarm, AlarmKind};
use evforge_core::quantity::grouped;
use evforge_core::run_state::RunState;
use std::sync::Arc;
use std::time::Instant;

/// Sources that lose packets and have a sign each: more of them have one together.
const MOST_LOSING: usize = 3;

/// All signs now, data at risk first.
pub(crate) fn signs(streams: &[Arc<Accumulator>], now: Instant) -> Vec<SignState> {
    let alarms = streams.iter().flat_map(|stream| {
        let feed = feed_of(stream, now);
        match stream.state() {
            Some(state) => state.run.alarms_with(&feed),
            None => RunState::default().alarms_with(&feed),
        }
    });
    let mut alarms: Vec<Alarm> = alarms.collect();
    alarms.sort_by_key(|alarm| alarm.kind.rank());
    let losing = alarms.iter().filter(|alarm| alarm.kind == AlarmKind::Loss).count();
    let mut signs: Vec<SignState> = Vec::new();
    for Alarm { kind, short, text, .. } in alarms {
        let level = kind.rank().name();
        let mut sign = SignState { sign: kind.name(), level, text: short, sentence: text };
        if kind == AlarmKind::Loss && losing > MOST_LOSING {
            if signs.iter().any(|known| known.sign == sign.sign) {
                continue;
            }
            sign.text = format!("{} sources lose packets", grouped(losing as u64));
        }
        signs.push(sign);
    }
    signs
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_core::alarm::{HostHealth, RecentLoss};
    use evforge_core::feed::{Feed, FeedState};
    use std::time::Duration;

    fn stream(run: RunState) -> Vec<Arc<Accumulator>> {
        let stream = Arc::new(Accumulator::for_test(1));
        stream.set_state(&Arc::new(run));
        vec![stream]
    }

    fn live() -> Feed {
        Feed { state: FeedState::Live, packet_ago: Some(Duration::ZERO), ..Feed::default() }
    }

    fn loss(source: &str) -> RecentLoss {
        RecentLoss { source: source.to_owned(), lost: 12, lasted: Duration::ZERO }
    }

    fn texts(signs: &[SignState]) -> Vec<(&str, &str, &str)> {
        signs.iter().map(|sign| (sign.sign, sign.level, sign.text.as_str())).collect()
    }

    #[test]
    fn a_good_run_has_no_signs_and_what_puts_data_at_risk_comes_first() {
        let good = stream(RunState { feed: live(), ..RunState::default() });
        assert_eq!(signs(&good, Instant::now()), []);
        let health = HostHealth { clock_synchronised: Some(false), ..HostHealth::default() };
        let run =
            RunState { feed: live(), recent_losses: vec![loss("FEC 1")], health, ..RunState::default() };
        let streams = stream(run);
        let now = Instant::now();
        let clock = ("clock", "note", "clock not synchronised (no chrony, ntpd or PTP running)");
        let lost = ("loss", "alarm", "12 packets of FEC 1 lost");
        assert_eq!(texts(&signs(&streams, now)), [lost, clock]);
        // The run says nothing any more.
        let silent = signs(&streams, now + Duration::from_secs(23));
        assert_eq!(texts(&silent), [("no_data", "alarm", "No data for 23 s"), lost, clock]);
    }

    #[test]
    fn sources_that_lose_packets_have_one_sign_if_they_are_many() {
        let recent_losses = ["a", "b", "c", "d"].map(loss).to_vec();
        let run = RunState { feed: live(), recent_losses, ..RunState::default() };
        assert_eq!(
            texts(&signs(&stream(run), Instant::now())),
            [("loss", "alarm", "4 sources lose packets")]
        );
    }
}
