//! The little of MessagePack that the bridge's messages need: maps with texts as keys.

/// A map that is being written.
#[derive(Debug)]
pub(super) struct Map {
    bytes: Vec<u8>,
    entries: u8,
}

impl Map {
    /// An empty one; it can have 15 entries.
    pub(super) fn new() -> Self {
        Self { bytes: vec![0x80], entries: 0 }
    }

    pub(super) fn text(self, key: &str, value: &str) -> Self {
        self.entry(key, |bytes| text(bytes, value))
    }

    pub(super) fn number(self, key: &str, value: u64) -> Self {
        self.entry(key, |bytes| number(bytes, value))
    }

    pub(super) fn real(self, key: &str, value: f64) -> Self {
        self.entry(key, |bytes| {
            bytes.push(0xcb);
            bytes.extend_from_slice(&value.to_be_bytes());
        })
    }

    /// A list of at most 15 numbers.
    pub(super) fn numbers(self, key: &str, values: &[usize]) -> Self {
        debug_assert!(values.len() < 16);
        self.entry(key, |bytes| {
            bytes.push(0x90 | values.len() as u8);
            values.iter().for_each(|&value| number(bytes, value as u64));
        })
    }

    pub(super) fn map(self, key: &str, value: Self) -> Self {
        self.entry(key, |bytes| bytes.extend_from_slice(&value.bytes))
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    fn entry(mut self, key: &str, value: impl FnOnce(&mut Vec<u8>)) -> Self {
        debug_assert!(self.entries < 15, "{key} is one entry too many");
        self.entries += 1;
        self.bytes[0] = 0x80 | self.entries;
        text(&mut self.bytes, key);
        value(&mut self.bytes);
        self
    }
}

/// A text of less than 64 KiB; what is beyond is cut off.
fn text(to: &mut Vec<u8>, text: &str) {
    let bytes = &text.as_bytes()[..text.floor_char_boundary(usize::from(u16::MAX))];
    match bytes.len() {
        short @ 0..32 => to.push(0xa0 | short as u8),
        long => {
            to.push(0xda);
            to.extend_from_slice(&(long as u16).to_be_bytes());
        }
    }
    to.extend_from_slice(bytes);
}

fn number(to: &mut Vec<u8>, value: u64) {
    match value {
        small @ 0..128 => to.push(small as u8),
        large => {
            to.push(0xcf);
            to.extend_from_slice(&large.to_be_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_are_those_of_the_specification() {
        let map = Map::new().number("a", 127).number("b", 128).numbers("c", &[1, 2]).real("d", 1.5);
        let expected =
            b"\x84\xa1a\x7f\xa1b\xcf\0\0\0\0\0\0\0\x80\xa1c\x92\x01\x02\xa1d\xcb\x3f\xf8\0\0\0\0\0\0";
        assert_eq!(map.into_bytes(), expected);
        let long = "x".repeat(300);
        let map = Map::new().map("m", Map::new().text("t", "u")).text("l", &long).into_bytes();
        assert_eq!(map[..8], *b"\x82\xa1m\x81\xa1t\xa1u");
        assert_eq!(map[8..13], *b"\xa1l\xda\x01\x2c");
        assert_eq!(map.len(), 13 + 300);
    }
}
