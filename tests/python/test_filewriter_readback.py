"""Reads a file of the file writer's modules as its users do, with h5py and scippnexus, and compares with what was written.

    test_filewriter_readback.py modules FILE EXPECTED.json

EXPECTED.json:
    pixels    of the events, in the order of the file: those of /entry/instrument/detector
    offsets   of the events, in nanoseconds
    pulses    starts of the pulses with a record, in nanoseconds since 1970
    index     first event of each record
    kept      the same four of /entry/instrument/own, where each pulse has a record: a list of pixels, offsets, pulses, index
    values    of /entry/temperature, in kelvin
    times     of the values, in nanoseconds since 1970
    alarms    messages of alarms in the same group
    monitor   counts of /entry/monitor, with `edges`, in nanoseconds
    rows      of /entry/array: the rows of `signal`

Exit status 0 and one line if all is as expected. `cargo test -p evforge-filewriter` runs it (crates/filewriter/tests/modules_python.rs).
"""

import argparse
import json
import warnings

import h5py
import numpy as np
import scipp as sc
import scippnexus as snx


def instants(ns):
    return np.array(ns, dtype="datetime64[ns]")


def check_events(file, path, pixels, offsets, pulses, index):
    with h5py.File(file) as h5:
        group = h5[path]
        assert group["event_id"].dtype == np.int32 and group["event_time_offset"].dtype == np.int32
        assert group["event_time_zero"].dtype == np.uint64 and group["event_index"].dtype == np.int64
        np.testing.assert_array_equal(group["event_id"][()], pixels)
        np.testing.assert_array_equal(group["event_time_offset"][()], offsets)
        np.testing.assert_array_equal(group["event_time_zero"][()], np.array(pulses, dtype=np.uint64))
        np.testing.assert_array_equal(group["event_index"][()], index)


def check_detector(root, name, pixels, offsets, pulses, index):
    """scippnexus puts the events of a detector into its pixels."""
    detector = root[f"entry/instrument/{name}"][()]
    events = next(value for value in detector.values() if isinstance(value, sc.DataArray) and value.is_binned)
    assert events.sizes == {"x_pixel_offset": 3} or list(events.shape) == [3], events.sizes
    counts = events.bins.size().values
    wanted = [sum(1 for pixel in pixels if pixel == number) for number in (11, 12, 13)]
    np.testing.assert_array_equal(counts, wanted)
    table = events.bins.concat().value
    assert table.coords["event_time_offset"].unit == "ns"
    ends = index[1:] + [len(pixels)]
    zero = [pulse for pulse, first, end in zip(pulses, index, ends) for _ in range(first, end)]
    wanted = sorted((number, offset) for number, offset in zip(zero, offsets))
    found = zip(table.coords["event_time_zero"].values.astype("datetime64[ns]").astype(np.int64),
                table.coords["event_time_offset"].values)
    assert sorted((int(number), int(offset)) for number, offset in found) == wanted


def modules(file, expected):
    own = expected["kept"]
    reference = [expected[key] for key in ("pixels", "offsets", "pulses", "index")]
    check_events(file, "entry/instrument/detector/events", *reference)
    check_events(file, "entry/instrument/own/events", *own)
    with snx.File(file) as root, warnings.catch_warnings():
        warnings.simplefilter("error")
        check_detector(root, "detector", *reference)
        check_detector(root, "own", *own)
        log = root["entry/temperature"][()]
        values = log if isinstance(log, sc.DataArray) else log["value"]
        assert values.unit == "K", values.unit
        np.testing.assert_array_equal(values.values, expected["values"])
        np.testing.assert_array_equal(values.coords["time"].values, instants(expected["times"]))
        monitor = root["entry/monitor"][()]
        monitor = monitor if isinstance(monitor, sc.DataArray) else monitor["data"]
        np.testing.assert_array_equal(monitor.values, expected["monitor"])
        np.testing.assert_array_equal(monitor.coords["time_of_flight"].values, expected["edges"])
        array = root["entry/array"][()]
        assert array.sizes == {"time": len(expected["rows"]), "x": 2}, array.sizes
        np.testing.assert_array_equal(array.values, expected["rows"])
        assert array.unit == "counts"
    with h5py.File(file) as h5:
        group = h5["entry/temperature"]
        messages = [message.decode("utf-8") for message in group["alarm_message"][()]]
        assert messages == expected["alarms"], messages
        assert group["minimum_value"][()] == min(expected["values"])
        assert group["maximum_value"][()] == max(expected["values"])
        assert np.isclose(group["average_value"][()], np.mean(expected["values"]))
        assert group.attrs["NX_class"] == "NXlog" and group.attrs["writer_module"] == "f144"
    print(f"{len(expected['pixels'])} events, {len(expected['values'])} values: as expected")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["modules"])
    parser.add_argument("file")
    parser.add_argument("expected")
    arguments = parser.parse_args()
    with open(arguments.expected) as file:
        modules(arguments.file, json.load(file))


if __name__ == "__main__":
    main()
