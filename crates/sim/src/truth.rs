//! The truth: what a simulation knows of each neutron, and the file that it travels in.
//!
//! The file is CSV with the columns of [`HEADER`], in the order of the neutrons' times; readers find columns by
//! name, so that more may follow.

use crate::columns::{self, ColumnError};
use evforge_core::event::PixelId;
use std::io::{BufRead, Write};

/// A neutron that was simulated, with what ideal electronics and an ideal reconstruction would make of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Neutron {
    /// Its number, from 0 in the order of time.
    pub number: u64,
    /// Time of its event in nanoseconds on the clock of the events.
    pub time_ns: u64,
    /// Pixel of its event.
    pub pixel_id: PixelId,
    /// The part of the detector that it hit and that is reconstructed by itself: panel, cassette, column of grids or
    /// module, from 0.
    pub module: u32,
    /// Where it was: column, row and layer in its panel, in pixels. Pixel *i* reaches from *i* to *i* + 1.
    pub position: [f64; 3],
    /// True if a perfect reconstruction could tell it apart, given the electronics ([`crate::resolvable`]).
    pub resolvable: bool,
}

/// The first line of the file.
pub const HEADER: &str = "neutron,time_ns,pixel_id,module,x,y,z,resolvable";

/// Writes the header of a truth file.
///
/// # Errors
/// What the writer says.
pub fn write_header(writer: &mut impl Write) -> std::io::Result<()> {
    writeln!(writer, "{HEADER}")
}

/// Writes neutrons, a line for each.
///
/// # Errors
/// What the writer says.
pub fn write(neutrons: &[Neutron], writer: &mut impl Write) -> std::io::Result<()> {
    for neutron in neutrons {
        let Neutron { number, time_ns, pixel_id, module, position: [x, y, z], resolvable } = neutron;
        let resolvable = u8::from(*resolvable);
        writeln!(writer, "{number},{time_ns},{pixel_id},{module},{x:.3},{y:.3},{z:.3},{resolvable}")?;
    }
    Ok(())
}

/// Reads a truth file.
///
/// # Errors
/// The first line that is not what it should be.
pub fn read(reader: impl BufRead) -> Result<Vec<Neutron>, ColumnError> {
    let names = ["neutron", "time_ns", "pixel_id", "module", "x", "y", "z", "resolvable"];
    columns::read(reader, names, "a truth file of evforge", parse)
}

fn parse([number, time_ns, pixel_id, module, x, y, z, resolvable]: [&str; 8]) -> Option<Neutron> {
    let finite = |text: &str| text.parse().ok().filter(|value: &f64| value.is_finite());
    Some(Neutron {
        number: number.parse().ok()?,
        time_ns: time_ns.parse().ok()?,
        pixel_id: pixel_id.parse().ok()?,
        module: module.parse().ok()?,
        position: [finite(x)?, finite(y)?, finite(z)?],
        resolvable: match resolvable {
            "0" => false,
            "1" => true,
            _ => return None,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read_again(
            rows in prop::collection::vec((any::<[u32; 4]>(), any::<bool>(), any::<u64>()), 0..20),
        ) {
            let neutrons: Vec<Neutron> = rows
                .iter()
                .enumerate()
                .map(|(number, &([pixel_id, module, x, y], resolvable, time_ns))| Neutron {
                    number: number as u64,
                    time_ns,
                    pixel_id,
                    module,
                    position: [f64::from(x) / 8.0, f64::from(y) / 8.0, 0.0],
                    resolvable,
                })
                .collect();
            let mut file = Vec::new();
            write_header(&mut file).unwrap();
            write(&neutrons, &mut file).unwrap();
            prop_assert_eq!(read(&file[..]).unwrap(), neutrons);
        }

        #[test]
        fn any_text_is_read_or_refused(text: String) {
            let _ = read(format!("{HEADER}\n{text}").as_bytes());
            let _ = read(text.as_bytes());
        }
    }

    #[test]
    fn columns_are_found_by_name_and_errors_name_the_line() {
        let file = "resolvable,z,y,x,module,pixel_id,time_ns,neutron,more\n1,0,2.5,1.5,3,7,99,0,x\n";
        let [neutron] = read(file.as_bytes()).unwrap()[..] else { panic!("one neutron") };
        assert_eq!((neutron.time_ns, neutron.pixel_id, neutron.position), (99, 7, [1.5, 2.5, 0.0]));
        let error = read("time_ns,pixel_id\n".as_bytes()).unwrap_err().to_string();
        assert!(error.contains("line 1: no column `neutron`"), "{error}");
        let error = read(format!("{HEADER}\n0,1,2,3,4,5,6,7\n").as_bytes()).unwrap_err().to_string();
        assert!(error.starts_with("line 2: `0,1,2,3,4,5,6,7` is not"), "{error}");
    }
}
