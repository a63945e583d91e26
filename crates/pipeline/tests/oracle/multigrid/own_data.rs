//! Production with the shipped configuration against the model, on the capture of this repository: never skipped.

use crate::multigrid::model::{Settings, Strategy, run};
use crate::multigrid::production::{config, produce};
use evforge_testkit::own_data::{payloads, pinned_events};

#[test]
fn the_capture_of_the_repository_gives_the_model_s_events() {
    let packets = payloads("multigrid");
    for strategy in Strategy::ALL {
        let mut settings = Settings { spoof_high_time: false, ..Settings::ill(strategy) };
        settings.buses.iter_mut().for_each(|bus| bus.rescaled_grids.clear());
        let outcome = run(&packets, &settings);
        // 16 MHz.
        let mut expected: Vec<(u64, u32)> =
            outcome.events.iter().map(|&(ticks, pixel)| (ticks * 125 / 2, pixel)).collect();
        expected.sort_unstable();
        assert!(expected.len() > 200);
        let config = config("multigrid.toml", &[&format!("multigrid.strategy={}", strategy.name())]);
        for (slab_packets, batch_events) in [(256, 10_000), (1, 1), (7, 254)] {
            let (events, ledger) = produce(&config, &packets, slab_packets, batch_events);
            assert!(
                events == expected,
                "{}: {} events, {} expected",
                strategy.name(),
                events.len(),
                expected.len()
            );
            assert_eq!(ledger.counters.value("triggers"), Some(outcome.triggers));
            assert_eq!(ledger.counters.value("triggers_without_event"), Some(outcome.without_event));
        }
        if strategy == Strategy::Maximum {
            assert_eq!(pinned_events("multigrid"), expected);
        }
    }
}

#[test]
fn another_setting_is_noticed_in_the_capture_of_the_repository() {
    let packets = payloads("multigrid");
    let (events, _) =
        produce(&config("multigrid.toml", &["multigrid.bus[0].swap_wires=false"]), &packets, 256, 1000);
    assert!(events != pinned_events("multigrid"));
}
