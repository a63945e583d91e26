"""Reads event files of evforge as their users do, with h5py and scippnexus, and compares with what was written.

    test_nexus_readback.py whole FILE EXPECTED.json     a finished file
    test_nexus_readback.py follow FILE --events N       a file that grows until it has N events
    test_nexus_readback.py instrument FILE EVENTS.csv SIDE... [--layers] [--pulses PULSES.json]
                                                        a finished file of any detector, against its events and,
                                                        if they are given, its pulses
    test_nexus_readback.py monitors FILE EXPECTED.json  a file of beam monitors

EXPECTED.json:
    shape     sides of detector_number, slowest first
    pitch     [x, y] in metres; null if it is not known
    detector  name of the detector
    times     of all events, in nanoseconds since 1970, in the order of the file
    pixels    of all events
    pulses    starts of all pulses, in nanoseconds since 1970
    ledger    {name: [values]}
    counters  {name: [values]}; absent if the file has no table of counters
    live_time [[source, begin in nanoseconds since 1970, duration, received, lost, live fraction or null]]
    state     what recording/state begins with
    frames    of each pulse [period from 1 or 0, vetoes, whether it is good, charge in microampere hours or null, state];
              absent if the readout tells no frames
    vetoes    of frames: [bit, name, whether it counts]

PULSES.json is a list of [start of the pulse in nanoseconds since 1970, [pixels of its events]].

EXPECTED.json of beam monitors is a list of
    name, kind, detector_id
    edges     of the bins, in nanoseconds
    counts    in each bin
    below, above, readouts, pulses
    pulse_times, times, pixels   as above, of this monitor; null if its events are not in the file

Exit status 0 and one line if all is as expected. `cargo test -p evforge-stream` runs it (crates/stream/tests/processes/python.rs).
"""

import argparse
import json
import os
import sys
import time
import warnings

import h5py
import numpy as np
import scipp as sc
import scippnexus as snx


def text(dataset):
    return dataset[()].decode("utf-8")


def known(values):
    """The values of a series; None where it says that they are not known."""
    return [None if np.isnan(value) else value for value in values]


def identity(entry, expected):
    """What the run is called; what nobody has said is absent."""
    names = {"title": "title", "entry_identifier": "entry_identifier", "experiment": "experiment_identifier",
             "experiment_description": "experiment_description", "user": "user/name"}
    for key, name in names.items():
        if key in expected:
            assert text(entry[name]) == expected[key], name
        else:
            assert key == "title" or name not in entry, name
    assert text(entry["sample/name"]) == expected.get("sample", "")
    if "number" in expected:
        assert entry["run_number"].dtype == np.int32 and entry["run_number"][()] == expected["number"]
    else:
        assert "run_number" not in entry


def frames(entry, expected):
    """What is known of each pulse, and of all together; nothing where nobody has told it."""
    rows = expected.get("frames")
    totals = ["raw_frames", "good_frames", "proton_charge_raw", "proton_charge"]
    if rows is None:
        assert not any(name in entry for name in ["framelog", *totals]), "nobody has told it"
        return
    log = entry["framelog"]
    assert log.attrs["NX_class"] == "NXcollection"
    assert all(group.attrs["NX_class"] == "NXlog" for name, group in log.items() if name != "time")
    assert log["period_log/value"].dtype == np.int32
    values = {name: log[name]["value"][()].tolist() for name in log if name != "time"}
    states = list(log["frame_state/value"].attrs["states"])
    assert states == ["unknown", "complete", "incomplete", "late"]
    found = [list(row) for row in zip(
        values["period_log"], values["veto_log"], map(bool, values["is_good"]), known(values["proton_charge"]),
        [states[code] for code in values["frame_state"]], strict=True)]
    assert found == rows, found
    assert log["period_log/time"][()].tolist() == expected["pulses"]
    attributes = log["veto_log/value"].attrs
    columns = [list(attributes.get(name, [])) for name in ("bits", "names", "counts")]
    vetoes = [[int(bit), name, bool(counts)] for bit, name, counts in zip(*columns, strict=True)]
    assert vetoes == expected["vetoes"], vetoes
    assert log["proton_charge/value"].attrs["units"] == entry["proton_charge"].attrs["units"] == "uAh"
    good = [row for row in rows if row[2]]
    assert [entry[name][()] for name in totals[:2]] == [len(rows), len(good)]
    charges = [sum(charge or 0 for _, _, _, charge, _ in part) for part in (rows, good)]
    assert np.allclose([entry[name][()] for name in totals[2:]], charges, rtol=1e-12)


