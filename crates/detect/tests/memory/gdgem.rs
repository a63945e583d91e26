//! The memory of a pipeline is bounded whatever it is fed, and forming events does not allocate.

use crate::common::{packet, settings};
use crate::hostile_stream::check;
use evforge_core::geometry::LogicalGeometry;
use evforge_detect::gdgem::settings::{
    ChipMapping, ChipPlane, ChipStrips, ClusteringSettings, MatchingSettings, PartitionSettings, Plane,
    ThirdPlaneSettings, TimeGapOf,
};
use evforge_detect::gdgem::{GdGem, GdGemSettings};
use evforge_detect::pairing::Ambiguous;

/// Streams that try to make the pipeline hold more and more: (name, packet of a FEC by number).
type Hostile = (&'static str, fn(u64) -> Vec<u8>);

const STREAMS: &[Hostile] = &[
    ("time stands still", |number| {
        packet(2, number as u32, &(0..1400).map(|n| (5, 100, (n % 64) as u8)).collect::<Vec<_>>())
    }),
    ("one source is silent", |number| {
        packet(2, number as u32, &(0..1000).map(|n| (number, n * 60, (n % 64) as u8)).collect::<Vec<_>>())
    }),
    ("time leaps with every packet", |number| {
        packet(2, number as u32, &(0..700).map(|n| (number * 100_000, n, 3)).collect::<Vec<_>>())
    }),
    ("time leaps with every hit", |number| {
        let hits: Vec<_> = (0..700).map(|n| ((number * 700 + n) * 300, 7, 3)).collect();
        packet(2, number as u32, &hits)
    }),
    ("time runs back", |number| {
        packet(2, number as u32, &(0..700).map(|n| (3_000_000 - number * 1000, n, 3)).collect::<Vec<_>>())
    }),
    ("one endless group", |number| {
        let hits: Vec<_> = (0..1300).map(|n| (number, n * 50, (n % 64) as u8)).collect();
        packet(if number % 2 == 0 { 1 } else { 2 }, (number / 2) as u32, &hits)
    }),
];

/// Clusters of one hit, linked one by one: as many as there can be.
fn of_small_clusters(panels: u32, mapping: Vec<ChipMapping>) -> GdGemSettings {
    let usual = settings();
    let clustering = ClusteringSettings {
        time_gap_of: TimeGapOf::Neighbours,
        max_strip_gap: 0,
        min_hits: 1,
        ..usual.clustering[0]
    };
    GdGemSettings {
        clustering: [clustering; 2],
        matching: MatchingSettings { ambiguous: Ambiguous::Nearest, ..usual.matching },
        geometry: LogicalGeometry::new(64, 64, 1, panels).expect("a geometry"),
        mapping,
        ..usual
    }
}

/// x on panel 0, y on panel 1.
fn single_planes() -> GdGemSettings {
    let y = ChipMapping { panel: 1, ..ChipMapping::following(1, 0, Plane::Y, 0) };
    let mapping = vec![ChipMapping::following(2, 0, Plane::X, 0), y];
    GdGemSettings { one_plane: vec![0, 1], ..of_small_clusters(2, mapping) }
}

/// x and u, of which y follows.
fn three_planes() -> GdGemSettings {
    let u = ChipMapping { plane: ChipPlane::U, ..ChipMapping::following(1, 0, Plane::X, 0) };
    let mapping = vec![ChipMapping::following(2, 0, Plane::X, 0), u];
    let third = ThirdPlaneSettings { from: [1_000_000; 2], tolerance: 3000, ..ThirdPlaneSettings::default() };
    GdGemSettings { third_plane: Some(third), ..of_small_clusters(1, mapping) }
}

/// FEC 1 reads one half of the columns, FEC 2 the other.
fn pads() -> GdGemSettings {
    let chip = |fec: u16| {
        let number: [u16; 64] = std::array::from_fn(|channel| channel as u16);
        let columns = number.map(|number| number % 8 + 8 * (fec - 1));
        let strips = ChipStrips::Pads { columns, rows: number.map(|number| number / 8) };
        ChipMapping { plane: ChipPlane::Pads, strips, ..ChipMapping::following(fec, 0, Plane::X, 0) }
    };
    of_small_clusters(1, vec![chip(1), chip(2)])
}

pub(crate) fn check_all() {
    let cut = PartitionSettings { regions: 3, overlap: 2, threads: 1 };
    let cases = STREAMS.iter().flat_map(|stream| [(stream, None), (stream, Some(cut))]);
    for ((name, stream), partition) in cases {
        let build = || GdGem::new(&GdGemSettings { partition, ..settings() }).expect("sound settings");
        check(name, build, (0..300).map(stream));
    }
    let kinds = [single_planes(), three_planes(), pads()];
    for (settings, (name, stream)) in
        kinds.iter().flat_map(|kind| STREAMS.iter().map(move |stream| (kind, stream)))
    {
        let build = || GdGem::new(settings).expect("sound settings");
        check(name, build, (0..300).map(stream));
    }
}
