//! The reference's packets of sampled channels (vectors `adc_readout`), document "EFU formats of 2018",
//! section 5.

use evforge_testkit::shared_file;
use evforge_wire::adc_readout::*;

fn vector(test: &str, name: &str) -> Option<Vec<u8>> {
    shared_file(test, &format!("vectors/adc_readout/{name}.bin"))
}

fn items(bytes: &[u8]) -> Vec<Result<Module<'_>, Fault>> {
    match AdcPacket::parse(bytes).expect("a sound header").content {
        Content::Data(data) => data.modules().collect(),
        Content::Idle(_) => panic!("a sign of life"),
    }
}

fn faults(bytes: &[u8]) -> Vec<Fault> {
    items(bytes).into_iter().filter_map(Result::err).collect()
}

/// `bytes` with those at `at` replaced.
fn spoilt(bytes: &[u8], at: usize, by: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[at..at + by.len()].copy_from_slice(by);
    bytes
}

#[test]
fn section_5_data_packets() {
    let test = "section_5_data_packets";
    for (name, size, samples, channel, oversampling) in [
        ("test_packet_1", 1470, 380, 0, 0),
        ("test_packet_2", 9186, 4576, 1, 4),
        ("integration_template", 8970, 4468, 0, 4),
    ] {
        let Some(bytes) = vector(test, name) else { return };
        assert_eq!(bytes.len(), size, "{name}");
        let items = items(&bytes);
        let [Ok(module)] = items[..] else { panic!("{name}: {items:?}") };
        assert_eq!((module.len(), module.samples().len()), (samples, samples), "{name}");
        assert_eq!((module.channel, module.oversampling), (channel, oversampling), "{name}");
    }
    let Some(bytes) = vector(test, "test_packet_2") else { return };
    let items = items(&bytes);
    let Ok(module) = &items[0] else { panic!("{items:?}") };
    assert_eq!(module.time, RawTime { seconds: 0x8000_0000, fraction: 0x13 });
    assert!(module.samples().eq(0..4576), "the samples count up from 0");
}

#[test]
fn section_5_idle_packet() {
    let Some(bytes) = vector("section_5_idle_packet", "test_packet_idle") else { return };
    let packet = AdcPacket::parse(&bytes).expect("a good packet");
    let Content::Idle(idle) = packet.content else { panic!("data") };
    assert_eq!(idle.time, RawTime { seconds: 0xAAAA_0000, fraction: 0x0000_AAAA });
    assert_eq!((bytes.len(), packet.header.global_count), (22, 14));
    let mut short = bytes[..16].to_vec();
    short[5] = 14;
    assert_eq!(AdcPacket::parse(&short).unwrap_err(), Rejection::NoIdleTime);
}

#[test]
fn section_5_rejected_headers() {
    let Some(bytes) = vector("section_5_rejected_headers", "test_packet_1") else { return };
    let reason = |bytes: &[u8]| AdcPacket::parse(bytes).unwrap_err();
    assert_eq!(reason(&bytes[..9]), Rejection::TooShort);
    assert_eq!(reason(&bytes[..1469]), Rejection::WrongLength);
    assert_eq!(reason(&spoilt(&bytes, 4, &[0, 0])), Rejection::WrongLength);
    assert_eq!(reason(&spoilt(&bytes, 2, &[0x33, 0x33])), Rejection::UnknownType(0x3333));
    assert_eq!(AdcPacket::numbering(&bytes[..20]), Some(Numbering { global_count: 0xCE4A }));
}

/// The cases that the reference asserts to throw, and the trailers.
#[test]
fn section_5_faults_of_modules_and_trailers() {
    let test = "section_5_faults_of_modules_and_trailers";
    let Some(bytes) = vector(test, "test_packet_1") else { return };
    let end = 10 + 0x30C;
    let with = |at, by: &[u8]| faults(&spoilt(&bytes, at, by));
    assert_eq!(with(10, b"\xAB\xCC"), [Fault::NoModule(0xABCC)]);
    assert_eq!(with(12, b"\xFF\xFE"), [Fault::WrongModuleLength(0xFFFE)]);
    assert_eq!(with(12, &[0, 18]), [Fault::WrongModuleLength(18)]);
    assert_eq!(with(12, &[3, 0x0D]), [Fault::WrongModuleLength(0x30D)]);
    assert_eq!(with(end - 4, &[0]), [Fault::WrongModuleTrailer]);
    assert_eq!(with(end + 40, &[0]), [Fault::WrongFiller]);
    assert_eq!(with(1466, &[0]), [Fault::WrongPacketTrailer]);
    // Too short to end anywhere.
    let mut short = bytes[..12].to_vec();
    short[4..6].copy_from_slice(&[0, 10]);
    assert_eq!(faults(&short), [Fault::WrongPacketTrailer]);
    // A wrong trailer of the packet costs no module, and the reference has then handed it on as well.
    assert!(!Fault::WrongPacketTrailer.costs_a_module() && Fault::WrongModuleTrailer.costs_a_module());
}

/// Unlike the reference, which has by then handed on what it cannot trust and drops what follows.
#[test]
fn section_5_a_module_without_its_trailer_costs_only_itself() {
    let mut encoder = AdcEncoder::default();
    encoder.begin(&Header::default());
    for channel in 0..3 {
        assert!(encoder.push_module(channel, 1, RawTime::default(), &[1, 2, 3]));
    }
    encoder.finish(5);
    let bytes = spoilt(encoder.packet(), 10 + 26 + 22, &[0]);
    let channels: Vec<_> = items(&bytes).into_iter().map(|item| item.map(|module| module.channel)).collect();
    assert_eq!(channels, [Ok(0), Err(Fault::WrongModuleTrailer), Ok(2)]);
}
