"""Trains as the karabo-bridge client gets them. Started by crates/train/tests/bridge.

test_bridge_client.py ADDRESS COMMAND …: `values MODULES TRAIN …` asks for these trains in this order and compares all values, for which
the rule is that of test_train_readback.py; `asks` asks for one train for each line of its standard input. Both print a line with the
number of each train. A line `ready` is printed before the first request.
"""

import os
import sys

import numpy as np
from karabo_bridge import Client
from test_train_readback import image_values

SHAPE = (1, 256, 256)


def number_of(meta):
    numbers = {entry["timestamp.tid"] for entry in meta.values()}
    assert len(numbers) == 1, meta
    return numbers.pop()


def check(data, meta, modules, train):
    sources = {f"FXE_DET_LPD1M-1/DET/{module}CH0:xtdf": module for module in range(modules)}
    assert set(data) == set(meta) == set(sources), data.keys()
    for source, module in sources.items():
        entry, values = meta[source], data[source]
        assert entry["source"] == source and entry["timestamp.tid"] == train, entry
        arrival = 1_790_000_000_000_000_000 + train * 100_000_000
        assert int(entry["timestamp.sec"]) == arrival // 10**9, entry
        assert len(entry["timestamp.frac"]) == 18 and int(entry["timestamp.frac"]) == arrival % 10**9 * 10**9, entry
        assert abs(entry["timestamp"] - arrival * 1e-9) < 1e-3, entry
        images = train % 4
        assert values["header.trainId"] == train and values["header.pulseCount"] == images, values
        assert values["header.dataId"] == train * 11 and values["trailer.status"] == train % 251
        assert values["header.linkId"] == 0xFFFFFFFF << 32 | module
        assert values["header.majorTrainFormatVersion"] == 2 and values["header.minorTrainFormatVersion"] == 1
        data_array = values["image.data"]
        assert data_array.dtype == np.uint16 and data_array.shape == (images, *SHAPE), data_array.shape
        for image in range(images):
            assert np.array_equal(data_array[image], image_values(SHAPE, train, module, image)), (train, module, image)
        expected = {
            "cellId": np.arange(images, dtype=np.uint16) * 2 + module,
            "pulseId": np.arange(images, dtype=np.uint64) * 5 + 3,
            "trainId": np.full(images, train, dtype=np.uint64),
            "length": np.full(images, 131072, dtype=np.uint32),
            "status": np.zeros(images, dtype=np.uint16),
        }
        for key, column in expected.items():
            found = values[f"image.{key}"]
            assert found.dtype == column.dtype and found.shape == (images, 1), (key, found.dtype, found.shape)
            assert np.array_equal(found[:, 0], column), key
        block = (np.arange(416, dtype=np.uint64) + np.uint64(train)) % np.uint64(251)
        assert np.array_equal(values["detector.data"], block)
        assert np.array_equal(values["trailer.checksum"], np.arange(16, dtype=np.int8))


def main():
    address, command, *rest = sys.argv[1:]
    with Client(f"tcp://{address}", timeout=float(os.environ.get("EVFORGE_PATIENCE", "120"))) as client:
        print("ready", flush=True)
        if command == "values":
            modules, *trains = map(int, rest)
            for train in trains:
                check(*client.next(), modules, train)
                print(train, flush=True)
            return
        for _ in sys.stdin:
            _, meta = client.next()
            print(number_of(meta), flush=True)


if __name__ == "__main__":
    main()
