//! What stands above a picture: whose counts they are, of when, and what was lost.

use evforge_core::ledger::{Loss, PacketLedger};
use evforge_core::pulsed::{Calendar, CalendarOrigin};
use evforge_core::quantity::grouped;
use evforge_core::run_identity::RunIdentity;
use evforge_core::run_state::RunState;
use jiff::Timestamp;
use std::time::Duration;

/// The lines above a picture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Caption {
    /// The instrument or run.
    pub title: String,
    /// What is below it.
    pub lines: Vec<String>,
    /// What must not be overlooked: it stands out.
    pub warnings: Vec<String>,
}

impl Caption {
    /// A caption for these events, of which `outside` have a pixel that no picture has. `span` has the times of the earliest
    /// and the latest event by the detector's clock, none without events.
    pub fn new(
        title: impl Into<String>,
        events: u64,
        outside: u64,
        span: Option<(u64, u64)>,
        calendar: Calendar,
        state: &RunState,
    ) -> Self {
        let mut lines = vec![format!("{} {}", grouped(events), if events == 1 { "event" } else { "events" })];
        lines.extend(span.map(|span| span_text(span, calendar)).filter(|text| !text.is_empty()));
        let mut warnings = Vec::new();
        let (packets, loss) = (state.ledger.packets(), state.loss());
        let is_lossless = matches!(loss, Loss::Exactly(0) | Loss::Unknown);
        let place = if is_lossless { &mut lines } else { &mut warnings };
        place.push(loss_text(&packets, loss));
        if outside > 0 {
            warnings.push(format!("{} more events outside of the geometry, in no picture", grouped(outside)));
        }
        Self { title: title.into(), lines, warnings }
    }
}

/// The instrument, and the run as far as it has a number and a title: "NMX, run 12: lysozyme".
pub fn heading(instrument: &str, run: &RunIdentity) -> String {
    let number = run.number.map(|number| format!(", run {number}")).unwrap_or_default();
    let title = run.title.as_ref().map(|title| format!(": {title}")).unwrap_or_default();
    format!("{instrument}{number}{title}")
}

/// What is known of packets lost, for people: `packets` are those of all sources, `loss` what is known of them with what was
/// lost after the last number. Unknown is never 0.
pub fn loss_text(packets: &PacketLedger, loss: Loss) -> String {
    let numbered = packets.sent.unwrap_or(0);
    match loss {
        Loss::Unknown => "loss unknown".into(),
        Loss::AtLeast(_) => format!("lost {loss} packets; the packets of some sources have no numbers"),
        Loss::Exactly(0) if numbered == 0 => "loss unknown: no packets".into(),
        Loss::Exactly(0) => {
            let bound = packets.loss_upper_bound().unwrap_or(1.0);
            format!("no packet lost of {} (< {} at 95 %)", grouped(numbered), percent(bound))
        }
        Loss::Exactly(lost) => {
            let sent = numbered + lost.saturating_sub(packets.lost);
            let share = lost as f64 / sent as f64;
            format!("lost {loss} of {} packets ({})", grouped(sent), percent(share))
        }
    }
}

/// A share with two digits that count: "0.3 %", "0.067 %", "12 %".
fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    if percent <= 0.0 {
        return "0 %".into();
    }
    let digits = (1.0 - libm::floor(libm::log10(percent))).clamp(0.0, 12.0) as usize;
    let text = format!("{percent:.digits$}");
    let text = if digits > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} %")
}

/// From when to when, and how long that is.
fn span_text((first, last): (u64, u64), calendar: Calendar) -> String {
    let length = match last.saturating_sub(first) {
        0 => String::new(),
        span => format!("events of {}", duration(Duration::from_nanos(span))),
    };
    if calendar.origin == CalendarOrigin::Detector {
        let seconds = |time_ns: u64| Duration::from_nanos(time_ns).as_secs_f64();
        let time = format!("{:.3} s to {:.3} s of the detector's clock", seconds(first), seconds(last));
        return if length.is_empty() { time } else { format!("{time}, {length}") };
    }
    let moment = |time_ns| calendar.unix_ns(time_ns).map(i128::from);
    let Some(date) = moment(first).zip(moment(last)).and_then(|(from, to)| dates_text(from, to)) else {
        return length;
    };
    if length.is_empty() { date } else { format!("{date}, {length}") }
}

