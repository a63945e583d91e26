use super::*;
use crate::beam::tests::Plate;
use crate::random::{Stream, stream};
use png::{BitDepth, ColorType};
use png_file::GreyPicture;
use proptest::prelude::*;

fn everywhere(_: u32, _: u32, _: u32) -> bool {
    true
}

/// What is not in a frame around a panel, without a hole in the middle.
fn in_parts(x: u32, y: u32, panel: u32) -> bool {
    panel == 0 || ((4..28).contains(&x) && !(20..40).contains(&y))
}

fn settings(toml: &str) -> ImageSettings {
    #[derive(serde::Deserialize)]
    struct Section {
        image: ImageSettings,
    }
    toml::from_str::<Section>(toml).unwrap().image
}

fn image(toml: &str, plate: &Plate) -> Image {
    Image::new(&settings(toml), None, plate).unwrap()
}

fn refused(toml: &str) -> String {
    let plate = Plate::new([8, 8, 1], everywhere);
    Image::new(&settings(toml), None, &plate).unwrap_err().to_string()
}

const ALL_KINDS: [&str; 6] = [
    "image = 'mask'",
    "image = 'flat'",
    "image = 'diffraction'",
    "image = 'reflectometry'",
    "image = { diffraction = { spots = { a = [0.2, 0.03], b = [-0.05, 0.17], width = 0.01, falloff = 0.4 } } }",
    "image = { reflectometry = { axis = 'x', length = 1.0, direct_share = 0.6, specular_share = 0.4, \
     off_specular_share = 0.0 } }",
];

#[test]
fn neutrons_fall_as_the_picture_says_and_only_where_the_detector_is_sensitive() {
    let plate = Plate::new([32, 64, 2], in_parts);
    for kind in ALL_KINDS {
        let image = image(kind, &plate);
        let sum: f64 = image.intensities().iter().map(|share| f64::from(*share)).sum();
        assert!((sum - 1.0).abs() < 1e-4, "{kind}: {sum}");
        let mut counts = vec![0_u32; image.intensities().len()];
        let mut random = stream(1, Stream::Pulse(0));
        let drawn = 400_000;
        for _ in 0..drawn {
            let at = image.draw(&mut random);
            assert!(in_parts(at.x, at.y, at.panel), "{kind}: {at:?} is not sensitive");
            counts[((at.panel * 64 + at.y) * 32 + at.x) as usize] += 1;
        }
        // Pearson's test over pixels with enough neutrons; the others together are one more class.
        let (mut chi_square, mut classes) = (0.0, 0);
        let (mut few, mut few_expected) = (0.0, 0.0);
        for (&count, &share) in counts.iter().zip(image.intensities()) {
            let expected = f64::from(share) * f64::from(drawn);
            if expected < 8.0 {
                few += f64::from(count);
                few_expected += expected;
            } else {
                chi_square += (f64::from(count) - expected).powi(2) / expected;
                classes += 1;
            }
        }
        if few_expected >= 8.0 {
            chi_square += (few - few_expected).powi(2) / few_expected;
            classes += 1;
        }
        let freedom = f64::from(classes - 1);
        let distance = (chi_square - freedom) / (2.0 * freedom).sqrt();
        assert!(classes > 50 && distance.abs() < 5.0, "{kind}: chi square {chi_square} for {freedom}");
    }
}

/// Correlation of two pictures.
fn correlation(one: &[f32], other: &[f32]) -> f64 {
    let mean =
        |values: &[f32]| values.iter().map(|value| f64::from(*value)).sum::<f64>() / values.len() as f64;
    let (mean_one, mean_other) = (mean(one), mean(other));
    let (mut both, mut square_one, mut square_other) = (0.0, 0.0, 0.0);
    for (a, b) in one.iter().zip(other) {
        let (a, b) = (f64::from(*a) - mean_one, f64::from(*b) - mean_other);
        both += a * b;
        square_one += a * a;
        square_other += b * b;
    }
    both / (square_one * square_other).sqrt()
}

