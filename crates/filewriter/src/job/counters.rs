//! What the file writer counts.

evforge_core::counters! {
    /// Messages of a file writer's job: each one read is written, held, or left out for a reason.
    #[derive(serde::Serialize, serde::Deserialize)]
    #[serde(default)]
    pub struct WriterCounters: "file writer" {
        messages_read: Enters(Messages), Messages, "Messages read from the partitions of a job.";
        messages_shared: Enters(Messages), Messages, "Messages that more than one stream of the structure reads, once for each further stream.";
        messages_written: Leaves(Messages), Messages, "Messages whose rows are in the file.";
        messages_held: Held(Messages), Messages, "Messages that wait: the newest from before the start, until it is known that it is the value at the start; events, until slower sources and partitions have come as far.";
        messages_before_start: Discarded(Messages), Messages, "Messages with data from before the start of the run.";
        messages_superseded: Discarded(Messages), Messages, "Values from before the start that a newer one from before the start has replaced.";
        messages_after_stop: Discarded(Messages), Messages, "Messages with data from after the end of the run.";
        messages_repeated: Discarded(Messages), Messages, "Messages with the time of the message before, where a module writes each time once.";
        messages_duplicated: Discarded(Messages), Messages, "Messages that came twice: the same number and the same bytes.";
        messages_of_other_sources: Discarded(Messages), Messages, "Messages of sources, or in schemas, that the structure does not ask for.";
        messages_refused: Discarded(Messages), Messages, "Messages that cannot be read; the report says why.";
        messages_without_time: Discarded(Messages), Messages, "Messages with the time 0.";
        messages_not_written: Discarded(Messages), Messages, "Messages with a value, a shape or a size that the module does not write; the report says which.";
        messages_unordered: Information, Messages, "Messages with data from before those of the message before. They are written.";
        messages_removed: Information, Messages, "Messages that the brokers had removed before they were read.";
        events_written: Information, Events, "Events in the file.";
        events_late: Information, Events, "Events of those that are in a group events_late of the file: their pulse is earlier than the newest one before them.";
        bytes_read: Information, Bytes, "Bytes of the messages read.";
        commits: Information, Times, "Commits: what was written so far can no longer be lost.";
        restarts: Information, Times, "How often the job was taken up again after its writer had ended.";
        disk_waits: Information, Times, "How often writing waited for room on the disk.";
    }
}
