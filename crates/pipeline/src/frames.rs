//! What a report says of frames: all of them, by period, by veto, and how many are known to be complete.

use crate::figures::grouped;
use evforge_core::frame::{Frame, FrameLedger, FrameState, FrameTotals, FrameVeto};
use serde_json::{Value, json};

/// Periods that a report names in words.
const NAMED_PERIODS: usize = 8;

/// As JSON. Periods count from 1, as in files.
pub(crate) fn to_json(frames: &FrameLedger) -> Value {
    let period = |(number, totals): (usize, &FrameTotals)| {
        let mut json = totals_json(totals);
        json["period"] = json!(number + 1);
        json
    };
    let veto = |veto: &FrameVeto| {
        let FrameVeto { bit, name, counts, frames } = veto;
        json!({"bit": bit, "name": name, "counts": counts, "frames": frames})
    };
    let newest = |(time_ns, frame): &(u64, Frame)| {
        json!({
            "time_ns": time_ns,
            "period": frame.period.map(|period| u64::from(period) + 1),
            "vetoes": frame.vetoes,
            "good": !frame.is_vetoed,
            "charge_uah": frame.charge.map(|charge| charge.uah),
            "state": frame.state.name(),
        })
    };
    let mut json = totals_json(&frames.all);
    for state in FrameState::ALL {
        json[state.name()] = json!(frames.in_state(state));
    }
    json["live_fraction"] = json!(frames.live_fraction());
    json["periods"] = frames.periods.iter().enumerate().map(period).collect();
    json["vetoes"] = frames.vetoes.iter().map(veto).collect();
    json["newest"] = json!(frames.newest.as_ref().map(newest));
    json
}

fn totals_json(totals: &FrameTotals) -> Value {
    json!({
        "raw": totals.raw,
        "good": totals.good,
        "charge_uah": {"raw": totals.raw_charge.uah, "good": totals.good_charge.uah},
        "events": {"raw": totals.raw_events, "good": totals.good_events},
    })
}

/// For people: a few lines, each with its title.
pub(crate) fn lines(frames: &FrameLedger) -> Vec<(&'static str, String)> {
    let all = &frames.all;
    let of = |state| grouped(frames.in_state(state));
    let mut said = good_of_raw(all);
    if let Some(live) = frames.live_fraction() {
        said += &format!(
            ", {} complete, {} incomplete, {} late: live {:.3} %",
            of(FrameState::Complete),
            of(FrameState::Incomplete),
            of(FrameState::Late),
            live * 100.0
        );
        if frames.in_state(FrameState::Unknown) > 0 {
            said += &format!(" ({} not compared)", of(FrameState::Unknown));
        }
    } else if all.raw > 0 {
        said += ", not known whether they are complete";
    }
    let mut lines = vec![("frames", said)];
    if all.raw_charge.uah > 0.0 {
        let (good, raw) = (all.good_charge.uah, all.raw_charge.uah);
        lines.push(("  charge", format!("{good:.6} µAh in good frames, {raw:.6} µAh in all")));
    }
    if frames.periods.len() > 1 {
        let named = frames.periods.iter().enumerate().take(NAMED_PERIODS);
        lines.extend(named.map(|(number, totals)| {
            ("  period", format!("{}: {}, {}", number + 1, good_of_raw(totals), events_of(totals)))
        }));
        let more = frames.periods.len().saturating_sub(NAMED_PERIODS);
        if more > 0 {
            lines.push(("  period", format!("and {more} more, which are in the report as JSON")));
        }
    }
    let present = frames.vetoes.iter().filter(|veto| veto.frames > 0);
    lines.extend(present.map(|veto| {
        let counts = if veto.counts { "" } else { ", which does not count" };
        ("  veto", format!("{}: in {} frames{counts}", veto.name, grouped(veto.frames)))
    }));
    lines
}

fn good_of_raw(totals: &FrameTotals) -> String {
    format!("{} good of {} raw", grouped(totals.good), grouped(totals.raw))
}

fn events_of(totals: &FrameTotals) -> String {
    format!("{} events in good frames", grouped(totals.good_events))
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_core::frame::ProtonCharge;

    fn ledger() -> FrameLedger {
        let mut ledger = FrameLedger::new([(0, "overflow".to_owned(), false), (1, "SMP".to_owned(), true)]);
        let charge = Some(ProtonCharge { uah: 0.25 });
        let frame = |period, vetoes, state| Frame { period, vetoes, is_vetoed: vetoes > 1, charge, state };
        ledger.add(10, &frame(Some(0), 1, FrameState::Complete), 5);
        ledger.add(20, &frame(Some(2), 2, FrameState::Incomplete), 3);
        ledger.add(30, &frame(None, 0, FrameState::Late), 0);
        ledger.add(40, &frame(Some(2), 0, FrameState::Unknown), 1);
        ledger
    }

    #[test]
    fn json_has_all_of_it_with_periods_from_one() {
        let json = to_json(&ledger());
        assert_eq!((&json["raw"], &json["good"]), (&json!(4), &json!(3)));
        assert_eq!(json["charge_uah"], json!({"raw": 1.0, "good": 0.75}));
        assert_eq!(json["events"], json!({"raw": 9, "good": 6}));
        let states = ["complete", "incomplete", "late", "unknown"].map(|name| json[name].clone());
        assert_eq!(states, [json!(1), json!(1), json!(1), json!(1)]);
        assert_eq!(json["live_fraction"], json!(1.0 / 3.0));
        assert_eq!(json["periods"][2]["period"], json!(3));
        assert_eq!((&json["periods"][2]["raw"], &json["periods"][2]["good"]), (&json!(2), &json!(1)));
        assert_eq!(json["vetoes"][0], json!({"bit": 0, "name": "overflow", "counts": false, "frames": 1}));
        assert_eq!((&json["newest"]["period"], &json["newest"]["good"]), (&json!(3), &json!(true)));
        let before = to_json(&FrameLedger::new([]));
        assert_eq!(
            (&before["newest"], &before["live_fraction"], &before["raw"]),
            (&json!(null), &json!(null), &json!(0))
        );
    }

    #[test]
    fn people_get_a_few_lines() {
        let said: Vec<String> =
            lines(&ledger()).into_iter().map(|(title, line)| format!("{title}: {line}")).collect();
        assert_eq!(
            said,
            [
                "frames: 3 good of 4 raw, 1 complete, 1 incomplete, 1 late: live 33.333 % (1 not compared)",
                "  charge: 0.750000 µAh in good frames, 1.000000 µAh in all",
                "  period: 1: 1 good of 1 raw, 5 events in good frames",
                "  period: 2: 0 good of 0 raw, 0 events in good frames",
                "  period: 3: 1 good of 2 raw, 1 events in good frames",
                "  veto: overflow: in 1 frames, which does not count",
                "  veto: SMP: in 1 frames",
            ]
        );
        assert_eq!(lines(&FrameLedger::new([])), [("frames", "0 good of 0 raw".to_owned())]);
    }
}
