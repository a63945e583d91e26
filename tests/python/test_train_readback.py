"""Runs of trains as EXtra-data reads them. Started by crates/train/tests/files.

The arguments are the folder of a run, and what is in it, as JSON, for each of several runs: {"detector": "LPD", "components": true, "source":
"FXE_DET_LPD1M-1", "files": 4, "modules": {"0": [[train, arrival_ns, [[image, status], ...]], ...]}}. Values follow the rule of `value` and
of the functions behind it, which the test in Rust has, too.
"""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
from extra_data import H5File, RunDirectory
from extra_data.components import AGIPD1M, DSSC1M, LPD1M
from extra_data.validation import RunValidator

SHAPES = {"LPD": (1, 256, 256), "AGIPD": (2, 512, 128), "DSSC": (1, 128, 512)}
COMPONENTS = {"LPD": LPD1M, "AGIPD": AGIPD1M, "DSSC": DSSC1M}
SPECIFIC = {"LPD": 416, "AGIPD": 5408, "DSSC": 416}


def image_values(shape, train, module, image):
    index = np.arange(np.prod(shape), dtype=np.uint64)
    start = np.uint64(train * 7 + module * 131 + image * 1009)
    return ((start + index * np.uint64(3)) % np.uint64(65536)).astype(np.uint16).reshape(shape)


def check_module(run, source, detector, module, trains):
    shape = SHAPES[detector]
    counts = run[source, "image.data"].data_counts()
    assert [int(counts[train]) for train, _, _ in trains] == [len(images) for _, _, images in trains], counts
    data = run[source, "image.data"].xarray()
    assert data.dtype == np.uint16 and data.shape[1:] == shape, (data.dtype, data.shape)
    expected = [(train, image, status) for train, _, images in trains for image, status in images]
    assert data.shape[0] == len(expected)
    assert data.trainId.values.tolist() == [train for train, _, _ in expected]
    for found, (train, image, _) in zip(data.values, expected, strict=True):
        assert np.array_equal(found, image_values(shape, train, module, image)), (train, module, image)

    def column(key):
        return run[source, key].ndarray()

    image = np.array([image for _, image, _ in expected], dtype=np.uint64)
    columns = {
        "trainId": np.array([train for train, _, _ in expected], dtype=np.uint64),
        "pulseId": image * np.uint64(5) + np.uint64(3),
        "cellId": (image * np.uint64(2) + np.uint64(module)).astype(np.uint16),
        "length": np.full(len(image), np.prod(shape) * 2, dtype=np.uint32),
        "status": np.array([status for _, _, status in expected], dtype=np.uint16),
    }
    for key, values in columns.items():
        found = column(f"image.{key}")
        assert found.shape == (len(image), 1) and found.dtype == values.dtype, (key, found.shape, found.dtype)
        assert np.array_equal(found[:, 0], values), key

    numbers = np.array([train for train, _, _ in trains], dtype=np.uint64)
    for part in ("detector", "header", "trailer"):
        assert np.array_equal(column(f"{part}.trainId"), numbers), part
    assert np.array_equal(column("header.dataId"), numbers * np.uint64(11))
    assert np.array_equal(column("header.linkId"), np.full(len(numbers), 0xFFFFFFFF << 32 | module, dtype=np.uint64))
    magic = column("header.magicNumberBegin")
    assert magic.dtype == np.int8 and magic.astype(np.uint8).tobytes() == bytes.fromhex("CEFAEFBE46445458") * len(numbers)
    assert set(column("header.majorTrainFormatVersion")) == {2} and set(column("header.minorTrainFormatVersion")) == {1}
    reserved = column("header.reserved")
    assert reserved.shape == (len(numbers), 16) and reserved[0, :4].tobytes() == np.uint32(SPECIFIC[detector]).tobytes()
    assert np.array_equal(reserved[:, 8:], np.tile(np.arange(1, 9, dtype=np.uint8), (len(numbers), 1)))
    checksum = column("trailer.checksum")
    assert checksum.dtype == np.int8 and np.array_equal(checksum, np.tile(np.arange(16), (len(numbers), 1)))
    assert column("trailer.magicNumberEnd").astype(np.uint8).tobytes() == bytes.fromhex("CDABADDE46445458") * len(numbers)
    assert np.array_equal(column("trailer.status"), numbers % np.uint64(251))
    block = column("detector.data")
    assert block.shape == (len(numbers), SPECIFIC[detector]) and block.dtype == np.uint8
    where = np.arange(SPECIFIC[detector], dtype=np.uint64)
    for row, train in zip(block, numbers, strict=True):
        assert np.array_equal(row, ((where + train) % np.uint64(251)).astype(np.uint8)), train


def main():
    for folder, spec in zip(sys.argv[1::2], sys.argv[2::2], strict=True):
        check_run(Path(folder), json.loads(spec))


def check_run(folder, spec):
    detector = spec["detector"]
    modules = {int(module): trains for module, trains in spec["modules"].items()}
    files = sorted(path.name for path in folder.glob("*.h5"))
    assert len(files) == spec["files"], files

    run = RunDirectory(str(folder))
    run.info()
    every = sorted({train for trains in modules.values() for train, _, _ in trains})
    assert run.train_ids == every, (run.train_ids, every)
    sources = {module: f"{spec['source']}/DET/{module}CH0:xtdf" for module in modules}
    assert run.instrument_sources == frozenset(sources.values()), run.instrument_sources
    arrivals = {train: arrival for trains in modules.values() for train, arrival, _ in trains}
    for module, trains in modules.items():
        if not trains:
            assert run[sources[module], "image.data"].shape[0] == 0
            continue
        check_module(run, sources[module], detector, module, trains)
        only = run.select(sources[module])
        stamps = only.train_timestamps()
        for train, stamp in zip(only.train_ids, stamps, strict=True):
            assert np.isnat(stamp) or int(stamp.astype("datetime64[ns]").astype(np.int64)) == arrivals[train], train
    single = H5File(str(folder / files[0]))
    metadata = single.run_metadata()
    assert metadata["dataFormatVersion"] == "1.2" and metadata["runNumber"] == 1, metadata
    assert metadata["proposalNumber"] == 4711 and metadata["sample"] == "gold", metadata

    if spec["components"]:
        whole = COMPONENTS[detector](run, min_modules=1)
        array = whole.get_array("image.data", unstack_pulses=False)
        filled = {module: trains for module, trains in modules.items() if trains}
        assert set(filled) <= set(array.module.values.tolist()) <= set(modules), array.module
        for module, trains in filled.items():
            expected = [(train, image) for train, _, images in trains for image, _ in images]
            part = array.sel(module=module)
            found = {(int(t), (int(p) - 3) // 5): k for k, (t, p) in enumerate(part.train_pulse.values)}
            for train, image in expected:
                values = np.squeeze(part.values[found[train, image]])
                assert np.array_equal(values, np.squeeze(image_values(SHAPES[detector], train, module, image)))

    problems = RunValidator(str(folder)).run_checks()
    assert problems == [], problems
    tool = Path(sys.executable).with_name("extra-data-validate")
    validated = subprocess.run([tool, folder], capture_output=True, text=True, check=False)
    assert validated.returncode == 0 and "No problems found" in validated.stdout, validated


if __name__ == "__main__":
    main()
