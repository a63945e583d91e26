//! `evforge view FILE`, for tests.

use crate::common::{PROGRAM, wait_until};
use crate::page_json::ask;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A page of a file; killed when it is dropped.
pub(crate) struct ViewedFile {
    child: Child,
    /// Its address.
    pub(crate) page: String,
}

impl Drop for ViewedFile {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl ViewedFile {
    pub(crate) fn start(file: &Path, further: &[&str]) -> Self {
        let mut child = Command::new(PROGRAM)
            .args(["view", "--view", "127.0.0.1:0"])
            .arg(file)
            .args(further)
            .env_remove("EVFORGE_VIEW")
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines().map_while(Result::ok);
        let page =
            lines.find_map(|line| line.split_once("live view at http://").map(|(_, page)| page.to_owned()));
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, page: page.expect("the program says where its page is") }
    }

    /// Waits until all of the file is shown.
    pub(crate) fn until_complete(&self) {
        wait_until("the file is shown", || {
            ask(&self.page, "/api/state.json")["feed"]["text"] == "Ended: the file is complete"
        });
    }

    /// Number of its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }
}
