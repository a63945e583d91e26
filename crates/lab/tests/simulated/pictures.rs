//! The picture that every simulated detector shows: the one in the beam, upright and not mirrored.

use evforge_config::Config;
use evforge_lab::simulation::form_simulation;
use evforge_sim::beam::mask::{Mask, correlation};
use std::path::Path;

/// Counts of a detector over columns and rows, whatever the panel and the layer.
fn picture(name: &str, neutrons: &str) -> (Vec<f64>, Vec<f64>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs").join(name);
    let config = Config::read(&path, &[format!("simulation.beam.neutrons={neutrons}")])
        .expect("a shipped configuration");
    let formed = form_simulation(&config, 28).expect("a simulation");
    let geometry = formed.detector.geometry();
    let mask = Mask::new(&geometry);
    let mut counts = vec![0.0; (geometry.nx() * geometry.ny()) as usize];
    for event in formed.events.events() {
        let at = geometry.coordinates(event.pixel_id).expect("a pixel of the detector");
        counts[(at.y * geometry.nx() + at.x) as usize] += 1.0;
    }
    (blocks(&counts, geometry.nx()), blocks(mask.intensities(), geometry.nx()))
}

/// The picture in at most 16 x 16 blocks, so that few neutrons are enough to compare it.
fn blocks(pixels: &[f64], nx: u32) -> Vec<f64> {
    let (nx, ny) = (nx as usize, pixels.len() / nx as usize);
    let (columns, rows) = (nx.min(16), ny.min(16));
    let mut blocks = vec![0.0; columns * rows];
    for (index, value) in pixels.iter().enumerate() {
        let (x, y) = (index % nx, index / nx);
        blocks[y * rows / ny * columns + x * columns / nx] += value;
    }
    blocks
}

#[test]
fn every_detector_shows_the_picture_in_the_beam() {
    for (name, neutrons) in [
        ("sonde.toml", "50kHz"),
        ("sonde-module.toml", "20kHz"),
        ("multigrid.toml", "20kHz"),
        ("trex.toml", "50kHz"),
        ("multiblade.toml", "20kHz"),
        ("multiblade-50.toml", "50kHz"),
        ("freia.toml", "50kHz"),
        ("estia.toml", "50kHz"),
        ("amor-ess.toml", "50kHz"),
        ("gdgem-srs.toml", "20kHz"),
        ("gdgem-nmx.toml", "50kHz"),
        ("nmx.toml", "50kHz"),
    ] {
        let (counts, mask) = picture(name, neutrons);
        let likeness = correlation(&counts, &mask);
        assert!(likeness > 0.9, "{name}: {likeness}");
    }
}