def with_h5py(path, expected):
    with h5py.File(path, "r") as file:
        entry = file["entry"]
        for group, name in [(file, "NXroot"), (entry, "NXentry"), (entry["instrument"], "NXinstrument"),
                            (entry["sample"], "NXsample"), (entry["instrument/source"], "NXsource")]:
            assert group.attrs["NX_class"] == name, (group.name, group.attrs["NX_class"])
        assert text(entry["recording/state"]).startswith(expected["state"])
        identity(entry, expected.get("run", {}))
        pulses = expected["pulses"] if text(entry["recording/pulses"]) == "the readout" else None
        assert ("total_pulses" in entry) == (pulses is not None)
        assert pulses is None or entry["total_pulses"][()] == len(pulses)
        frames(entry, expected)
        report = json.loads(text(entry["recording/report"]))
        assert isinstance(report, dict)

        detector = entry["instrument"][expected["detector"]]
        number = detector["detector_number"]
        assert number.dtype == np.int32 and list(number.shape) == expected["shape"]
        assert np.array_equal(number[()].ravel(), np.arange(1, number.size + 1))
        for name, pitch in zip(["x_pixel_offset", "y_pixel_offset"], expected["pitch"] or []):
            offset, axis = detector[name], {"x": -1, "y": -2}[name[0]]
            # x for each pixel, and y along one axis of the grid.
            of_pixels = [place for place, of in enumerate(detector.attrs["axes"]) if of != "panel"]
            axes = of_pixels if name[0] == "x" else [number.ndim + axis]
            assert offset.dtype == np.float64 and offset.shape == tuple(number.shape[place] for place in axes)
            assert detector.attrs[name + "_indices"].tolist() == axes
            lines = offset[()].reshape(-1, number.shape[axis])
            assert (lines == lines[0]).all() and np.allclose(np.diff(lines[0]), pitch) and abs(lines[0].mean()) < 1e-12
        assert ("x_pixel_offset" in detector) == (expected["pitch"] is not None)
        if "depends_on" in detector:
            assert file[text(detector["depends_on"])].attrs["transformation_type"] == "translation"

        events = detector[expected["detector"] + "_events"]
        assert events.attrs["NX_class"] == "NXevent_data"
        types = {"event_id": "int32", "event_time_offset": "int32", "event_time_zero": "uint64",
                 "event_index": "int64", "cue_index": "int64", "cue_timestamp_zero": "int64"}
        for name, dtype in types.items():
            assert events[name].dtype == dtype, (name, events[name].dtype)
        for name, origin in [("event_time_zero", "offset"), ("cue_timestamp_zero", "start")]:
            attributes = events[name].attrs
            assert attributes["units"] == "ns" and attributes[origin] == "1970-01-01T00:00:00Z"
        assert events["total_counts"][()] == len(expected["times"])
        assert np.array_equal(events["event_id"][()], expected["pixels"])
        zero, index = events["event_time_zero"][()], events["event_index"][()]
        assert np.array_equal(zero, np.array(expected["pulses"], dtype=np.uint64))
        # The time of an event is that of its pulse and its offset.
        count = np.diff(np.append(index, len(events["event_id"])))
        assert np.array_equal(np.repeat(zero, count) + events["event_time_offset"][()].astype(np.uint64),
                              np.array(expected["times"], dtype=np.uint64))
        cues, cue_times = events["cue_index"][()], events["cue_timestamp_zero"][()]
        assert len(cues) == len(cue_times) > 0
        for cue, cue_time in zip(cues, cue_times):
            assert cue in index[zero == cue_time]
        for name, values in expected["ledger"].items():
            log = entry["ledger"][name]
            assert log.attrs["NX_class"] == "NXlog" and known(log["value"][()]) == values, name
            assert len(log["time"]) == len(values)
        counters = expected.get("counters", {})
        assert ("counters" in entry["ledger"]) == bool(counters)
        if counters:
            table = entry["ledger/counters"]
            names = [name.decode("utf-8") for name in table["counter"][()]]
            assert dict(zip(names, table["counts"][()].T.tolist(), strict=True)) == counters
            assert table["counts"].dtype == np.int64
            assert table["counts"].chunks[0] == 1, "a row is written once"
            assert table["time"] == entry["ledger/time"]

        live = entry["live_time"]
        names = [name.decode("utf-8") for name in live["source_name"][()]]
        columns = [live[name][()] for name in
                   ("source", "time", "duration", "packets_received", "packets_lost", "live_fraction")]
        rows = [[names[source], *numbers, None if np.isnan(fraction) else fraction]
                for source, *numbers, fraction in zip(*columns)]
        assert rows == expected["live_time"], rows


