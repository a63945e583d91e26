//! The reference's byte-level cases for the demonstrator at CNCS (vectors `multigrid_cncs`), document "EFU
//! formats of 2018", section 2.5; and properties.

use evforge_testkit::shared_file;
use evforge_wire::cncs::*;
use proptest::collection::vec;
use proptest::prelude::*;

/// Groups and error bytes.
fn taken_apart(bytes: &[u8]) -> (Vec<Group>, usize) {
    let mut found = groups(bytes);
    let list: Vec<_> = found.by_ref().collect();
    (list, found.error_bytes())
}

fn packet(groups: &[Group]) -> Vec<u8> {
    let mut encoder = GroupEncoder::default();
    encoder.begin();
    for group in groups {
        assert!(encoder.push(group), "a packet without room");
    }
    encoder.packet().to_vec()
}

#[test]
fn section_2_5_elements_and_error_bytes() {
    let test = "section_2_5_elements_and_error_bytes";
    for (name, elements, errors) in [
        ("ok_16", 16, 0),
        ("ok_one", 1, 0),
        ("ok_two", 2, 0),
        ("err_dat", 0, 40),
        ("err_ftr", 0, 40),
        ("err_hdr", 0, 40),
        ("err_hdr2", 0, 40),
        ("err_long", 2, 4),
        ("err_short", 0, 36),
        ("err_nwords", 0, 40),
        ("err_misorder", 0, 40),
        ("err_below_thresh", 4, 0),
    ] {
        let Some(bytes) = shared_file(test, &format!("vectors/multigrid_cncs/{name}.bin")) else { return };
        let (found, error_bytes) = taken_apart(&bytes);
        assert_eq!((found.len(), error_bytes), (elements, errors), "{name}");
    }
}

#[test]
fn section_2_5_modules_and_fields() {
    let test = "section_2_5_modules_and_fields";
    for (name, count) in [("ok_one", 1), ("ok_two", 2), ("ok_16", 16)] {
        let Some(bytes) = shared_file(test, &format!("vectors/multigrid_cncs/{name}.bin")) else { return };
        let (found, _) = taken_apart(&bytes);
        let modules: Vec<_> = found.iter().map(|group| group.module).collect();
        assert_eq!(modules, (0..count).collect::<Vec<_>>(), "{name}");
        let group = found[0];
        assert_eq!(group.values, [0x20F, 0x2F, 0x28F, 0x2B, 0x2D3, 0x35, 0x385, 0x2C]);
        assert_eq!(
            (group.wire_amplitude(), group.second_wire_amplitude(), group.wire_position()),
            (0x20F, 0x2F, 0x28F)
        );
        assert_eq!((group.grid_amplitude(), group.grid_position(), group.time), (0x2D3, 0x385, 0x211DD));
    }
}

fn group() -> impl Strategy<Value = Group> {
    (any::<u8>(), any::<[u16; CHANNELS]>(), 0..1_u32 << TIME_BITS).prop_map(|(module, values, time)| Group {
        module,
        values: values.map(|value| value & LARGEST_VALUE),
        time,
    })
}

proptest! {
    #[test]
    fn encode_then_decode_is_identity(groups in vec(group(), 0..60), left_over in 0..4_usize) {
        let mut bytes = packet(&groups);
        bytes.extend(vec![0; left_over]);
        prop_assert_eq!(taken_apart(&bytes), (groups, left_over));
    }

    #[test]
    fn damage_in_one_group_costs_no_other(
        groups in vec(group(), 1..20), which: prop::sample::Index, word in 0..GROUP_WORDS,
    ) {
        let mut bytes = packet(&groups);
        let which = which.index(groups.len());
        // No word begins with 10.
        bytes[GROUP_BYTES * which + 4 * word + 3] = 0x80;
        let mut others = groups;
        others.remove(which);
        prop_assert_eq!(taken_apart(&bytes), (others, GROUP_BYTES));
    }

    #[test]
    fn words_between_groups_cost_no_group(first in group(), between in 0..30_usize, second in group()) {
        let mut bytes = packet(&[first]);
        // Headers without a group behind them.
        for _ in 0..between {
            bytes.extend(0x4000_0009_u32.to_le_bytes());
        }
        bytes.extend(packet(&[second]));
        prop_assert_eq!(taken_apart(&bytes), (vec![first, second], 4 * between));
    }

    #[test]
    fn a_full_packet_refuses(group in group()) {
        let mut encoder = GroupEncoder::default();
        encoder.begin();
        while encoder.push(&group) {}
        prop_assert_eq!(encoder.packet().len(), 224 * GROUP_BYTES);
    }
}
