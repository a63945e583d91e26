//! Looks as files: CSV for spreadsheets, NumPy for programs, PNG for people.

use crate::look_frame::LookFrame;
use std::fmt::Write as _;

/// An image as CSV: column, row and counts of each pixel, row by row from the bottom. Columns and rows are those of the picture; of a
/// block of pixels, its first.
pub(crate) fn image_csv(frame: &LookFrame) -> String {
    let [x0, y0, ..] = frame.head.part;
    let [across, up] = frame.head.block;
    let mut text = String::from("x,y,counts\n");
    for (&count, at) in frame.image.counts.iter().zip(0_u32..) {
        let (column, row) = (at % frame.image.nx, at / frame.image.nx);
        let _ = writeln!(text, "{},{},{count}", x0 + column * across, y0 + row * up);
    }
    text
}

/// Spectra as CSV: the beginning and the end of each bin in nanoseconds, counts of the whole picture and of each region.
pub(crate) fn spectrum_csv(frame: &LookFrame) -> String {
    let mut text = String::from("from_ns,to_ns,counts");
    for region in &frame.head.regions {
        // A name can hold what separates columns.
        let _ = write!(text, ",\"{}\"", region.name.replace('"', "\"\""));
    }
    text.push('\n');
    let bins = frame.head.bins;
    for (bin, count) in frame.spectrum.iter().enumerate() {
        let from = u64::from(bins.from_ns) + bin as u64 * u64::from(bins.width_ns);
        let _ = write!(text, "{from},{},{count}", from + u64::from(bins.width_ns));
        for spectrum in &frame.region_spectra {
            let _ = write!(text, ",{}", spectrum.get(bin).copied().unwrap_or(0));
        }
        text.push('\n');
    }
    text
}

/// An image as an array for NumPy: rows from the bottom, of columns.
pub(crate) fn image_npy(frame: &LookFrame) -> Vec<u8> {
    npy([frame.image.ny as usize, frame.image.nx as usize], frame.image.counts.iter().copied())
}

/// Spectra as an array for NumPy: that of the whole picture, then those of the regions, of bins.
pub(crate) fn spectrum_npy(frame: &LookFrame) -> Vec<u8> {
    let all = std::iter::once(&frame.spectrum).chain(&frame.region_spectra).flatten().copied();
    npy([1 + frame.region_spectra.len(), frame.spectrum.len()], all)
}

/// A two-dimensional array of unsigned integers of 64 bits.
fn npy(shape: [usize; 2], counts: impl Iterator<Item = u64>) -> Vec<u8> {
    npy_of("<u8", shape, counts.map(u64::to_le_bytes))
}

/// A two-dimensional array of doubles for NumPy.
pub(crate) fn npy_f8(shape: [usize; 2], values: impl Iterator<Item = f64>) -> Vec<u8> {
    npy_of("<f8", shape, values.map(f64::to_le_bytes))
}

/// A two-dimensional array in version 1.0 of NumPy's format.
fn npy_of(kind: &str, [rows, columns]: [usize; 2], values: impl Iterator<Item = [u8; 8]>) -> Vec<u8> {
    let mut header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({rows}, {columns}), }}");
    // The data begin at a multiple of 64, and the header ends with a new line.
    let length = (10 + header.len() + 1).next_multiple_of(64) - 10;
    while header.len() + 1 < length {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    values.for_each(|value| bytes.extend(value));
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::look_frame::{HeadRegion, LookHead};
    use crate::spectrum::TimeBins;
    use evforge_picture::Image;

    #[test]
    fn the_formats_are_what_they_say() {
        let frame = LookFrame {
            head: LookHead {
                part: [4, 6, 8, 8],
                block: [2, 1],
                bins: TimeBins { from_ns: 10, width_ns: 5, count: 2 },
                regions: vec![HeadRegion { name: "a\"b".into(), ..HeadRegion::default() }],
                ..LookHead::default()
            },
            image: Image { nx: 2, ny: 2, counts: vec![1, 2, 3, 4] },
            spectrum: vec![7, 8],
            region_spectra: vec![vec![5, 6]],
            ..LookFrame::default()
        };
        assert_eq!(image_csv(&frame), "x,y,counts\n4,6,1\n6,6,2\n4,7,3\n6,7,4\n");
        assert_eq!(spectrum_csv(&frame), "from_ns,to_ns,counts,\"a\"\"b\"\n10,15,7,5\n15,20,8,6\n");
        let npy = image_npy(&frame);
        assert_eq!((npy.len(), &npy[128..136]), (128 + 32, &1_u64.to_le_bytes()[..]));
        assert!(String::from_utf8_lossy(&npy[..128]).contains("'shape': (2, 2), }"));
        assert!(spectrum_npy(&frame).ends_with(&6_u64.to_le_bytes()));
    }
}
