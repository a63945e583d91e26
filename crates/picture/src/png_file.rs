//! Points as a PNG.

use std::io::Cursor;

/// A picture cannot be encoded.
#[derive(Debug, thiserror::Error)]
#[error("the picture cannot be encoded as PNG: {0}")]
pub struct PictureError(#[from] png::EncodingError);

/// Encodes `width` x `height` points (three bytes each, from the top left) as a PNG, with `texts` in it: keyword and content.
///
/// # Errors
/// If there are not as many points, or a text cannot be written in ISO 8859-1.
pub fn encode_png(
    width: u32,
    height: u32,
    points: &[u8],
    texts: &[(&str, String)],
) -> Result<Vec<u8>, PictureError> {
    let mut bytes = Cursor::new(Vec::new());
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    for (keyword, text) in texts {
        encoder.add_itxt_chunk((*keyword).to_owned(), text.clone())?;
    }
    let mut writer = encoder.write_header()?;
    writer.write_image_data(points)?;
    writer.finish()?;
    Ok(bytes.into_inner())
}
