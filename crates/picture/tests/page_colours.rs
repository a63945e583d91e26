//! The page has its colours from here.

use std::path::Path;

/// `EVFORGE_UPDATE=1` (`make colours`) writes the table; afterwards build the page.
#[test]
fn the_page_has_this_table_of_colours() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/src/colour_table.ts");
    let table = evforge_picture::page_table();
    if std::env::var_os("EVFORGE_UPDATE").is_some() {
        std::fs::write(&path, &table).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == table,
        "{} is not current: run `make colours`, then `npm run build` in web/",
        path.display()
    );
}
