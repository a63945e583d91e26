//! What a page is told over its WebSocket, as far as a client without a screen needs it.

use serde::Deserialize;

/// The version of what is said that is understood here.
const PROTOCOL: u64 = 3;
/// The beginning of a frame: `EVFV`, and the version of its format.
const FRAME: &[u8] = b"EVFV\x03";

/// A text.
#[derive(Debug, Deserialize, PartialEq)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(super) enum Told {
    /// The greeting.
    Hello {
        protocol: u64,
        #[serde(default)]
        pictures: Vec<ToldPicture>,
    },
    /// What was wanted cannot be.
    Refused { message: String },
    /// An update.
    Status { number: u64, frames: Vec<usize>, skipped: u64, events: u64 },
}

/// A picture that there is.
#[derive(Debug, Deserialize, PartialEq)]
pub(super) struct ToldPicture {
    name: String,
    across: ToldAxis,
    up: ToldAxis,
}

/// An axis of it.
#[derive(Debug, Deserialize, PartialEq)]
struct ToldAxis {
    pixels: u32,
}

/// What a client wants to see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wants {
    /// The first picture of everything, which it gets if it says nothing.
    Everything,
    /// A slice of the first picture, with 16 regions.
    Regions,
}

impl Wants {
    /// What it says.
    pub(super) fn looks(self, pictures: &[ToldPicture]) -> Option<String> {
        let picture = pictures.first().filter(|_| self == Self::Regions)?;
        let [width, height] =
            [picture.across.pixels, picture.up.pixels].map(|pixels| f64::from(pixels) / 4.0);
        let regions: Vec<_> = (0..16_u8)
            .map(|number| {
                let [left, bottom] = [f64::from(number % 4) * width, f64::from(number / 4) * height];
                let points = [[left, bottom], [left + width, bottom + height]];
                serde_json::json!({"name": format!("region {number}"), "shape": "rectangle", "points": points})
            })
            .collect();
        let look = serde_json::json!({
            "picture": picture.name, "points": [640, 640], "slice_ns": [0, 60_000_000], "regions": regions,
        });
        Some(serde_json::json!({"type": "looks", "looks": [look]}).to_string())
    }
}

/// Reads a text; a greeting of another version is refused.
pub(super) fn told(text: &str) -> Result<Told, String> {
    match serde_json::from_str(text).map_err(|error| format!("it says what is not understood: {error}"))? {
        Told::Hello { protocol, .. } if protocol != PROTOCOL => {
            Err(format!("it speaks version {protocol} of the page's WebSocket, expected {PROTOCOL}"))
        }
        told => Ok(told),
    }
}

/// Makes sure that these are pictures.
pub(super) fn check_frame(bytes: &[u8]) -> Result<(), String> {
    match bytes.starts_with(FRAME) {
        true => Ok(()),
        false => Err(format!(
            "found {:02x?} at the beginning of a frame, expected {FRAME:02x?}",
            &bytes[..bytes.len().min(5)]
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_page_is_told_is_read_with_whatever_else_is_in_it() {
        let status =
            r#"{"type":"status","number":7,"frames":[0],"skipped":1,"points":[],"events":42,"alarms":["x"]}"#;
        assert_eq!(told(status), Ok(Told::Status { number: 7, frames: vec![0], skipped: 1, events: 42 }));
        assert_eq!(
            told(r#"{"type":"hello","protocol":3,"title":"x"}"#),
            Ok(Told::Hello { protocol: 3, pictures: Vec::new() })
        );
        assert!(told(r#"{"type":"hello","protocol":2}"#).unwrap_err().contains("version 2"));
        assert!(told(r#"{"type":"status","number":7}"#).unwrap_err().contains("frames"));
    }

    #[test]
    fn a_frame_of_another_version_is_refused() {
        assert_eq!(check_frame(b"EVFV\x03\x01"), Ok(()));
        assert!(check_frame(b"EVFV\x02\x01").is_err());
        assert!(check_frame(b"").is_err());
    }
}