def with_scippnexus(path, expected):
    with warnings.catch_warnings():
        # A file that loads with complaints is not a good file.
        warnings.simplefilter("error", UserWarning)
        with snx.File(path) as file:
            entry = file["entry"]
            loaded = entry["instrument"][expected["detector"]][...]
            ledger = entry["ledger"][...]
            whole = snx.load(path)
    events = loaded[expected["detector"] + "_events"]
    assert list(events.shape) == expected["shape"]
    pixels = np.array(expected["pixels"])
    inside = pixels[(pixels >= 1) & (pixels <= events.size)]
    counts = np.bincount(inside - 1, minlength=events.size)
    assert np.array_equal(events.bins.size().values.ravel(), counts), "the same events in every pixel"
    assert events.bins.size().sum().value == len(inside)

    # Pulse times as instants, and the times of the events of one pixel.
    zeros = events.bins.constituents["data"].coords["event_time_zero"]
    assert zeros.dtype == sc.DType.datetime64 and zeros.unit == "ns"
    busiest = int(np.argmax(counts))
    one = sc.flatten(events, to="pixel")["pixel", busiest].value
    seconds = one.coords["event_time_zero"].values.astype("int64") + one.coords["event_time_offset"].values
    assert np.array_equal(np.sort(seconds), np.sort(np.array(expected["times"])[pixels == busiest + 1]))

    if "counters" in expected:
        table = ledger["counters"]
        assert table.dims == ("time", "counter") and table.unit == "counts"
        for name, values in expected["counters"].items():
            assert table["counter", sc.scalar(name)].values.tolist() == values, name
        assert table.coords["description"].dims == ("counter",)
        assert sc.identical(table.coords["time"], ledger["unaccounted"].coords["time"])
    for name, values in expected["ledger"].items():
        log = ledger[name]
        assert isinstance(log, sc.DataArray) and known(log.values) == values, name
        assert log.coords["time"].dtype == sc.DType.datetime64
    if "frames" in expected:
        log = whole["entry"]["framelog"]
        assert log["period_log"].values.tolist() == [row[0] for row in expected["frames"]]
        assert log["veto_log"].values.tolist() == [row[1] for row in expected["frames"]]
        charge = log["proton_charge"]
        assert charge.unit == sc.Unit("uA*hour") and charge.coords["time"].dtype == sc.DType.datetime64
    if "depends_on" in loaded:
        placed = snx.compute_positions(whole)["entry"]["instrument"][expected["detector"]]
        position = placed[expected["detector"] + "_events"].coords["position"]
        assert position.sizes == events.sizes and position.unit == "m"


