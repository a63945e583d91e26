//! Sets of cores, as the kernel writes them.

use std::collections::BTreeSet;

/// No host has more cores; a damaged text asks for no more memory than this.
const MOST: usize = 65_536;

/// Cores as a list: `0-3,6`. What is no number is left out.
pub fn from_list(text: &str) -> BTreeSet<usize> {
    let mut cores = BTreeSet::new();
    for part in text.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(first), Ok(last)) = (first.trim().parse::<usize>(), last.trim().parse::<usize>()) {
            cores.extend(first.min(MOST)..=last.min(MOST));
        }
    }
    cores
}

/// The same, written.
pub fn to_list(cores: &BTreeSet<usize>) -> String {
    let mut parts: Vec<(usize, usize)> = Vec::new();
    for &core in cores {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == core => *last = core,
            _ => parts.push((core, core)),
        }
    }
    let part = |&(first, last): &(usize, usize)| match last - first {
        0 => first.to_string(),
        _ => format!("{first}-{last}"),
    };
    parts.iter().map(part).collect::<Vec<_>>().join(",")
}

/// Cores as a mask: hexadecimal words of 32 cores, the last one first, `00000001,80000000`.
pub fn from_mask(text: &str) -> BTreeSet<usize> {
    let mut cores = BTreeSet::new();
    for (place, word) in text.trim().split(',').rev().take(MOST / 32).enumerate() {
        let bits = u32::from_str_radix(word, 16).unwrap_or(0);
        cores.extend((0..32).filter(|bit| bits >> bit & 1 == 1).map(|bit| place * 32 + bit));
    }
    cores
}

/// The same, written.
pub fn to_mask(cores: &BTreeSet<usize>) -> String {
    let words = cores.last().map_or(1, |last| last / 32 + 1);
    let mut mask = vec![0_u32; words];
    for core in cores {
        mask[core / 32] |= 1 << (core % 32);
    }
    let written: Vec<_> = mask.iter().rev().map(|word| format!("{word:08x}")).collect();
    written.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read_again(cores in proptest::collection::btree_set(0_usize..300, 0..40)) {
            prop_assert_eq!(from_list(&to_list(&cores)), cores.clone());
            prop_assert_eq!(from_mask(&to_mask(&cores)), cores);
        }

        #[test]
        fn no_text_is_too_strange(text in ".{0,80}") {
            from_list(&text);
            from_mask(&text);
        }
    }

    #[test]
    fn lists_and_masks_are_those_of_the_kernel() {
        assert_eq!(to_list(&[0, 1, 2, 3, 6].into()), "0-3,6");
        assert_eq!(to_mask(&[0, 63].into()), "80000000,00000001");
        assert_eq!(from_mask("00000001,80000000"), [31, 32].into());
        assert_eq!(from_list("0-99999999999999"), BTreeSet::new().into_iter().chain(0..=MOST).collect());
    }
}
