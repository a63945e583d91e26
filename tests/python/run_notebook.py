"""Runs the code cells of a notebook in order, in one namespace, as a fresh kernel would.

    run_notebook.py NOTEBOOK [NAME ...]

NAME are variables that the notebook must have defined at its end (default: event_count). They are printed as one
JSON object on standard output; what the notebook prints goes to standard error. Figures are drawn, but not shown.

Exit status 0 if every cell has run. Otherwise the cell that failed is named. Stored outputs are a failure too: they
belong to somebody's data, not into the repository. `cargo test -p evforge` runs it (crates/evforge/tests/program/notebook.rs).
"""

import argparse
import contextlib
import json
import os
import sys
import traceback

os.environ["MPLBACKEND"] = "Agg"

import matplotlib.pyplot as plt  # noqa: E402  (after the choice of its backend)


def code_cells(path):
    """The code cells of the notebook at `path`: what to call each, and its source."""
    with open(path, encoding="utf-8") as file:
        notebook = json.load(file)
    for number, cell in enumerate(notebook["cells"], start=1):
        if cell["cell_type"] != "code":
            continue
        name = f"cell {number} ({cell.get('id', 'without id')})"
        if cell["outputs"] or cell["execution_count"] is not None:
            sys.exit(f"{path}: {name} has stored outputs: clear them")
        yield name, "".join(cell["source"])


def run(path):
    """The namespace that the notebook at `path` leaves behind."""
    namespace = {"__name__": "__main__"}
    for name, source in code_cells(path):
        try:
            exec(compile(source, f"<{name}>", "exec"), namespace)
            # A figure that cannot be drawn is a failure of the cell that made it.
            for figure in plt.get_fignums():
                plt.figure(figure).canvas.draw()
        except Exception:
            traceback.print_exc()
            sys.exit(f"{path}: {name} failed")
        plt.close("all")
    return namespace


def plain(value):
    """A number of NumPy or scipp as one of Python."""
    return value.item() if hasattr(value, "item") else value


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("notebook")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    with contextlib.redirect_stdout(sys.stderr):
        namespace = run(options.notebook)
    names = options.names or ["event_count"]
    missing = [name for name in names if name not in namespace]
    if missing:
        sys.exit(f"{options.notebook}: does not define {', '.join(missing)}")
    print(json.dumps({name: plain(namespace[name]) for name in names}))


if __name__ == "__main__":
    sys.exit(main())
