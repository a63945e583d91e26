//! Production with the shipped configurations against the model, on the captures of this repository: never skipped.

use crate::sonde::model::parse;
use crate::sonde::production::{config, form, from_anywhere};
use evforge_core::packet::PacketOrigin;
use evforge_testkit::own_data::{capture, payloads, pinned_events};

#[test]
fn the_module_of_the_repository_gives_the_model_s_events() {
    let packets = payloads("sonde-module");
    let mut expected: Vec<(u64, u32)> = packets
        .iter()
        .flat_map(|packet| parse(packet).events)
        .map(|(time, pixel)| (u64::from(time), pixel))
        .collect();
    expected.sort_unstable();
    assert!(expected.len() > 200);
    let config = config("sonde-module.toml", &[]);
    for (slab_packets, batch_events) in [(256, 10_000), (1, 1), (7, 254)] {
        let (events, _) = form(&config, &from_anywhere(&packets), slab_packets, batch_events);
        assert!(events == expected, "slabs of {slab_packets}, batches of {batch_events}");
    }
    assert_eq!(pinned_events("sonde-module"), expected);
}

/// The model knows a module; where modules are follows here from the address of the group and the number of the system.
#[test]
fn the_detector_of_the_repository_gives_the_model_s_events() {
    let packets = capture("sonde");
    let mut expected = Vec::new();
    for packet in &packets {
        let group = u32::from(packet.source.ip().octets()[3]) - 1;
        let system = u32::from(packet.payload[0] & 0x1F);
        let (x, y) = (group % 10 * 16 + system % 2 * 8, group / 10 * 16 + system / 2 * 8);
        expected.extend(parse(&packet.payload).events.into_iter().map(|(time, pixel)| {
            let (column, row) = ((pixel - 1) % 8, (pixel - 1) / 8);
            (u64::from(time), (y + row) * 160 + x + column + 1)
        }));
    }
    expected.sort_unstable();
    assert!(expected.len() > 200);
    let packets: Vec<_> = packets
        .into_iter()
        .map(|packet| {
            (PacketOrigin { source: packet.source.into(), ..PacketOrigin::default() }, packet.payload)
        })
        .collect();
    for (slab_packets, batch_events) in [(256, 10_000), (1, 1), (7, 254)] {
        let (events, _) = form(&config("sonde.toml", &[]), &packets, slab_packets, batch_events);
        assert!(events == expected, "slabs of {slab_packets}, batches of {batch_events}");
    }
    assert_eq!(pinned_events("sonde"), expected);
    let swapped = ["sonde.modules[0].x=8", "sonde.modules[1].x=0"];
    let (moved, _) = form(&config("sonde.toml", &swapped), &packets, 256, 10_000);
    assert!(moved != expected, "two modules that are swapped are not noticed");
}