/// From when to when, in nanoseconds since 1970, as ISO 8601 to the second; none if it is no date.
pub fn dates_text(from_ns: i128, to_ns: i128) -> Option<String> {
    let date =
        |unix_ns| Some(Timestamp::from_nanosecond(unix_ns).ok()?.strftime("%Y-%m-%dT%H:%M:%SZ").to_string());
    let (from, to) = (date(from_ns)?, date(to_ns)?);
    Some(if from == to { from } else { format!("{from} to {to}") })
}

fn duration(span: Duration) -> String {
    let seconds = span.as_secs_f64();
    match seconds {
        ..0.001 => format!("{:.1} \u{b5}s", 1e6 * seconds),
        ..1.0 => format!("{:.0} ms", 1e3 * seconds),
        ..100.0 => format!("{seconds:.1} s"),
        ..6000.0 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.1} h", seconds / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_core::ledger::{DetectorLedger, SourceLedger};

    fn packets(sent: Option<u64>, lost: u64) -> PacketLedger {
        PacketLedger { sent, lost, ..PacketLedger::default() }
    }

    #[test]
    fn losses_are_said_and_unknown_ones_are_not_zero() {
        let loss_text = |packets: &PacketLedger| loss_text(packets, packets.loss());
        assert_eq!(loss_text(&packets(Some(4000), 12)), "lost 12 of 4 000 packets (0.3 %)");
        assert_eq!(loss_text(&packets(Some(4300), 0)), "no packet lost of 4 300 (< 0.07 % at 95 %)");
        assert_eq!(loss_text(&packets(Some(2), 0)), "no packet lost of 2 (< 100 % at 95 %)");
        assert_eq!(loss_text(&packets(None, 0)), "loss unknown");
        assert_eq!(loss_text(&packets(Some(0), 0)), "loss unknown: no packets");
        let some = loss_text(&packets(None, 3));
        assert_eq!(some, "lost at least 3 packets; the packets of some sources have no numbers");
        let behind = super::loss_text(&packets(Some(96), 2), Loss::Exactly(6));
        assert_eq!(behind, "lost 6 of 100 packets (6 %)");
    }

    #[test]
    fn dates_are_those_of_the_events() {
        let calendar = Calendar { anchor_ns: 1_774_000_000_000_000_000, ..Calendar::default() };
        let text = |first, last| span_text((first, last), calendar);
        assert_eq!(text(0, 280_000_000), "2026-03-20T09:46:40Z, events of 280 ms");
        assert_eq!(text(0, 12_000_000_000), "2026-03-20T09:46:40Z to 2026-03-20T09:46:52Z, events of 12.0 s");
        assert_eq!(text(0, 0), "2026-03-20T09:46:40Z");
        let day = text(0, 86_400_000_000_000);
        assert_eq!(day, "2026-03-20T09:46:40Z to 2026-03-21T09:46:40Z, events of 24.0 h");
        let unknown = Calendar { anchor_ns: i64::MIN, ..Calendar::default() };
        assert_eq!(span_text((0, 1_500), unknown), "events of 1.5 \u{b5}s");
        let no_date = Calendar { origin: CalendarOrigin::Detector, ..Calendar::default() };
        assert_eq!(
            span_text((250_000_000, 12_250_000_000), no_date),
            "0.250 s to 12.250 s of the detector's clock, events of 12.0 s"
        );
    }

    #[test]
    fn runs_are_called_by_number_and_title() {
        let run = RunIdentity { number: Some(12), title: Some("lysozyme".into()), ..RunIdentity::default() };
        assert_eq!(heading("NMX", &run), "NMX, run 12: lysozyme");
        assert_eq!(heading("NMX", &RunIdentity { number: None, ..run }), "NMX: lysozyme");
        assert_eq!(heading("NMX", &RunIdentity::default()), "NMX");
    }

    #[test]
    fn what_is_wrong_stands_out() {
        let state = |packets| {
            let source = SourceLedger { packets, ..SourceLedger::default() };
            let ledger = DetectorLedger { sources: vec![source], ..DetectorLedger::default() };
            RunState { ledger, ..RunState::default() }
        };
        let caption = Caption::new("NMX", 1, 7, None, Calendar::default(), &state(packets(Some(10), 1)));
        assert_eq!(caption.lines, ["1 event"]);
        assert_eq!(caption.warnings[0], "lost 1 of 10 packets (10 %)");
        assert_eq!(caption.warnings[1], "7 more events outside of the geometry, in no picture");
        let caption = Caption::new("NMX", 2, 0, None, Calendar::default(), &state(packets(None, 0)));
        assert_eq!((caption.lines[1].as_str(), caption.warnings.len()), ("loss unknown", 0));
    }
}
