//! A simulated SoNDe through the configured pipeline: what becomes of neutrons that are known.

use evforge_config::Config;
use evforge_lab::simulation::form_simulation;
use std::collections::HashMap;
use std::path::Path;

#[test]
fn nearly_every_neutron_is_found_and_nothing_else() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/sonde.toml");
    let config = Config::read(&path, &["simulation.beam.neutrons=50kHz".into()]).unwrap();
    let formed = form_simulation(&config, 14).unwrap();
    let events: HashMap<u64, u32> =
        formed.events.events().map(|event| (event.time_ns, event.pixel_id)).collect();
    let resolvable: Vec<_> = formed.truth.iter().filter(|neutron| neutron.resolvable).collect();
    // A time stamp is known to some tens of nanoseconds.
    let found = resolvable.iter().filter(|neutron| {
        (neutron.time_ns - 60..neutron.time_ns + 60).any(|time| events.get(&time) == Some(&neutron.pixel_id))
    });
    let (found, all) = (found.count(), resolvable.len());
    assert!(all > 45_000 && found * 1000 > all * 999, "{found} of {all}");
    let (events, neutrons) = (formed.events.len(), formed.truth.len());
    assert!(events * 1000 < neutrons * 1001, "{events} events of {neutrons} neutrons");
}
