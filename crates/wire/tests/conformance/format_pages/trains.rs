//! Packets of trains to text.

use crate::format_pages::fields::{Fields, rejected};
use evforge_wire::train::{StreamHeader, Train, TrainPacket};

/// What stands before a train over TCP (variant `stream`); a packet (variant `packet`), and the train if it holds a whole one (variant `image-bytes=` and the size of an image).
pub(crate) fn train_packet(bytes: &[u8], variant: &str, out: &mut Fields) -> Result<(), String> {
    if variant == "stream" {
        return stream_header(bytes, out);
    }
    let TrainPacket { trailer, data } = TrainPacket::parse(bytes).map_err(rejected)?;
    out.put("frame", trailer.frame);
    out.put("packet", trailer.packet);
    out.put("first", trailer.is_first);
    out.put("last", trailer.is_last);
    out.put("bytes of data", data.len());
    if variant == "packet" {
        return Ok(());
    }
    let image_bytes =
        variant.strip_prefix("image-bytes=").ok_or("neither stream, packet nor image-bytes=")?;
    train(data, image_bytes.parse().map_err(rejected)?, out)
}

fn stream_header(bytes: &[u8], out: &mut Fields) -> Result<(), String> {
    let header = StreamHeader::parse(bytes.try_into().map_err(rejected)?).map_err(rejected)?;
    out.put("module", header.module);
    out.put("sender", header.sender);
    out.put("sequence", header.sequence);
    out.put("train", header.train);
    out.put("bytes", header.bytes);
    Ok(())
}

fn train(bytes: &[u8], image_bytes: usize, out: &mut Fields) -> Result<(), String> {
    let train = Train::parse(bytes, image_bytes).map_err(rejected)?;
    let header = train.header();
    out.put("version", format!("{}.{}", header.major_version, header.minor_version));
    out.put("train", header.train);
    out.put("data", header.data);
    out.put("links", format!("{} and {}", header.detector_link, header.builder_link));
    out.put("images", header.images);
    for index in 0..train.layout().images() {
        let image = train.image(index).ok_or("an image that is not there")?;
        let values: Vec<_> = image.as_chunks().0.iter().map(|&value| u16::from_le_bytes(value)).collect();
        let about = train.descriptor(index).ok_or("an image of which nothing is said")?;
        let (cell, pulse) = (about.cell, about.pulse);
        let text = format!(
            "{values:?}, cell {cell}, pulse {pulse}, status {}, length {}",
            about.status, about.length
        );
        out.put(format!("image[{index}]"), text);
    }
    out.put("detector's own", format!("{} bytes", train.specific().len()));
    out.put("builder's own", format!("{} bytes", train.builder().len()));
    let digits = train.trailer().checksum.map(|byte| format!("{byte:02x}"));
    out.put("checksum", digits.concat());
    out.put("status", train.trailer().status);
    Ok(())
}
