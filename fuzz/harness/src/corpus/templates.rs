//! Names with something of a run in them, and paths of Graphite.

use super::Seed;
use crate::templates::SEPARATOR;

/// Every part, and names that cannot be filled in.
pub fn seeds() -> Vec<Seed> {
    let graphite = "address = \"graphite.example.org:2003\"\nprefix = \"lab.efu\"\nregion = \"top\"\ninterval = \"10s\"\n\
                    buffer = \"16MB\"\nhost = false\n";
    let path_of_none = "address = \"[::1]:2003\"\nprefix = \"a..b\"";
    [
        ("all", "data/{instrument}_{run:6}-{title}-{start}.nxs", "42", "first neutrons", "nmx", graphite),
        ("plain", "run.pcapng", "1", "", "nmx", "address = \"a:1\""),
        ("no-number", "{run}.csv", "", "", "nmx", ""),
        ("no-title", "{title}.csv", "1", "", "nmx", ""),
        ("unknown-word", "{rum}.csv", "1", "", "nmx", ""),
        ("not-closed", "{run", "1", "", "nmx", ""),
        ("braces", "}{run}}{{", "1", "{run}", "{title}", ""),
        ("many-digits", "{run:10}{run:11}", "4294967295", "", "nmx", path_of_none),
        ("no-digits", "{run:}{run:-1}", "0", "", "nmx", "address = \"a\""),
        ("title-of-a-path", "{title}", "1", "../../etc/pass\nwd", "/", "address = \":1\""),
        ("hidden", "{instrument}", "1", "", "...", "address = \"a b:1\""),
        ("wide-letters", "µ/{title}", "1", "\u{1F600}ü\u{202e}", "é", "address = \"a:1\"\nregion = \"a b\""),
        ("folder-alone", "/", "1", "", "", "address = \"a:1\"\ninterval = \"0s\""),
    ]
    .into_iter()
    .map(|(name, template, number, title, instrument, graphite)| {
        let parts = [template, number, title, instrument, graphite];
        Seed::new(name, parts.join(&SEPARATOR.to_string()))
    })
    .collect()
}
