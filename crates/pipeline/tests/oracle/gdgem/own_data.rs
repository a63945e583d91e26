//! Production with the shipped configurations against the model, on the captures of this repository: never skipped.

use std::collections::BTreeSet;

use evforge_core::event::Event;
use evforge_testkit::own_data::payloads;

use crate::gdgem::captures::Capture;
use crate::gdgem::model::rules::Rules;
use crate::gdgem::model::run;
use crate::gdgem::model::settings::Settings;
use crate::gdgem::production::{compare, form, model_events};

/// Packets without the second ones of a FEC with the same number, which production does not use.
fn without_copies(packets: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let mut seen = BTreeSet::new();
    packets.into_iter().filter(|packet| seen.insert(packet[..8].to_vec())).collect()
}

fn srs(name: &'static str) -> Capture {
    Capture::own(name, "gdgem-srs.toml", without_copies(payloads(name)), Settings::vmm3a_physical())
}

#[test]
fn the_captures_of_the_repository_give_the_model_s_events() {
    compare(&srs("gdgem-srs"));
    compare(&srs("gdgem-srs-faults"));
}

/// Each panel is a detector of its own to the model; production forms the events of all of them at once.
#[test]
fn the_four_panels_of_the_repository_give_the_model_s_events() {
    let payloads = payloads("gdgem-nmx");
    let mut expected = Vec::new();
    for panel in 0..4_u16 {
        let outcome = run(&payloads, &Settings::nmx_panel(panel), &Rules::ours());
        assert!(outcome.events.len() > 20, "panel {panel}: {} events", outcome.events.len());
        let offset = u64::from(panel) * 640 * 640;
        expected.extend(
            outcome.events.into_iter().map(|event| (event.time, event.pixel + offset, event.time_ns)),
        );
    }
    expected.sort_unstable();
    let expected: Vec<Event> = expected
        .into_iter()
        .map(|(_, pixel, time_ns)| Event { time_ns, pixel_id: u32::try_from(pixel).expect("a pixel id") })
        .collect();
    let capture = Capture::own("gdgem-nmx", "gdgem-nmx.toml", payloads, Settings::nmx_panel(0));
    let gaps = ["gdgem.clustering.x.max_time_gap=200ns", "gdgem.clustering.y.max_time_gap=200ns"];
    let (events, ledger) = form(&capture, &gaps);
    assert_eq!(events, expected);
    assert_eq!(ledger.unaccounted(), 0);
}

#[test]
fn another_setting_is_noticed_in_the_captures_of_the_repository() {
    let capture = srs("gdgem-srs");
    let expected = model_events(&capture).0;
    assert!(expected.len() > 5000 && form(&capture, &[]).0 == expected);
    for mutation in [
        "gdgem.clustering.x.max_time_gap=20ns",
        "gdgem.clustering.y.min_hits=4",
        "gdgem.mapping[0].strip_offset=1",
        "gdgem.position.weighting=plain",
    ] {
        assert!(form(&capture, &[mutation]).0 != expected, "{mutation}");
    }
}
