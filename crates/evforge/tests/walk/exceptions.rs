//! Commands of the documents that no test can run as they stand.

/// Such a command.
pub(crate) struct Exception {
    /// The document.
    pub(crate) document: &'static str,
    /// How the block with it begins.
    pub(crate) begins: &'static str,
    /// Why it cannot be run here.
    pub(crate) why: &'static str,
    /// What is run instead, where something can be.
    pub(crate) instead: Option<&'static str>,
    /// The file that says where the command itself is run, and the words in it.
    pub(crate) covered_by: (&'static str, &'static str),
    /// Whether Python with the packages of `tests/python/requirements.txt` is needed.
    pub(crate) needs_python: bool,
}

/// All of them.
pub(crate) const EXCEPTIONS: &[Exception] = &[
    Exception {
        document: "README.md",
        begins: "make demo ",
        why: "they install packages, compile for minutes, and run until Ctrl-C, or this test itself",
        instead: Some("timeout --signal=INT 3 evforge demo || test $? = 124"),
        covered_by: ("scripts/fresh.sh", "make demo"),
        needs_python: false,
    },
    Exception {
        document: "docs/first-hour.md",
        begins: "make demo\n",
        why: "it installs packages, compiles for minutes and runs until Ctrl-C; what it starts is run here for three seconds",
        instead: Some("timeout --signal=INT 3 evforge demo --detector gdgem || test $? = 124"),
        covered_by: ("scripts/fresh.sh", "make demo"),
        needs_python: false,
    },
    Exception {
        document: "docs/first-hour.md",
        begins: "python3 -m venv .venv\n",
        why: "it installs packages from PyPI and starts a server that somebody must end",
        instead: None,
        covered_by: ("Makefile", ".venv/bin/pip install"),
        needs_python: false,
    },
    Exception {
        document: "docs/first-hour.md",
        begins: "EVFORGE_FILE=run.nxs .venv/bin/python",
        why: "it needs the packages that the commands before it install; it is run wherever they are",
        instead: Some(
            "EVFORGE_FILE=run.nxs .venv/bin/python tests/python/run_notebook.py examples/notebooks/first_events.ipynb",
        ),
        covered_by: ("crates/evforge/tests/program/notebook.rs", "run_notebook.py"),
        needs_python: true,
    },
    Exception {
        document: "docs/first-hour.md",
        begins: "EVFORGE_FILE=amor.nxs .venv/bin/python",
        why: "it needs the packages that the commands before it install; it is run wherever they are",
        instead: Some(
            "EVFORGE_FILE=amor.nxs .venv/bin/python tests/python/run_notebook.py examples/notebooks/reduce_a_file.ipynb",
        ),
        covered_by: ("crates/evforge/tests/program/notebook_reduction.rs", "reduce_a_file.ipynb"),
        needs_python: true,
    },
    Exception {
        document: "data/README.md",
        begins: "evforge simulate --config configs/gdgem-srs.toml --start fixed",
        why: "its files are there already, and are refused: another test runs each of these commands in an empty folder",
        instead: None,
        covered_by: (
            "crates/evforge/tests/program/own_data.rs",
            "the_commands_of_the_readme_make_the_captures_and_their_truth",
        ),
        needs_python: false,
    },
];
