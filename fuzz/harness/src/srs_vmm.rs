//! Single packets of SRS front-end cards, as each of the three formats.

use evforge_wire::srs_vmm::{
    END_OF_FRAME, Numbering, Rejection, TimeMarker, TriggerMarker, Vmm2Content, Vmm2Encoder, Vmm2Packet,
    Vmm3Encoder, Vmm3Packet, Vmm3Variant, VmmReadout, Word,
};

/// Parses `bytes` as a packet of every format. What parses is encoded and parsed again.
///
/// # Panics
/// If numbering and packet disagree, if the lengths do not add up, or if the content changes on the way.
pub fn srs_vmm(bytes: &[u8]) {
    vmm2(bytes);
    vmm3(bytes, Vmm3Variant::Of2018);
    vmm3(bytes, Vmm3Variant::Vmm3a);
}

fn vmm2(bytes: &[u8]) {
    let numbering = Vmm2Packet::numbering(bytes);
    let packet = match Vmm2Packet::parse(bytes) {
        Ok(Vmm2Content::Readouts(packet)) => packet,
        Ok(Vmm2Content::EndOfFrame) => return assert_eq!(numbering, None, "an end of frame has a number"),
        Ok(Vmm2Content::NoData) => return assert!(numbering.is_some(), "a sign of life has no number"),
        Err(rejection) => return rejected(rejection, numbering),
    };
    assert_eq!(
        numbering,
        Some(Numbering { fec: 0, frame_counter: packet.frame_counter, time: Some(packet.trigger_stamp) })
    );
    let readouts: Vec<_> = packet.readouts().collect();
    assert_eq!((packet.len(), packet.is_empty()), (readouts.len(), false));
    assert_eq!(bytes.len(), 12 + 8 * readouts.len(), "bytes that belong to no readout");
    readouts.iter().for_each(in_range);

    let mut encoder = Vmm2Encoder::default();
    encoder.begin(packet.frame_counter, packet.chip, packet.trigger_stamp);
    let fitting = readouts.iter().take_while(|readout| encoder.push(readout)).count();
    let Ok(Vmm2Content::Readouts(again)) = Vmm2Packet::parse(encoder.packet()) else {
        panic!("an encoded packet is rejected");
    };
    assert_eq!(
        (again.frame_counter, again.chip, again.trigger_stamp),
        (packet.frame_counter, packet.chip, packet.trigger_stamp)
    );
    assert!(again.readouts().eq(readouts.into_iter().take(fitting)), "readouts changed on the way");
}

fn vmm3(bytes: &[u8], variant: Vmm3Variant) {
    let numbering = Vmm3Packet::numbering(bytes, variant);
    let packet = match Vmm3Packet::parse(bytes, variant) {
        Ok(packet) => packet,
        Err(rejection) => return rejected(rejection, numbering),
    };
    let (fec, frame_counter) = (packet.fec, packet.frame_counter);
    assert_eq!(numbering, Some(Numbering { fec, frame_counter, time: Some(packet.send_stamp) }));
    assert_ne!(frame_counter, END_OF_FRAME);
    let largest_fec = if variant == Vmm3Variant::Of2018 { 256 } else { 15 };
    assert!((1..=largest_fec).contains(&fec), "FEC {fec}");

    let mut words = packet.words();
    for left in (0..packet.len()).rev() {
        match words.next().expect("fewer words than the packet's length says") {
            Word::Readout(readout) => in_range(&readout),
            Word::Marker(marker) => {
                assert!(marker.chip < 32 && marker.stamp < 1 << 42, "{marker:?}");
                let triggered = TriggerMarker::from(marker);
                let again = TriggerMarker::from(TimeMarker::from(triggered));
                assert_eq!(again, triggered, "the meaning changed on the way");
            }
        }
        assert_eq!((words.len(), words.remaining_bytes()), (left, 6 * left));
    }
    assert_eq!(words.next(), None);
    assert_eq!((bytes.len(), packet.is_empty()), (16 + 6 * packet.len(), false));

    let mut encoder = Vmm3Encoder::new(variant);
    encoder.begin(frame_counter, fec, packet.send_stamp);
    let fitting = packet
        .words()
        .take_while(|word| match word {
            Word::Readout(readout) => encoder.push_readout(readout),
            Word::Marker(marker) => encoder.push_marker(marker),
        })
        .count();
    assert_eq!(encoder.len(), fitting);
    let again = Vmm3Packet::parse(encoder.packet(), variant).expect("an encoded packet is rejected");
    assert_eq!((again.frame_counter, again.fec, again.send_stamp), (frame_counter, fec, packet.send_stamp));
    assert!(again.words().eq(packet.words().take(fitting)), "words changed on the way");
    // Every bit of a word has a meaning, so that the bytes must be the same ones, too.
    assert_eq!(encoder.packet()[16..], bytes[16..16 + 6 * fitting]);
}

/// A packet whose sender cannot be told has no number; one that is merely ragged has.
fn rejected(rejection: Rejection, numbering: Option<Numbering>) {
    match rejection {
        Rejection::EndOfFrame | Rejection::WrongDataId(_) | Rejection::NoSuchFec => {
            assert_eq!(numbering, None, "{rejection:?}");
        }
        Rejection::RaggedLength => assert!(numbering.is_some(), "{rejection:?}"),
        Rejection::TooShort | Rejection::NoReadouts => {}
    }
}

fn in_range(readout: &VmmReadout) {
    let VmmReadout { chip, channel, bunch_crossing, adc, trigger_offset, .. } = *readout;
    let sound = chip < 32 && channel < 64 && bunch_crossing < 4096 && adc < 1024 && trigger_offset < 32;
    assert!(sound, "{readout:?}");
}
