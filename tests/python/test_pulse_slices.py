"""Slices the events of NeXus files by pulse time, as those who reduce them do, with scippnexus.

    test_pulse_slices.py FILE...

Of every group of class NXevent_data: event_time_zero never goes back, each half has the events whose pulse is in it, and the halves
together have all. Groups called events_late are not of that class; how many events they have is said.

Exit status 0 and a line for each file. `cargo test` runs it for the files of `evforge run` (crates/stream/tests/processes/python.rs) and
of `evforge write` (crates/filewriter/tests/control/files/order.rs).
"""

import sys
import warnings

import h5py
import numpy as np
import scipp as sc
import scippnexus as snx


def groups(file):
    """Paths of the groups of events, and the number of late events."""
    found, late = [], 0

    def look(path, item):
        nonlocal late
        if isinstance(item, h5py.Group):
            if item.attrs.get("NX_class") in ("NXevent_data", b"NXevent_data"):
                found.append(path)
            if path.split("/")[-1] == "events_late":
                late += len(item["event_id"])

    with h5py.File(file) as h5:
        h5.visititems(look)
    return found, late


def check(file, path):
    with h5py.File(file) as h5:
        times = h5[path]["event_time_zero"][()].astype(np.int64)
        index, total = h5[path]["event_index"][()], len(h5[path]["event_id"])
    assert np.all(np.diff(times) >= 0), f"{file} {path}: event_time_zero goes back"
    if len(times) < 2:
        # There is nothing to cut.
        return total
    counts = np.diff(np.append(index, total))
    with snx.File(file) as root:
        events = root[path]
        assert isinstance(events, snx.Group) and events.nx_class is snx.NXevent_data
        binned = events[()]
    assert binned.bins.size().sum().value == total
    for cut in {0, len(times) // 3, len(times) // 2, len(times) - 1}:
        at = sc.scalar(np.datetime64(int(times[cut]), "ns"), unit="ns")
        before, after = binned["event_time_zero", :at], binned["event_time_zero", at:]
        sizes = [int(part.bins.size().sum().value) for part in (before, after)]
        assert sizes == [counts[times < times[cut]].sum(), counts[times >= times[cut]].sum()], (path, sizes)
    return total


def main():
    warnings.simplefilter("ignore")
    for file in sys.argv[1:]:
        paths, late = groups(file)
        assert paths, f"{file}: no events"
        total = sum(check(file, path) for path in paths)
        print(f"{file}: {total} events in order, {late} late")


if __name__ == "__main__":
    main()
