//! What the steps over trains count.

evforge_core::counters! {
    /// Counters of a chain of steps.
    pub struct ProcessingCounters: "processing trains" {
        images_in: Enters(Images), Images, "Images of the trains that were processed.";
        images_kept: Leaves(Images), Images, "Images that no step rejected.";
        images_incomplete: Discarded(Images), Images, "Images that a hole of their train touches.";
        images_wrong_size: Discarded(Images), Images, "Images of another size than the steps are made for.";
        images_vetoed: Discarded(Images), Images, "Images whose pulse is in the veto list.";
        images_of_unknown_cells: Discarded(Images), Images, "Images of a storage cell for which there are no pedestals and gains.";
        images_too_dark: Discarded(Images), Images, "Images with too few pixels above the level.";
        images_below_limits: Discarded(Images), Images, "Images whose sum in a region is below its limits.";
        images_above_limits: Discarded(Images), Images, "Images whose sum in a region is above its limits.";
        trains_processed: Information, Trains, "Trains whose images were processed.";
        pixels_clamped: Information, Times, "Values that were rounded to 0 or 65535 because 16 bits hold no other.";
        pixels_not_numbers: Information, Times, "Values of masked pixels that 16 bits hold as 0.";
    }
}