#[test]
fn the_mask_is_unlike_its_mirror_images() {
    let plate = Plate::new([128, 128, 1], everywhere);
    let picture = image("image = 'mask'", &plate);
    let mirrored = |map: fn(usize, usize) -> (usize, usize)| -> Vec<f32> {
        (0..128 * 128)
            .map(|index| {
                let (x, y) = map(index % 128, index / 128);
                picture.intensities()[y * 128 + x]
            })
            .collect()
    };
    for (name, other) in [
        ("left-right", mirrored(|x, y| (127 - x, y))),
        ("up-down", mirrored(|x, y| (x, 127 - y))),
        ("turned", mirrored(|x, y| (127 - x, 127 - y))),
        ("transposed", mirrored(|x, y| (y, x))),
    ] {
        let correlation = correlation(picture.intensities(), &other);
        assert!(correlation < 0.25, "{name}: {correlation}");
    }
    // The bar at the top of the letter, and nothing right of it.
    let at = |x: usize, y: usize| picture.intensities()[y * 128 + x];
    assert!(at(60, 115) > 10.0 * at(60, 70) && at(60, 115) > 10.0 * at(100, 115));
}

#[test]
fn rings_lie_at_their_radii() {
    let plate = Plate::new([200, 200, 1], everywhere);
    let toml = "image = { diffraction = { rings = [0.2, 0.4], ring_width = 0.01, background = 0.1 } }";
    let image = image(toml, &plate);
    let (mut rings, mut between) = (0.0, Vec::new());
    for (index, &share) in image.intensities().iter().enumerate() {
        let place = |cell: usize| (cell as f64 + 0.5) / 200.0 - 0.5;
        let radius = place(index % 200).hypot(place(index / 200));
        if [0.2, 0.4].iter().any(|ring| (radius - ring).abs() < 0.035) {
            rings += f64::from(share);
        } else if (0.25..0.35).contains(&radius) {
            between.push(f64::from(share));
        }
    }
    // A ring within 3.5 widths has nearly all but the background's share of the area.
    let area = std::f64::consts::PI * 2.0 * 0.07 * (0.2 + 0.4);
    assert!((rings - (0.9 + 0.1 * area)).abs() < 0.005, "{rings}");
    let mean = between.iter().sum::<f64>() / between.len() as f64;
    assert!((mean * 40_000.0 - 0.1).abs() < 0.01, "{mean}");
}

#[test]
fn spots_lie_at_the_nodes_of_their_lattice() {
    let plate = Plate::new([100, 100, 1], everywhere);
    let spots = "spots = { a = [0.2, 0.0], b = [0.1, 0.3], width = 0.01, falloff = 10.0 }";
    let image =
        image(&format!("image = {{ diffraction = {{ rings = [], background = 0.0, {spots} }} }}"), &plate);
    let near = |x: f64, y: f64| -> f64 {
        let share = |index: usize, share: f32| {
            let distance =
                ((index % 100) as f64 + 0.5 - x * 100.0).hypot((index / 100) as f64 + 0.5 - y * 100.0);
            if distance < 5.0 { f64::from(share) } else { 0.0 }
        };
        image.intensities().iter().enumerate().map(|(index, value)| share(index, *value)).sum()
    };
    // Within the picture: four along the middle without the direct beam, and five in each of two rows; those at 0.5 ± 0.5
    // are cut off.
    for (x, y) in [(0.7, 0.5), (0.3, 0.5), (0.6, 0.8), (0.4, 0.8), (0.4, 0.2), (0.6, 0.2)] {
        assert!((0.06..0.09).contains(&near(x, y)), "{x}, {y}: {}", near(x, y));
    }
    for (x, y) in [(0.5, 0.5), (0.5, 0.8), (0.6, 0.65)] {
        assert!(near(x, y) < 1e-3, "{x}, {y}: {}", near(x, y));
    }
}

