//! Objects made by the hundred thousand are as those that the wrapper makes.
#![allow(clippy::unwrap_used)]

use evforge_stream::storage::bulk::Maker;
use hdf5_metno::File;
use hdf5_metno::types::{FloatSize, TypeDescriptor, VarLenUnicode};

const DOUBLE: TypeDescriptor = TypeDescriptor::Float(FloatSize::U8);

fn bytes(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_ne_bytes()).collect()
}

#[test]
fn values_come_back_small_large_and_compressed() {
    let folder = tempfile::tempdir().unwrap();
    let file = File::create(folder.path().join("a.h5")).unwrap();
    let mut maker = Maker::new().unwrap();
    let root = maker.root(&file).unwrap();
    let group = maker.group(&root, "gruppe ä", 3, 5).unwrap();
    assert!(maker.has(&root, "gruppe ä").unwrap() && !maker.has(&root, "b").unwrap());
    for (name, count, is_compressed) in
        [("small", 3, false), ("plain", 1000, false), ("packed", 100_000, true)]
    {
        let values: Vec<f64> = (0..count).map(f64::from).collect();
        maker.dataset(&group, name, &DOUBLE, &[values.len()], &bytes(&values)).unwrap();
        let dataset = file.dataset(&format!("gruppe ä/{name}")).unwrap();
        assert_eq!(dataset.read_raw::<f64>().unwrap(), values);
        assert_eq!(!dataset.filters().is_empty(), is_compressed, "{name}");
    }
    let error = maker.dataset(&group, "short", &DOUBLE, &[4], &bytes(&[1.0])).unwrap_err().to_string();
    assert_eq!(error, "short has 8 bytes for the shape [4]");
    let error = maker.dataset(&group, "texts", &TypeDescriptor::VarLenUnicode, &[], &[0; 16]).unwrap_err();
    assert_eq!(error.to_string(), "the values of texts have no fixed size");
    assert!(maker.group(&root, "gruppe ä", 0, 0).is_err());
    assert!(maker.group(&root, "a\0b", 0, 0).is_err());
}

#[test]
fn attributes_are_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let file = File::create(folder.path().join("a.h5")).unwrap();
    let mut maker = Maker::new().unwrap();
    let root = maker.root(&file).unwrap();
    maker.attribute(&root, "a", &DOUBLE, &[2], &bytes(&[1.0, 2.0])).unwrap();
    assert_eq!(file.attr("a").unwrap().read_raw::<f64>().unwrap(), [1.0, 2.0]);
    maker.text_attribute(&root, "a", &[2], &["x", "ü"]).unwrap();
    let texts = file.attr("a").unwrap().read_raw::<VarLenUnicode>().unwrap();
    assert_eq!(texts.iter().map(|text| text.as_str()).collect::<Vec<_>>(), ["x", "ü"]);
    assert_eq!(
        maker.text_attribute(&root, "b", &[3], &["x"]).unwrap_err().to_string(),
        "b has 1 texts for the shape [3]"
    );
}
