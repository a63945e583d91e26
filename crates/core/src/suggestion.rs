//! What was meant by a name that nobody knows: a typing mistake in a key, a detector, a configuration.

/// How alike two names have to be, from 0 (nothing in common) to 1 (the same). `sortin` and `sorting` have 0.97, `gdgm` and
/// `gdgem` 0.95, `nmx` and `freia` 0.
const ALIKE: f64 = 0.8;

/// The one of `known` that `found` was probably meant to be; none if none is like it. Upper and lower case are the same, and so
/// are `-` and `_`.
pub fn nearest<'a>(found: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |name: &str| name.to_lowercase().replace('-', "_");
    let wanted = plain(found);
    // Letters of a short name that have changed places leave little alike.
    let alike = |name: String| match is_reordered(&wanted, &name) {
        true => 1.0,
        false => strsim::jaro_winkler(&wanted, &name),
    };
    let scored = known.into_iter().map(|name| (alike(plain(name)), name));
    scored.filter(|(score, _)| *score >= ALIKE).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, name)| name)
}

/// Whether these are the same letters, in another order or the same.
fn is_reordered(one: &str, other: &str) -> bool {
    let [one, other] = [one, other].map(|name| {
        let mut letters: Vec<char> = name.chars().collect();
        letters.sort_unstable();
        letters
    });
    !one.is_empty() && one == other
}

/// What follows a name that nobody knows, up to the end of its sentence: `: did you mean `name`?`, or a full stop if nothing is
/// like it.
pub fn did_you_mean<'a>(found: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(found, known).map_or_else(|| ".".to_owned(), |name| format!(": did you mean `{name}`?"))
}

/// The same for a message of serde, which has the name that it does not know and those that it does in backquotes:
/// ``unknown field `sortin`, expected one of `window`, `sorting` ``. Other messages are left as they are.
pub fn with_suggestion(message: &str) -> String {
    let Some(rest) =
        ["unknown field `", "unknown variant `"].iter().find_map(|start| message.split_once(start))
    else {
        return message.to_owned();
    };
    let mut quoted = rest.1.split('`');
    let found = quoted.next().unwrap_or_default();
    // Between two backquotes is a name, and between those the text.
    let known = quoted.skip(1).step_by(2).filter(|name| *name != found);
    match nearest(found, known) {
        Some(name) => {
            let quote = format!("`{found}`");
            message.replacen(&quote, &format!("{quote} (did you mean `{name}`?)"), 1)
        }
        None => message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_a_slip_is_found_and_a_foreign_one_is_not() {
        let known = ["nmx", "gdgem-srs", "gdgem-nmx", "freia", "multigrid-cncs", "multigrid"];
        for (found, meant) in [
            ("gdgem-sr", "gdgem-srs"),
            ("frea", "freia"),
            ("FREIA", "freia"),
            ("multigird", "multigrid"),
            ("nxm", "nmx"),
            ("multigrid_cncs", "multigrid-cncs"),
        ] {
            assert_eq!(nearest(found, known), Some(meant), "{found}");
        }
        assert_eq!(nearest("jungfrau", known), None);
        assert_eq!(nearest("", known), None);
        assert_eq!(did_you_mean("frea", known), ": did you mean `freia`?");
        assert_eq!(did_you_mean("jungfrau", known), ".");
    }

    #[test]
    fn a_message_of_serde_says_what_was_meant() {
        let of = |text: &str| with_suggestion(text);
        assert_eq!(
            of("unknown field `sortin`, expected one of `window`, `sorting`"),
            "unknown field `sortin` (did you mean `sorting`?), expected one of `window`, `sorting`"
        );
        assert_eq!(
            of("unknown variant `vmm4`, expected `vmm3` or `vmm3a`"),
            "unknown variant `vmm4` (did you mean `vmm3`?), expected `vmm3` or `vmm3a`"
        );
        for unchanged in [
            "unknown field `x`, there are no fields",
            "missing field `name`",
            "unknown field `zz`, expected `a`",
            "`",
        ] {
            assert_eq!(of(unchanged), unchanged);
        }
    }
}
