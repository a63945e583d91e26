//! Streams of packets of a Multi-Grid.

use super::Seed;
use super::cncs;
use super::mesytec::{datagram, readout, trigger};
use super::packets::{spoilt, stream};
use crate::multigrid::choice;

/// Neutrons, test pulses and external triggers, with each kind of settings, also damaged.
pub fn seeds() -> Vec<Seed> {
    let bus_1 = |channel, adc| evforge_wire::mesytec::VmmrReadout { bus: 1, ..readout(channel, adc) };
    let packet = |time: u64| {
        let all: Vec<_> = (0..20).map(|channel| readout(channel, 100 * channel)).collect();
        datagram(&[
            trigger(time, false, &[readout(3, 900), readout(9, 300), readout(10, 300)]),
            trigger(time + 20, true, &[]),
            trigger(time + 10, false, &[bus_1(3, 70), bus_1(2, 60), bus_1(11, 4000), bus_1(12, 3)]),
            trigger(time + 15, false, &[readout(5, 500), readout(0, 0), readout(8, 0)]),
            trigger(time + 15, false, &all),
            trigger(time + 16, false, &[readout(1, 5)]),
        ])
    };
    let steady: Vec<_> = (0..4).map(|n| packet(1000 + n * 40)).collect();
    let restart: Vec<_> = [900_000, 900_040, 5, 60].map(packet).into();
    let leap: Vec<_> = [1000, 1 << 40, 1080, 1120].map(packet).into();
    let damaged: Vec<_> = steady.iter().map(|packet| spoilt(packet.clone(), 60, &[0xFF; 4])).collect();
    let mut seeds = Vec::new();
    let ordered = choice::ORDERED;
    for (name, strategy) in
        [("maximum", 0), ("center-mass", choice::CENTER_MASS), ("prioritized", choice::PRIORITIZED)]
    {
        let watched = strategy | choice::WATCHED;
        seeds.push(Seed::new(name, stream(watched, &steady)));
        seeds.push(Seed::new(format!("{name}-damaged"), stream(watched, &damaged)));
        seeds.push(Seed::new(format!("{name}-of-2018"), stream(strategy | choice::OF_2018, &steady)));
        seeds.push(Seed::new(format!("{name}-choosy"), stream(strategy | ordered | choice::CHOOSY, &steady)));
    }
    let neutron = |time| cncs::neutron(0, 9, 2, time);
    let groups = cncs::packet(&[neutron(100), neutron((1 << 30) - 3), neutron(4), cncs::neutron(1, 2, 6, 7)]);
    let double = spoilt(groups.clone(), 8, &[0xFF, 0x01]);
    seeds.extend([
        Seed::new("restart", stream(ordered | choice::PUBLISH, &restart)),
        Seed::new("leap", stream(ordered, &leap)),
        Seed::new("damaged-of-2018", stream(choice::OF_2018, &damaged)),
        Seed::new("cncs", stream(choice::CNCS | choice::WATCHED, &[groups.clone(), double.clone()])),
        Seed::new("cncs-ordered", stream(choice::CNCS | ordered | choice::CHOOSY, &[double, groups.clone()])),
        Seed::new("cncs-of-2018", stream(choice::CNCS | choice::OF_2018, &[groups[..70].to_vec(), groups])),
    ]);
    seeds
}
