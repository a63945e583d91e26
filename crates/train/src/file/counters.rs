//! What was filed, and what was not.

evforge_core::counters! {
    /// Trains on their way into files, each that of one module.
    pub struct TrainFileCounters: "train-files" {
        trains_offered: Enters(Outputs), Times, "Trains of single modules that were offered to the files.";
        trains_committed: Leaves(Outputs), Times, "Trains of single modules that are in files, where a kill cannot take them any more.";
        trains_waiting: Held(Outputs), Times, "Trains of single modules that were taken and wait for the next commit.";
        trains_of_other_images: Discarded(Outputs), Times, "Trains whose images do not have the size of the detector's.";
        trains_without_number: Discarded(Outputs), Times, "Trains with number 0, which is padding in files.";
        trains_not_ascending: Discarded(Outputs), Times, "Trains whose number is not above that of the train before of the same module.";
        trains_of_other_blocks: Discarded(Outputs), Times, "Trains whose detector's own block has another size than in the first train of the module, is empty, or is larger than 65536 bytes.";
        trains_of_no_module: Discarded(Outputs), Times, "Trains of modules beyond the last that the options allow.";
        trains_refused: Discarded(Outputs), Times, "Trains that were refused with an error: the disk was full or could not be written.";
        trains_lost: Discarded(Outputs), Times, "Trains that were taken and lost, since writing failed before they were committed.";
        images_taken: Information, Times, "Images that were taken for files, those included that are marked as not whole.";
        images_left_out: Information, Times, "Images that were not whole and are in no file (incomplete_images = leave_out).";
        images_rejected: Information, Times, "Images that a step of the processing has rejected: they are in no file.";
        images_marked: Information, Times, "Images that were not whole and are in files with status 0x8000 (incomplete_images = mark).";
        files_finished: Information, Times, "Files that were closed and have their final names.";
        files_given_up: Information, Times, "Files that could not be written on; what was committed can be read after a repair.";
        commits: Information, Times, "Times at which trains were brought to a file, so that a kill cannot take them any more.";
    }
}