#[test]
fn a_reflectometer_has_its_shares_in_its_stripes() {
    let plate = Plate::new([40, 200, 1], everywhere);
    let image = image("image = 'reflectometry'", &plate);
    let rows = |from: usize, to: usize| -> f64 {
        image.intensities()[from * 40..to * 40].iter().map(|share| f64::from(*share)).sum()
    };
    // The direct beam is at 0.25 of 200 rows and 2 rows wide; a tenth of all is spread over all rows.
    assert!((rows(40, 60) - 0.2 - 0.01).abs() < 0.002, "{}", rows(40, 60));
    assert!((rows(60, 200) - 0.7 - 0.07).abs() < 0.002, "{}", rows(60, 200));
    // Off specular two thirds are within a standard deviation of 16 rows.
    let beside = rows(114, 146) - rows(122, 138);
    assert!((beside - 0.2 * (0.683 - 0.383) - 0.008).abs() < 0.005, "{beside}");
    // The stripes are 0.6 of 40 columns long.
    let outside: f64 =
        image.intensities().chunks(40).map(|row| f64::from(row[..8].iter().sum::<f32>())).sum();
    assert!((outside - 0.1 * 0.2).abs() < 1e-3, "{outside}");
}

#[test]
fn a_picture_on_tiles_is_put_together_from_panels() {
    let plate = Plate::new([10, 10, 4], everywhere);
    let toml = "image = { reflectometry = { direct = 0.75, direct_share = 1.0, specular_share = 0.0, \
                off_specular_share = 0.0, length = 1.0, width = 0.001 } }";
    let panels = |tiles| -> Vec<f32> {
        let image = Image::new(&settings(toml), tiles, &plate).unwrap();
        image.intensities().chunks(100).map(|panel| panel.iter().sum()).collect()
    };
    let is = |found: Vec<f32>, expected: [f32; 4]| {
        assert!(
            found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-3),
            "{found:?}, expected {expected:?}"
        );
    };
    is(panels(None), [0.25, 0.25, 0.25, 0.25]);
    is(panels(Some([2, 2])), [0.0, 0.0, 0.5, 0.5]);
    is(panels(Some([4, 1])), [0.25, 0.25, 0.25, 0.25]);
    is(panels(Some([1, 4])), [0.0, 0.0, 0.5, 0.5]);
    let error = Image::new(&settings(toml), Some([3, 1]), &plate).unwrap_err().to_string();
    assert!(error.starts_with("simulation.beam.tiles: found [3, 1], expected"), "{error}");
}

/// A PNG file.
fn png(size: [u32; 2], color: ColorType, depth: BitDepth, palette: Option<&[u8]>, data: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, size[0], size[1]);
    encoder.set_color(color);
    encoder.set_depth(depth);
    if let Some(palette) = palette {
        encoder.set_palette(palette.to_vec());
    }
    let mut writer = encoder.write_header().expect("a header");
    writer.write_image_data(data).expect("as many bytes as pixels");
    writer.finish().expect("a file in memory");
    file
}

/// Writes a file into a folder of its own and says where.
fn with_file(bytes: &[u8], test: impl FnOnce(&std::path::Path)) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("picture.png");
    std::fs::write(&path, bytes).unwrap();
    test(&path);
}

#[test]
fn row_0_of_the_detector_is_the_bottom_of_a_file() {
    // White at the top left alone, a little at the bottom right.
    let file = png([2, 2], ColorType::Grayscale, BitDepth::Eight, None, &[240, 0, 0, 80]);
    with_file(&file, |path| {
        let mut settings = ImageSettings::Png("picture.png".into());
        settings.relative_to(path.parent().unwrap());
        let plate = Plate::new([8, 4, 1], everywhere);
        let image = Image::new(&settings, None, &plate).unwrap();
        for (index, &share) in image.intensities().iter().enumerate() {
            let expected = match (index % 8 < 4, index / 8 >= 2) {
                (true, true) => 0.75 / 8.0,
                (false, false) => 0.25 / 8.0,
                _ => 0.0,
            };
            assert!((share - expected).abs() < 1e-6, "pixel {index}: {share}, expected {expected}");
        }
        let mut random = stream(1, Stream::Pulse(0));
        for _ in 0..10_000 {
            let at = image.draw(&mut random);
            assert_eq!(at.x < 4, at.y >= 2, "{at:?} is black");
        }
    });
}

