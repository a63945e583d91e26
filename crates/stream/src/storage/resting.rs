//! Datasets that are closed until they are needed.
//!
//! HDF5 looks through all open datasets whenever a file is flushed, opens each of them again when others may follow the file, and
//! closes them one by one at its end. Of a file with thousands of logs most have nothing to say for hours.

use hdf5_metno::{Dataset, Error, File, Result};

/// A dataset, open or at rest.
#[derive(Debug)]
pub struct RestingDataset {
    open: Option<Dataset>,
    /// Where it is, once it has rested.
    home: Option<(File, String)>,
}

impl RestingDataset {
    /// One that is open.
    pub fn of(dataset: Dataset) -> Self {
        Self { open: Some(dataset), home: None }
    }

    /// Closes it; it is opened again in `file`, which is its own, when it is needed.
    pub fn rest(&mut self, file: &File) {
        if let Some(dataset) = self.open.take()
            && self.home.is_none()
        {
            self.home = Some((file.clone(), dataset.name()));
        }
    }

    /// The dataset, opened if it rests.
    ///
    /// # Errors
    /// If HDF5 cannot open it.
    pub fn open(&mut self) -> Result<&Dataset> {
        let dataset = match (self.open.take(), &self.home) {
            (Some(open), _) => open,
            (None, Some((file, path))) => file.dataset(path)?,
            (None, None) => return Err(Error::from("a dataset has neither been made nor opened")),
        };
        Ok(self.open.insert(dataset))
    }

    /// The dataset, if it does not rest.
    ///
    /// # Errors
    /// If it rests.
    pub fn awake(&self) -> Result<&Dataset> {
        self.open.as_ref().ok_or_else(|| {
            let path = self.home.as_ref().map_or("a dataset", |(_, path)| path);
            Error::from(format!("{path} is closed"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_closed_and_opened_again_in_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let file = File::create(folder.path().join("a.h5")).unwrap();
        let group = file.create_group("a/b").unwrap();
        let dataset = group.new_dataset_builder().empty::<u8>().create("c").unwrap();
        let mut resting = RestingDataset::of(dataset);
        resting.open().unwrap().write_scalar(&7_u8).unwrap();
        resting.rest(&file);
        assert!(resting.awake().unwrap_err().to_string().contains("/a/b/c is closed"));
        assert_eq!(resting.open().unwrap().read_scalar::<u8>().unwrap(), 7);
        assert_eq!(resting.awake().unwrap().name(), "/a/b/c");
        resting.rest(&file);
        resting.rest(&file);
        group.unlink("c").unwrap();
        assert!(resting.open().is_err() && resting.open().is_err(), "it is gone");
    }
}
