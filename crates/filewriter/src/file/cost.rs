//! What a file asks for, before anything of it is made.

use super::plan::FilePlan;
use super::writer_file::{bytes_said, open_module};
use super::{Columns, FileError, Names};
use evforge_stream::storage::workers::Workers;
use hdf5_metno::File;

/// What a file asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Modules, those that come with others included.
    pub modules: u64,
    /// Bytes of memory, and of the file, as soon as each array has a row.
    pub bytes: u64,
}

/// Bytes of memory for each source of a module, besides its path, which is named with each.
const SOURCE: u64 = 1 << 10;

impl FilePlan {
    /// What the structure asks for, with `job_room` bytes of what the job keeps. The base, which nobody sends, is not counted. Nothing
    /// is made: its modules count what they would make.
    ///
    /// # Errors
    /// If the settings of a module are wrong.
    pub fn cost(&self, job_room: usize) -> Result<Cost, FileError> {
        // A group that takes nothing, in a file that is in no folder.
        let path = Names::of(&self.path).counted();
        let hdf5 = |error: hdf5_metno::Error| FileError::hdf5("count what is in", &path, &error);
        let file = File::with_options()
            .with_fapl(|access| access.core_filebacked(false))
            .create(&path)
            .map_err(hdf5)?;
        let group = file.group("/").map_err(hdf5)?;
        let workers =
            Workers::start(0, 0).map_err(|cause| FileError::io("count what is in", &path, cause))?;
        let mut columns = Columns::new(workers, None).counting();
        let (mut modules, mut sources, mut states) = (0, 0_u64, 0);
        self.structure.each_module(&mut |path, module| -> Result<(), FileError> {
            modules += 1;
            sources += module.sources.len() as u64 * (SOURCE + 2 * path.len() as u64);
            states += open_module(path, module, &group, &mut columns)?.module.state_room();
            Ok(())
        })?;
        let said = bytes_said(&self.structure, job_room + states).saturating_add(sources);
        Ok(Cost { modules, bytes: columns.bytes().saturating_add(said) })
    }
}
