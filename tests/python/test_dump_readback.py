"""Reads dumps of readouts with h5py and compares with what was written; writes dumps as h5py does.

    test_dump_readback.py read FILE EXPECTED.json     a dump that evforge wrote
    test_dump_readback.py august FILE                 writes srs_hits as the EFU of August 2018 did

EXPECTED.json:
    table    name of the table
    columns  [[name, numpy type]] in their order
    rows     [[values]] in the order of the columns
    version  the attribute format_version, or null

Exit status 0 and one line if all is as expected. `cargo test -p evforge-dump` runs it (crates/dump/tests/python.rs).
"""

import json
import sys

import h5py
import numpy as np


def read(path, expected):
    with open(expected, encoding="utf-8") as file:
        expected = json.load(file)
    with h5py.File(path, "r") as file:
        assert list(file) == [expected["table"]], list(file)
        table = file[expected["table"]]
        columns = [(name, np.dtype(kind)) for name, kind in expected["columns"]]
        assert table.dtype == np.dtype(columns), table.dtype
        assert table.dtype.itemsize == sum(kind.itemsize for _, kind in columns), "packed"
        assert table.maxshape == (None,) and table.chunks == (9000 // table.dtype.itemsize,)
        rows = np.array([tuple(row) for row in expected["rows"]], dtype=table.dtype)
        assert np.array_equal(table[()], rows)
        version = table.attrs.get("format_version")
        assert version == expected["version"], version
        assert version is None or version.dtype == np.uint16
        assert isinstance(table.attrs["EFU_version"], str)
        assert table.attrs["EFU_build_string"].startswith("evforge ")
    print(f"{path}: {len(rows)} rows as expected")


def august(path):
    """The structure of the program, aligned, under a type that declares its members packed."""
    names = ["fec", "chip_id", "bonus_timestamp", "srs_timestamp", "channel", "bcid", "tdc", "adc", "over_threshold"]
    kinds = ["u1", "u1", "<u4", "<u4", "<u2", "<u2", "<u2", "<u2", "u1"]
    really = np.dtype({"names": names, "formats": kinds, "offsets": [0, 1, 4, 8, 12, 14, 16, 18, 20], "itemsize": 24})
    declared = np.dtype({"names": names, "formats": kinds, "offsets": [0, 1, 2, 6, 10, 12, 14, 16, 18], "itemsize": 24})
    rows = np.zeros(1000, really)
    for place, name in enumerate(names):
        rows[name] = np.arange(1000) * (place + 3)
    rows["over_threshold"] %= 2
    with h5py.File(path, "w") as file:
        table = file.create_dataset("srs_hits", (1000,), declared, maxshape=(None,), chunks=(375,))
        # Straight to the library: numpy would copy the declared members only.
        table.id.write(h5py.h5s.ALL, h5py.h5s.ALL, rows.view(np.uint8).view(declared), table.id.get_type())
    print(f"{path}: written")


{"read": read, "august": august}[sys.argv[1]](*sys.argv[2:])