#[test]
fn many_pixels_of_a_file_become_one_of_the_detector() {
    // Three columns of the file on two of the detector: the middle one is shared.
    let file = png([3, 1], ColorType::Grayscale, BitDepth::Eight, None, &[200, 100, 0]);
    with_file(&file, |path| {
        let plate = Plate::new([2, 1, 1], everywhere);
        let image = Image::new(&ImageSettings::Png(path.into()), None, &plate).unwrap();
        let [left, right] = image.intensities() else { panic!("two pixels") };
        assert!(
            (left - 250.0 / 300.0).abs() < 1e-6 && (right - 50.0 / 300.0).abs() < 1e-6,
            "{left}, {right}"
        );
    });
}

#[test]
fn every_type_of_colour_and_depth_is_read() {
    use BitDepth::{Eight, Four, One, Sixteen, Two};
    let palette: &[u8] = &[0, 0, 0, 255, 255, 255];
    let expected = |left: f32, right: f32| [left, right];
    for (color, depth, palette, data, greys) in [
        (ColorType::Grayscale, One, None, &[0b1000_0000][..], expected(1.0, 0.0)),
        (ColorType::Grayscale, Two, None, &[0b0111_0000], expected(1.0 / 3.0, 1.0)),
        (ColorType::Grayscale, Four, None, &[0xf5], expected(1.0, 1.0 / 3.0)),
        (ColorType::Grayscale, Eight, None, &[51, 255], expected(0.2, 1.0)),
        (ColorType::Grayscale, Sixteen, None, &[0x33, 0x33, 0, 1], expected(0.2, 1.0 / 65_535.0)),
        (ColorType::GrayscaleAlpha, Eight, None, &[255, 51, 51, 255], expected(0.2, 0.2)),
        (ColorType::GrayscaleAlpha, Sixteen, None, &[255, 255, 51, 51, 0, 0, 255, 255], expected(0.2, 0.0)),
        (ColorType::Rgb, Eight, None, &[255, 255, 255, 0, 255, 0], expected(1.0, 0.7152)),
        (
            ColorType::Rgb,
            Sixteen,
            None,
            &[255, 255, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255],
            expected(0.2126, 0.0722),
        ),
        (ColorType::Rgba, Eight, None, &[255, 255, 255, 51, 0, 0, 255, 255], expected(0.2, 0.0722)),
        (ColorType::Indexed, One, Some(palette), &[0b0100_0000], expected(0.0, 1.0)),
        (ColorType::Indexed, Eight, Some(palette), &[1, 0], expected(1.0, 0.0)),
    ] {
        let picture = GreyPicture::decode(&png([2, 1], color, depth, palette, data)).unwrap();
        for (column, grey) in greys.iter().enumerate() {
            let from = column as f64 / 2.0;
            let found = picture.mean(&Area { x: [from, from + 0.5], y: [0.0, 1.0] });
            assert!((found - f64::from(*grey)).abs() < 1e-5, "{color:?} {depth:?}: {found}, expected {grey}");
        }
    }
}

#[test]
fn files_that_make_no_picture_are_refused_by_name() {
    let black = png([2, 2], ColorType::Grayscale, BitDepth::Eight, None, &[0; 4]);
    let large = png([4097, 4097], ColorType::Grayscale, BitDepth::One, None, &vec![255; 513 * 4097]);
    let grey = png([2, 2], ColorType::Grayscale, BitDepth::Eight, None, &[9; 4]);
    for (bytes, problem) in [
        (&b"GIF89a"[..], "is not a PNG file that can be read"),
        (&grey[..grey.len() / 2], "is not a PNG file that can be read"),
        (&black, "is black everywhere"),
        (&large, "has 4097 x 4097 pixels, expected at most"),
    ] {
        with_file(bytes, |path| {
            let plate = Plate::new([8, 8, 1], everywhere);
            let error = Image::new(&ImageSettings::Png(path.into()), None, &plate).unwrap_err().to_string();
            assert!(error.starts_with("simulation.beam.image.png: "), "{error}");
            assert!(error.contains("picture.png: ") && error.contains(problem), "{error}");
        });
    }
    assert!(refused("image = { png = 'no such file.png' }").contains("no such file.png: cannot be read"));
    assert!(refused("image = { png = '.' }").contains("it is a folder"));
}

