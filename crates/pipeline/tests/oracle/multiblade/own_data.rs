//! Production with the shipped configuration against the model, on the capture of this repository: never skipped.

use crate::multiblade::model::{Rules, decode, form};
use crate::multiblade::production::{compare, expected, produce};
use evforge_testkit::own_data::{payloads, pinned_events};

#[test]
fn the_capture_of_the_repository_gives_the_model_s_events() {
    let payloads = payloads("multiblade");
    let rules = Rules::production();
    compare("data/multiblade.pcapng", "multiblade.toml", &[], &payloads, &rules);
    let expected = expected(&form(&decode(&payloads), &rules), &rules);
    assert!(expected.len() > 200);
    assert_eq!(pinned_events("multiblade"), expected);
    let gap = Rules { gap: true, ..rules };
    compare("the same by gaps", "multiblade.toml", &["multiblade.window.rule=gap"], &payloads, &gap);
}

#[test]
fn another_setting_is_noticed_in_the_capture_of_the_repository() {
    let payloads = payloads("multiblade");
    let (events, _) = produce("multiblade.toml", &["multiblade.rounding=down"], &payloads);
    assert!(events != pinned_events("multiblade"));
}