def instrument(path, events_csv, shape, has_layers, pulses_json):
    """The detector has the right sides and depth, every pixel the events that the CSV file says, and every pulse the
    pixels that are expected."""
    pixels = np.loadtxt(events_csv, delimiter=",", skiprows=1, usecols=1, dtype=np.int64, ndmin=1)
    counts = np.bincount(pixels, minlength=int(np.prod(shape)) + 1)
    assert counts[0] == 0 and len(counts) == np.prod(shape) + 1, "pixel ids count from 1 to the last"
    with h5py.File(path, "r") as file:
        detectors = {name: group for name, group in sorted(file["entry/instrument"].items())
                     if group.attrs.get("NX_class") == "NXdetector"}
        # Panels that are placed each on its own have a group each.
        number = np.stack([group["detector_number"][()] for group in detectors.values()]).reshape(shape)
        assert np.array_equal(number.ravel(), np.arange(1, number.size + 1))
        groups = [group[name + "_events"] for name, group in detectors.items()]
        # Where the detector's clock has started over, the events behind it are in no order of time.
        late = [events["events_late"] for events in groups]
        assert sum(events["total_counts"][()] for events in groups + late) == len(pixels)
        in_order, late = (sum(np.bincount(events["event_id"][()], minlength=len(counts)) for events in kind)
                          for kind in (groups, late))
        assert np.array_equal(in_order + late, counts), "h5py: the same events in every pixel"
        for detector in detectors.values():
            # One value for each pixel takes next to nothing where the others are repeated.
            offsets = [detector[name].id.get_storage_size() for name in detector if name.endswith("_pixel_offset")]
            assert all(size < max(number.size, 4096) for size in offsets), (offsets, number.size)
            assert ("layer" in detector) == has_layers, "layers have a depth, panels have not"
        if pulses_json is not None:
            events, = groups
            zero, ends = events["event_time_zero"][()], events["event_index"][1:]
            of_pulses = np.split(events["event_id"][()], ends)
            with open(pulses_json, encoding="utf-8") as expected:
                found = [[int(start), sorted(pixels.tolist())] for start, pixels in zip(zero, of_pulses, strict=True)]
                assert found == [[start, sorted(pixels)] for start, pixels in json.load(expected)], found
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        with snx.File(path) as file:
            loaded = [file["entry"]["instrument"][name][...][name + "_events"] for name in detectors]
    sizes = np.concatenate([events.bins.size().values.ravel() for events in loaded])
    assert np.array_equal(sizes, in_order[1:]), "scippnexus: the same"


def monitors(path, expected):
    """Every beam monitor has its histogram and, if it sends events, its events and all pulses."""
    with h5py.File(path, "r") as file:
        entry = file["entry"]
        names = [name for name, group in entry.items() if group.attrs.get("NX_class") == "NXmonitor"]
        assert sorted(names) == sorted(monitor["name"] for monitor in expected)
        assert not any(group.attrs.get("NX_class") == "NXdetector" for group in entry["instrument"].values())
        for number, monitor in enumerate(expected, start=1):
            group = entry[monitor["name"]]
            assert group.attrs["signal"] == "data" and list(group.attrs["axes"]) == ["time_of_flight"]
            dtype = np.float64 if monitor["kind"] == "integrating" else np.int64
            assert group["data"].dtype == dtype and list(group["data"][()]) == monitor["counts"]
            edges = group["time_of_flight"]
            assert edges.dtype == np.float64 and edges.attrs["units"] == "ns"
            assert np.allclose(edges[()], monitor["edges"], rtol=1e-12, atol=0)
            for name, value in [("monitor_number", number), ("detector_id", monitor["detector_id"]),
                                ("integral", sum(monitor["counts"])), ("below_range", monitor["below"]),
                                ("above_range", monitor["above"]), ("readouts", monitor["readouts"]),
                                ("pulses", monitor["pulses"])]:
                assert group[name][()] == value, (monitor["name"], name, group[name][()])
            assert text(group["kind"]) == monitor["kind"]
            has_events = monitor["times"] is not None
            assert ("events" in group.attrs) == has_events
            if has_events:
                events = file[group.attrs["events"]]
                assert events.attrs["NX_class"] == "NXevent_data"
                zero, index = events["event_time_zero"][()], events["event_index"][()]
                assert np.array_equal(zero, np.array(monitor["pulse_times"], dtype=np.uint64))
                count = np.diff(np.append(index, len(events["event_id"])))
                times = np.repeat(zero, count) + events["event_time_offset"][()].astype(np.uint64)
                assert np.array_equal(times, np.array(monitor["times"], dtype=np.uint64))
                assert np.array_equal(events["event_id"][()], monitor["pixels"])
                assert events["total_counts"][()] == len(monitor["times"])
    with warnings.catch_warnings():
        # A file that loads with complaints is not a good file.
        warnings.simplefilter("error", UserWarning)
        with snx.File(path) as file:
            entry = file["entry"][...]
            assert set(file["entry"][snx.NXmonitor]) == {monitor["name"] for monitor in expected}
    for monitor in expected:
        loaded = entry[monitor["name"]]["data"]
        assert isinstance(loaded, sc.DataArray) and list(loaded.values) == monitor["counts"]
        assert loaded.unit == ("dimensionless" if monitor["kind"] == "integrating" else "counts")
        flight = loaded.coords["time_of_flight"]
        assert loaded.coords.is_edges("time_of_flight") and flight.unit == "ns"
        if monitor["times"] is None:
            continue
        events = entry[monitor["name"] + "_events"]
        assert events.bins.size().sum().value == len(monitor["times"])
        assert events.coords["event_time_zero"].dtype == sc.DType.datetime64
        assert list(events.coords["event_time_zero"].values.astype("int64")) == monitor["pulse_times"]
        # The histogram of the events is the one that was counted.
        offsets = events.bins.constituents["data"].coords["event_time_offset"].values
        assert list(np.histogram(offsets, bins=monitor["edges"])[0]) == monitor["counts"]