#[test]
fn pictures_that_cannot_be_are_refused_with_their_key() {
    for (toml, key) in [
        ("{ diffraction = { rings = [] } }", "diffraction.rings"),
        ("{ diffraction = { rings = [-0.1] } }", "diffraction.rings"),
        ("{ diffraction = { rings = [nan] } }", "diffraction.rings"),
        ("{ diffraction = { centre = [inf, 0.0] } }", "diffraction.centre"),
        ("{ diffraction = { ring_width = 0.0 } }", "diffraction.ring_width"),
        ("{ diffraction = { background = 1.5 } }", "diffraction.background"),
        (
            "{ diffraction = { spots = { a = [0.1, 0.1], b = [0.2, 0.2], width = 0.01, falloff = 1.0 } } }",
            "diffraction.spots.a",
        ),
        ("{ reflectometry = { direct = 1.1 } }", "reflectometry.direct"),
        ("{ reflectometry = { width = nan } }", "reflectometry.width"),
        ("{ reflectometry = { length = 0.0 } }", "reflectometry.length"),
        ("{ reflectometry = { direct_share = 0.9 } }", "reflectometry.specular_share"),
    ] {
        let error = refused(&format!("image = {toml}"));
        assert!(error.starts_with(&format!("simulation.beam.image.{key}: found ")), "{toml}: {error}");
        assert!(error.contains(", expected "), "{error}");
    }
    let error = refused("image = { diffraction = { rings = [9.0] } }");
    assert_eq!(error, "simulation.beam.image: the diffraction pattern falls on no sensitive pixel");
    let nothing = Plate::new([8, 8, 1], |_, _, _| false);
    let error = Image::new(&ImageSettings::Mask, None, &nothing).unwrap_err().to_string();
    assert!(error.contains("no sensitive pixel"), "{error}");
}

#[test]
fn names_and_tables_that_are_no_picture_are_refused() {
    #[derive(Debug, serde::Deserialize)]
    struct Section {
        #[serde(rename = "image")]
        _image: ImageSettings,
    }
    for (toml, problem) in [
        ("image = 'round'", "invalid value: string \"round\", expected \"mask\", \"flat\", "),
        ("image = 5", "invalid type: integer `5`, expected \"mask\", \"flat\", "),
        ("image = { gif = 'a.gif' }", "unknown variant `gif`, expected one of `png`, `diffraction`"),
        (
            "image = { diffraction = { ring = [0.1] } }",
            "unknown field `ring`, expected one of `centre`, `rings`",
        ),
        ("image = { }", "expected"),
    ] {
        let error = toml::from_str::<Section>(toml).unwrap_err().to_string();
        assert!(error.contains(problem), "{toml}: {error}");
    }
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes: Vec<u8>) {
        let _ = GreyPicture::decode(&bytes);
        let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
        file.extend(bytes);
        let _ = GreyPicture::decode(&file);
    }

    #[test]
    fn a_damaged_file_never_panics(at: prop::sample::Index, to: u8, cut: prop::sample::Index, deep: bool) {
        let depth = if deep { BitDepth::Sixteen } else { BitDepth::Eight };
        let data = vec![200; 7 * 5 * 4 * if deep { 2 } else { 1 }];
        let mut file = png([7, 5], ColorType::Rgba, depth, None, &data);
        let (at, length) = (at.index(file.len()), file.len());
        file[at] = to;
        let _ = GreyPicture::decode(&file);
        file.truncate(cut.index(length));
        let _ = GreyPicture::decode(&file);
    }

    #[test]
    fn any_picture_lies_on_the_detector(nx in 1..40_u32, ny in 1..40_u32, panels in 1..4_u32, kind in 0..ALL_KINDS.len()) {
        let plate = Plate::new([nx, ny, panels], everywhere);
        let image = image(ALL_KINDS[kind], &plate);
        let mut random = stream(1, Stream::Pulse(0));
        for _ in 0..100 {
            let at = image.draw(&mut random);
            prop_assert!(at.x < nx && at.y < ny && at.panel < panels);
        }
    }
}
