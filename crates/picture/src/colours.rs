//! The colours of counts: from dark blue over teal to pale yellow, brighter for more in even steps for the eye, and readable
//! without telling red from green. A few are given; those between are mixed in the colour space OKLab.

use std::fmt::Write as _;
use std::sync::OnceLock;

/// Red, green, blue.
pub type Rgb = [u8; 3];

/// How many colours there are between few and many counts.
pub const COLOUR_STEPS: usize = 256;

/// The colour of no counts at all.
pub const EMPTY_COLOUR: Rgb = [9, 10, 24];

const GIVEN: [Rgb; 7] = [
    [28, 26, 74],
    [44, 62, 140],
    [30, 112, 158],
    [24, 158, 140],
    [118, 196, 84],
    [226, 214, 76],
    [255, 248, 208],
];

/// The colours from few to many counts.
pub fn colours() -> &'static [Rgb; COLOUR_STEPS] {
    static TABLE: OnceLock<[Rgb; COLOUR_STEPS]> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mixed = GIVEN.map(to_oklab);
        std::array::from_fn(|step| {
            let place = step as f64 / (COLOUR_STEPS - 1) as f64 * (mixed.len() - 1) as f64;
            let below = (place as usize).min(mixed.len() - 2);
            let part = place - below as f64;
            let (low, high) = (mixed[below], mixed[below + 1]);
            from_oklab(std::array::from_fn(|at| low[at] + (high[at] - low[at]) * part))
        })
    })
}

/// The table as the page has it: the content of `web/src/colour_table.ts`.
pub fn page_table() -> String {
    let hex = |[red, green, blue]: Rgb| format!("{red:02x}{green:02x}{blue:02x}");
    let mut text = String::from(
        "/** Colours of counts. Generated from crates/picture/src/colours.rs by `make colours`; do not edit. */\n\n\
         /** Pixels without counts: red, green and blue in hexadecimal. */\n",
    );
    let _ = writeln!(text, "export const emptyColour = \"{}\";\n", hex(EMPTY_COLOUR));
    text.push_str("/** From few to many counts, six digits each. */\nexport const colourTable =\n");
    let rows = colours()
        .chunks(16)
        .map(|row| format!("  \"{}\"", row.iter().map(|&rgb| hex(rgb)).collect::<String>()));
    text.push_str(&rows.collect::<Vec<_>>().join(" +\n"));
    text.push_str(";\n");
    text
}

fn to_linear(channel: u8) -> f64 {
    let value = f64::from(channel) / 255.0;
    if value <= 0.04045 { value / 12.92 } else { libm::pow((value + 0.055) / 1.055, 2.4) }
}

fn from_linear(value: f64) -> u8 {
    let channel =
        if value <= 0.003_130_8 { value * 12.92 } else { 1.055 * libm::pow(value, 1.0 / 2.4) - 0.055 };
    (channel.clamp(0.0, 1.0) * 255.0).round() as u8
}

fn to_oklab(colour: Rgb) -> [f64; 3] {
    let [r, g, b] = colour.map(to_linear);
    let l = libm::cbrt(0.412_221_470_8 * r + 0.536_332_536_3 * g + 0.051_445_992_9 * b);
    let m = libm::cbrt(0.211_903_498_2 * r + 0.680_699_545_1 * g + 0.107_396_956_6 * b);
    let s = libm::cbrt(0.088_302_461_9 * r + 0.281_718_837_6 * g + 0.629_978_700_5 * b);
    [
        0.210_454_255_3 * l + 0.793_617_785 * m - 0.004_072_046_8 * s,
        1.977_998_495_1 * l - 2.428_592_205 * m + 0.450_593_709_9 * s,
        0.025_904_037_1 * l + 0.782_771_766_2 * m - 0.808_675_766 * s,
    ]
}

fn from_oklab([lightness, a, b]: [f64; 3]) -> Rgb {
    let cube = |value: f64| value * value * value;
    let l = cube(lightness + 0.396_337_777_4 * a + 0.215_803_757_3 * b);
    let m = cube(lightness - 0.105_561_345_8 * a - 0.063_854_172_8 * b);
    let s = cube(lightness - 0.089_484_177_5 * a - 1.291_485_548 * b);
    [
        from_linear(4.076_741_662_1 * l - 3.307_711_591_3 * m + 0.230_969_929_2 * s),
        from_linear(-1.268_438_004_6 * l + 2.609_757_401_1 * m - 0.341_319_396_5 * s),
        from_linear(-0.004_196_086_3 * l - 0.703_418_614_7 * m + 1.707_614_701 * s),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_given_colours_are_at_the_ends_and_it_gets_brighter_all_the_way() {
        let table = colours();
        assert_eq!((table[0], table[COLOUR_STEPS - 1]), (GIVEN[0], GIVEN[6]));
        let light: Vec<f64> = table.iter().map(|&colour| to_oklab(colour)[0]).collect();
        // Rounding to 8 bits may take a thousandth.
        assert!(light.windows(2).all(|pair| pair[1] > pair[0] - 0.001), "{light:?}");
        assert!(to_oklab(EMPTY_COLOUR)[0] < light[0]);
    }

    #[test]
    fn no_colour_is_that_of_nothing() {
        assert!(!colours().contains(&EMPTY_COLOUR));
    }
}