def follow(path, wanted):
    """Opens a growing file and sees it grow to `wanted` events, never inconsistent."""
    patience = float(os.environ.get("EVFORGE_PATIENCE", "120"))
    deadline = time.monotonic() + patience
    seen, sizes = -1, []
    with h5py.File(path, "r", swmr=True) as file:
        events = next(detector[name + "_events"] for name, detector in file["entry/instrument"].items()
                      if name + "_events" in detector)
        # A file that was long before this program began has to grow while it looks.
        while seen < wanted or len(sizes) < 3:
            assert time.monotonic() < deadline, f"only {seen} of {wanted} events after {patience} s"
            # First how much there is, then the arrays: by then they can only be longer.
            events["total_counts"].refresh()
            total = int(events["total_counts"][()])
            for name in ("event_index", "event_time_zero", "event_time_offset", "event_id"):
                events[name].refresh()
            assert total >= max(seen, 0), f"the file has shrunk from {seen} to {total}"
            assert len(events["event_id"]) >= total and len(events["event_time_offset"]) >= total
            if total > seen:
                index = events["event_index"][()]
                pulses = min(len(index), len(events["event_time_zero"]))
                assert np.all(np.diff(index) >= 0)
                assert pulses == 0 or index[pulses - 1] <= len(events["event_id"]), "a pulse beyond the events"
                assert np.all(events["event_id"][:total] >= 1), "an event that is not there yet"
                if "framelog" in file["entry"]:
                    rows = file["entry/framelog/period_log/value"]
                    rows.refresh()
                    assert len(rows) >= pulses, "a pulse without its frame"
                seen = total
                sizes.append(total)
            time.sleep(0.01)
    assert len(sizes) >= 3, f"the file did not grow: {sizes}"
    return sizes


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    modes = parser.add_subparsers(dest="mode", required=True)
    whole = modes.add_parser("whole")
    whole.add_argument("file")
    whole.add_argument("expected")
    following = modes.add_parser("follow")
    following.add_argument("file")
    following.add_argument("--events", type=int, required=True)
    detector = modes.add_parser("instrument")
    detector.add_argument("file")
    detector.add_argument("events")
    detector.add_argument("shape", type=int, nargs="+")
    detector.add_argument("--layers", action="store_true")
    detector.add_argument("--pulses")
    monitoring = modes.add_parser("monitors")
    monitoring.add_argument("file")
    monitoring.add_argument("expected")
    options = parser.parse_args()
    if options.mode == "instrument":
        instrument(options.file, options.events, options.shape, options.layers, options.pulses)
        print(f"{options.file}: a detector of {options.shape} with the events of {options.events}")
        return
    if options.mode == "follow":
        sizes = follow(options.file, options.events)
        print(f"{options.file}: seen to grow in {len(sizes)} steps to {sizes[-1]} events")
        return
    with open(options.expected, encoding="utf-8") as file:
        expected = json.load(file)
    if options.mode == "monitors":
        monitors(options.file, expected)
        print(f"{options.file}: {len(expected)} beam monitors as written, with h5py and scippnexus")
        return
    with_h5py(options.file, expected)
    with_scippnexus(options.file, expected)
    print(f"{options.file}: {len(expected['times'])} events as written, with h5py and scippnexus")


if __name__ == "__main__":
    sys.exit(main())
