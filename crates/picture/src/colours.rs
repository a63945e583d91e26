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

/// Every fifteenth colour of viridis (N. J. Smith, S. van der Walt, CC0).
const VIRIDIS: [Rgb; 18] = [
    [68, 1, 84],
    [72, 23, 105],
    [71, 42, 122],
    [67, 61, 132],
    [61, 78, 138],
    [53, 94, 141],
    [46, 109, 142],
    [41, 123, 142],
    [35, 137, 142],
    [31, 151, 139],
    [33, 165, 133],
    [46, 179, 124],
    [70, 192, 111],
    [101, 203, 94],
    [137, 213, 72],
    [176, 221, 47],
    [216, 226, 25],
    [253, 231, 37],
];

/// Every fifteenth colour of cividis (J. R. Nuñez, C. R. Anderton, R. S. Renslow, doi:10.1371/journal.pone.0199239, CC0).
const CIVIDIS: [Rgb; 18] = [
    [0, 34, 78],
    [0, 45, 104],
    [22, 55, 112],
    [46, 65, 109],
    [63, 76, 108],
    [78, 86, 108],
    [92, 97, 110],
    [105, 107, 113],
    [118, 118, 118],
    [131, 129, 121],
    [146, 140, 120],
    [160, 152, 117],
    [175, 164, 113],
    [191, 176, 107],
    [207, 189, 98],
    [223, 202, 87],
    [240, 216, 70],
    [254, 232, 56],
];

/// From blue over a pale grey to orange: what is less, equal and more, for those who cannot tell red from green, too.
const DIFFERENCE: [Rgb; 7] = [
    [8, 48, 107],
    [42, 110, 184],
    [146, 190, 227],
    [240, 240, 240],
    [243, 178, 108],
    [209, 101, 20],
    [110, 42, 4],
];

/// A table of colours. All can be read without telling red from green.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColourMap {
    /// From dark blue over teal to pale yellow: that of pictures unless another one is chosen.
    Evforge,
    /// The map of many plotting programs, from violet to yellow.
    Viridis,
    /// From blue to yellow: looks the same with and without red and green.
    Cividis,
    /// From blue over pale grey to orange, for differences and ratios.
    Difference,
}

impl ColourMap {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Evforge, Self::Viridis, Self::Cividis, Self::Difference];

    /// What programs call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Evforge => "evforge",
            Self::Viridis => "viridis",
            Self::Cividis => "cividis",
            Self::Difference => "difference",
        }
    }

    /// The colours from few to many counts, or from less to more.
    pub fn table(self) -> &'static [Rgb; COLOUR_STEPS] {
        static TABLES: [OnceLock<[Rgb; COLOUR_STEPS]>; 4] = [const { OnceLock::new() }; 4];
        let (table, given): (_, &[Rgb]) = match self {
            Self::Evforge => (&TABLES[0], &GIVEN),
            Self::Viridis => (&TABLES[1], &VIRIDIS),
            Self::Cividis => (&TABLES[2], &CIVIDIS),
            Self::Difference => (&TABLES[3], &DIFFERENCE),
        };
        table.get_or_init(|| mixed(given))
    }
}

/// The colours from few to many counts.
pub fn colours() -> &'static [Rgb; COLOUR_STEPS] {
    ColourMap::Evforge.table()
}

/// A table through `given` colours at equal distances; there are at least two.
fn mixed(given: &[Rgb]) -> [Rgb; COLOUR_STEPS] {
    let places: Vec<[f64; 3]> = given.iter().map(|&colour| to_oklab(colour)).collect();
    std::array::from_fn(|step| {
        let place = step as f64 / (COLOUR_STEPS - 1) as f64 * (places.len() - 1) as f64;
        let below = (place as usize).min(places.len() - 2);
        let part = place - below as f64;
        let (low, high) = (places[below], places[below + 1]);
        from_oklab(std::array::from_fn(|at| low[at] + (high[at] - low[at]) * part))
    })
}

/// The tables as the page has them: the content of `web/src/colour_table.ts`.
pub fn page_table() -> String {
    let hex = |[red, green, blue]: Rgb| format!("{red:02x}{green:02x}{blue:02x}");
    let mut text = String::from(
        "/** Colours of counts. Generated from crates/picture/src/colours.rs by `make colours`; do not edit. */\n\n\
         /** Pixels without counts: red, green and blue in hexadecimal. */\n",
    );
    let _ = writeln!(text, "export const emptyColour = \"{}\";\n", hex(EMPTY_COLOUR));
    text.push_str(
        "/** From few to many counts, six digits each; `difference` from less to more. */\nexport const colourTables = {\n",
    );
    for map in ColourMap::ALL {
        let _ = writeln!(text, "  {}:", map.name());
        let rows = map
            .table()
            .chunks(16)
            .map(|row| format!("    \"{}\"", row.iter().map(|&rgb| hex(rgb)).collect::<String>()));
        text.push_str(&rows.collect::<Vec<_>>().join(" +\n"));
        text.push_str(",\n");
    }
    text.push_str("};\n");
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
        assert_eq!((colours()[0], colours()[COLOUR_STEPS - 1]), (GIVEN[0], GIVEN[6]));
        for map in [ColourMap::Evforge, ColourMap::Viridis, ColourMap::Cividis] {
            let light: Vec<f64> = map.table().iter().map(|&colour| to_oklab(colour)[0]).collect();
            // Rounding to 8 bits may take a few thousandths.
            assert!(light.windows(2).all(|pair| pair[1] > pair[0] - 0.003), "{}: {light:?}", map.name());
            assert!(to_oklab(EMPTY_COLOUR)[0] < light[0], "{}", map.name());
        }
    }

    #[test]
    fn given_colours_keep_their_places_and_a_difference_is_palest_in_the_middle() {
        for (map, given) in [(ColourMap::Viridis, VIRIDIS), (ColourMap::Cividis, CIVIDIS)] {
            assert!(
                given.iter().zip(0..).all(|(colour, at)| map.table()[15 * at] == *colour),
                "{}",
                map.name()
            );
        }
        let light: Vec<f64> =
            ColourMap::Difference.table().iter().map(|&colour| to_oklab(colour)[0]).collect();
        let (less, more) = light.split_at(COLOUR_STEPS / 2);
        assert!(less.windows(2).all(|pair| pair[1] > pair[0] - 0.003), "{less:?}");
        assert!(more.windows(2).all(|pair| pair[1] < pair[0] + 0.003), "{more:?}");
    }

    #[test]
    fn no_colour_is_that_of_nothing() {
        assert!(ColourMap::ALL.iter().all(|map| !map.table().contains(&EMPTY_COLOUR)));
    }
}
