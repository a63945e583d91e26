//! Single packets of CAEN digitisers, as records and as both versions of jadaq.

use evforge_wire::caen::{
    ElementType, JadaqEncoder, JadaqPacket, JadaqVersion, Numbering, RecordEncoder, RecordPacket, Rejection,
};

/// Parses `bytes` as a packet of every format. What parses is encoded and parsed again.
///
/// # Panics
/// If numbering and packet disagree, if the lengths do not add up, or if the content changes on the way.
pub fn caen(bytes: &[u8]) {
    records(bytes);
    jadaq(bytes, JadaqVersion::OfJune2018);
    jadaq(bytes, JadaqVersion::V1_3);
}

fn records(bytes: &[u8]) {
    let packet = match RecordPacket::parse(bytes) {
        Ok(packet) => packet,
        Err(Rejection::Empty) => return assert!(bytes.is_empty()),
        Err(Rejection::RaggedLength) => return assert_ne!(bytes.len() % 8, 0),
        Err(rejection) => panic!("records cannot be rejected as {rejection:?}"),
    };
    assert_eq!((8 * packet.len(), packet.is_empty()), (bytes.len(), false));
    assert_eq!(packet.records().len(), packet.len());
    let mut encoder = RecordEncoder::default();
    encoder.begin();
    let fitting = packet.records().take_while(|record| encoder.push(record)).count();
    assert_eq!(encoder.packet(), &bytes[..8 * fitting]);
    for (record, bytes) in packet.records().zip(bytes.chunks_exact(8)) {
        assert_eq!(record.is_end_of_run(), bytes == [0xFF; 8]);
    }
}

fn jadaq(bytes: &[u8], version: JadaqVersion) {
    let numbering = JadaqPacket::numbering(bytes, version);
    let packet = match JadaqPacket::parse(bytes, version) {
        Ok(packet) => packet,
        Err(rejection) => return rejected(rejection, version, numbering),
    };
    let expected =
        Numbering { digitizer: packet.digitizer, sequence: packet.sequence, global_time: packet.global_time };
    assert_eq!(numbering, (version == JadaqVersion::V1_3).then_some(expected));
    assert_eq!(version == JadaqVersion::OfJune2018, packet.element_type == ElementType::OfJune2018);
    assert_eq!(bytes.len(), 32 + packet.element_type.size() * packet.len());
    assert_eq!((packet.elements().len(), packet.elements().count()), (packet.len(), packet.len()));
    assert_eq!(packet.is_empty(), bytes.len() == 32);

    let mut encoder = JadaqEncoder::new(packet.element_type);
    encoder.begin(packet.run, packet.global_time, packet.digitizer, packet.sequence);
    let fitting = packet.elements().take_while(|element| encoder.push(element)).count();
    let again = JadaqPacket::parse(encoder.packet(), version).expect("an encoded packet is rejected");
    assert_eq!(
        (again.run, again.global_time, again.digitizer, again.sequence),
        (packet.run, packet.global_time, packet.digitizer, packet.sequence)
    );
    assert!(again.elements().eq(packet.elements().take(fitting)), "elements changed on the way");
    // Every bit of an element has a meaning, so that the bytes must be the same ones, too.
    let end = 32 + fitting * packet.element_type.size();
    assert_eq!(encoder.packet()[32..], bytes[32..end]);
}

/// A packet of another version has no number that could be trusted; any other of 1.3 has one.
fn rejected(rejection: Rejection, version: JadaqVersion, numbering: Option<Numbering>) {
    let numbered = match rejection {
        Rejection::TooShort | Rejection::WrongVersion(_) => false,
        Rejection::Waveform(number) => {
            assert!(number == 3 || number & 0x100 != 0);
            true
        }
        Rejection::UnknownElementType(_) => true,
        Rejection::RaggedLength => version == JadaqVersion::V1_3,
        Rejection::Empty => panic!("jadaq packets are too short and not empty"),
    };
    assert_eq!(numbering.is_some(), numbered, "{rejection:?}");
}
