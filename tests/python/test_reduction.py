"""Reduces event files of evforge as its users do, without a patch, and compares with their configurations.

    test_reduction.py FILE CONFIGURATION.toml EVENTS.csv [--mask-across-layers | --no-mask] [-- FILE …]

scippnexus loads the file and computes positions, scippneutron makes flight paths, wavelengths and a spectrum, ess.reduce
its raw view of the detector. What they must find is worked out here from the table [placement] alone, pixel by pixel, by
another way than evforge's: quaternions instead of matrices, and the centre of each block before its pixels.

The mask of the simulator lies across columns and rows, or across layers and rows where columns run into the depth.
Recordings have none.

Exit status 0 and one line for each file if all is as expected; the packages are imported once for all of them.
`cargo test -p evforge --test program reduction` runs it.
"""

import sys
import tomllib
import warnings

import h5py
import numpy as np
import scipp as sc
import scippneutron as scn
import scippnexus as snx
from ess.reduce.live.raw import RollingDetectorView
from ess.reduce.nexus import types, workflow
from scipy.constants import h, neutron_mass
from scipy.spatial import cKDTree
from scipy.spatial.transform import Rotation

GRAPH = {**scn.conversion.graph.beamline.beamline(scatter=True), **scn.conversion.graph.tof.elastic("tof")}
UNITS = {"mm": 1e-3, "cm": 1e-2, "m": 1.0, "deg": 1.0}

# The simulator's picture, from the top row down (docs/simulate.md): a letter F, a cross and a small square.
MASK = """
................
.########.......
.########.......
.###............
.###............
.######.........
.######.........
.###............
.###............
.###........++..
...........++++.
............++..
................
.......#........
................
................
""".split()
INTENSITY = {"#": 1.0, "+": 0.45, ".": 0.03}


def quantity(text):
    number = text.rstrip("abcdefghijklmnopqrstuvwxyz").strip()
    return float(number) * UNITS[text[len(number):].strip()]


def middle(count):
    return np.arange(count) - (count - 1) / 2


def grid_within_panel(placement, nx, ny, nz):
    """Positions of the pixels of a panel from its centre: [layer, row, column, 3]."""
    pitch = [quantity(text) for text in placement["pitch"]]
    x, y = middle(nx) * pitch[0], middle(ny) * pitch[1]
    z = middle(nz) * (pitch[2] if nz > 1 else 0)
    at = np.stack(np.meshgrid(z, y, x, indexing="ij")[::-1], axis=-1)
    if "arc" not in placement:
        return at
    arc = placement["arc"]
    along = {"columns": 0, "rows": 1}[arc["along"]]
    size, count = arc["size"], [nx, ny][along]
    radius = quantity(placement["panel"][0]["distance"])
    step = quantity(arc["step"])
    tilt = 90 - quantity(arc.get("inclination", "90deg"))
    # A positive angle takes z to x if columns are on the arc, and to y if rows are.
    axis = np.array([[0, 1, 0], [-1, 0, 0]][along], dtype=float)
    blocks = count // size
    result = np.empty_like(at)
    for block in range(blocks):
        part = [slice(None)] * 3
        part[2 - along] = slice(block * size, (block + 1) * size)
        own = at[tuple(part)].copy()
        own[..., along] = np.moveaxis(
            np.broadcast_to(middle(size) * pitch[along], np.moveaxis(own[..., along], 2 - along, -1).shape), -1, 2 - along)
        direction = (block - (blocks - 1) / 2) * step
        own = Rotation.from_rotvec(axis * (direction + tilt), degrees=True).apply(own.reshape(-1, 3)).reshape(own.shape)
        centre = Rotation.from_rotvec(axis * direction, degrees=True).apply([0, 0, radius]) - [0, 0, radius]
        result[tuple(part)] = own + centre
    return result


def in_space(panel, at):
    """Positions from the sample of pixels of a panel."""
    shape, at = at.shape, at.reshape(-1, 3)
    for axis, angle in zip("xyz", panel.get("rotation", [])):
        at = Rotation.from_euler(axis, quantity(angle), degrees=True).apply(at)
    at = at + [quantity(text) for text in panel.get("offset", ["0m"] * 3)]
    at = at + [0, 0, quantity(panel["distance"])]
    at = Rotation.from_euler("x", -quantity(panel.get("elevation", "0deg")), degrees=True).apply(at)
    at = Rotation.from_euler("y", quantity(panel.get("angle", "0deg")), degrees=True).apply(at)
    return at.reshape(shape)


def check_spectrum(raw, detector, positions, l1):
    """Flight paths, wavelengths and a spectrum, from what scippneutron makes of the file."""
    events = raw.assign_coords(source_position=sc.vector([0, 0, -l1], unit="m"),
                               sample_position=sc.vector([0, 0, 0], unit="m"))
    events = events.rename_dims({}).copy(deep=False)
    events.bins.coords["tof"] = events.bins.coords["event_time_offset"].to(unit="us", dtype="float64")
    found = events.transform_coords(["L1", "L2", "wavelength"], graph=GRAPH, keep_intermediate=True)
    assert np.isclose(found.coords["L1"].to(unit="m").value, l1)
    l2 = found.coords["L2"].transpose(raw.dims).to(unit="m").values
    assert np.allclose(l2, np.linalg.norm(positions, axis=-1).reshape(l2.shape)), detector
    # The events of each pixel have the wavelength of their time of flight over their own flight path.
    total = sc.array(dims=raw.dims, values=l1 + l2, unit="m")
    constant = sc.scalar(h / neutron_mass, unit="m^2/s")
    expected = (constant * events.bins.coords["tof"].to(unit="s") / total).to(unit="angstrom")
    difference = sc.abs(found.bins.coords["wavelength"] - expected)
    assert difference.bins.max().max().value < 1e-9
    edges = sc.linspace("tof", 0.0, 1.5e5, 301, unit="us")
    spectrum = found.bins.concat().hist(tof=edges) if found.bins.size().sum().value else None
    assert spectrum is not None and spectrum.sum().value == found.bins.size().sum().value
    times = events.bins.constituents["data"].coords["tof"].values
    assert np.array_equal(spectrum.values, np.histogram(times, edges.values)[0])
    return found


def check_plain_chain(loaded, events, raw):
    """The wavelengths that scippneutron makes of a file as it is loaded are those of the workflow of ess.reduce."""
    events = events.assign_coords(source_position=loaded["instrument"]["source"]["position"],
                                  sample_position=loaded["sample"]["position"])
    events.bins.coords["tof"] = events.bins.coords["event_time_offset"].to(unit="us", dtype="float64")
    plain = events.transform_coords("wavelength", graph=GRAPH)
    assert plain.dims == raw.dims and plain.bins.size().sum().value == raw.bins.size().sum().value
    assert sc.allclose(plain.bins.coords["wavelength"].bins.concat().value, raw.bins.coords["wavelength"].bins.concat().value)


def check_view(path, detector, placement, numbers, pixels, options):
    """The raw view of ess.reduce shows every event, and the mask of the simulator, neither turned nor mirrored."""
    ny, nx = numbers.shape[-2:]
    is_across_layers = "--mask-across-layers" in options
    across_pixels = numbers.shape[0] if is_across_layers else nx
    on_cylinder = placement.get("arc", {}).get("along") == "columns" and "inclination" not in placement["arc"]
    projection, across = ("cylinder_mantle_y", "arc_length") if on_cylinder else ("xy_plane", "x")
    resolution = {"y": min(32, ny), across: min(32, across_pixels)}

    def view(ids):
        rolling = RollingDetectorView.from_nexus(path, detector_name=detector, window=1, projection=projection,
                                                 resolution=resolution)
        rolling.add_counts(ids)
        counts = rolling.get()
        assert counts.sum().value == len(ids), "every event is in the view"
        return counts.values.astype(float).ravel()

    picture = np.array([[INTENSITY[letter] for letter in row] for row in MASK])[::-1]
    # The mean of four by four places in each pixel: some detectors are coarser than the picture.
    rows, columns = (((np.arange(4 * side) + 0.5) / (4 * side) * 16).astype(int) for side in (ny, across_pixels))
    of_pixels = picture[np.ix_(rows, columns)].reshape(ny, 4, across_pixels, 4).mean((1, 3))

    def expected(intensity):
        """What the view makes of neutrons that fall on its pixels as `intensity` says."""
        if is_across_layers:
            intensity = intensity.T[:, :, np.newaxis]
        share = np.broadcast_to(intensity, numbers.shape).ravel()
        return view(np.random.default_rng(1).choice(numbers.ravel(), 200_000, p=share / share.sum()))

    counts = view(pixels)
    if "--no-mask" in options:
        return 1.0
    likeness = [np.corrcoef(counts, expected(image))[0, 1] for image in
                (of_pixels, of_pixels[::-1], of_pixels[:, ::-1], of_pixels[::-1, ::-1])]
    assert likeness[0] > 0.8 and likeness[0] > max(likeness[1:]) + 0.2, (detector, likeness)
    return likeness[0]


def main(path, configuration, events_csv, *options):
    with open(configuration, "rb") as file:
        placement = tomllib.load(file)["placement"]
    pixels = np.loadtxt(events_csv, delimiter=",", skiprows=1, usecols=1, dtype=np.int64, ndmin=1)
    l1 = quantity(placement["source_distance"])
    with warnings.catch_warnings():
        # A file that loads with complaints is not a good file.
        warnings.simplefilter("error", UserWarning)
        loaded = snx.compute_positions(snx.load(path))["entry"]
    instrument = loaded["instrument"]
    source, sample = instrument["source"]["position"], loaded["sample"]["position"]
    assert np.allclose(source.to(unit="m").value, [0, 0, -l1]) and np.allclose(sample.value, 0)
    for name, place in placement.get("monitors", {}).items():
        assert np.allclose(loaded[name]["position"].to(unit="m").value, [0, 0, quantity(place)]), name
    with snx.File(path) as file:
        detectors = sorted(file["entry"]["instrument"][snx.NXdetector])
    assert len(detectors) == len(placement["panel"])

    clouds, seen, likenesses = [], 0, []
    for panel, detector in zip(placement["panel"], detectors):
        events = instrument[detector][detector + "_events"]
        shape = events.shape
        nz = shape[0] if len(shape) == 3 else 1
        expected = in_space(panel, grid_within_panel(placement, shape[-1], shape[-2], nz))
        found = events.coords["position"].transpose(events.dims).to(unit="m").values
        assert np.allclose(found.reshape(-1, 3), expected.reshape(-1, 3), atol=1e-9), detector
        clouds.append(expected.reshape(-1, 3))
        seen += events.bins.size().sum().value

        flow = workflow.GenericNeXusWorkflow(run_types=[types.SampleRun], monitor_types=[])
        flow[types.Filename[types.SampleRun]] = path
        flow[types.NeXusName[snx.NXdetector]] = detector
        raw = flow.compute(types.RawDetector[types.SampleRun])
        assert raw.sizes == events.sizes
        check_plain_chain(loaded, events, check_spectrum(raw, detector, expected.reshape(*shape, 3), l1))
        numbers = raw.coords["detector_number"].values
        own = pixels[(pixels >= numbers.min()) & (pixels <= numbers.max())]
        likenesses.append(check_view(path, detector, placement, numbers, own, options))
    with h5py.File(path) as file:
        groups = [file[f"entry/instrument/{detector}/{detector}_events"] for detector in detectors]
        # Where the detector's clock has started over: they are in no order of time.
        late = sum(len(group["events_late/event_id"]) for group in groups)
    assert seen + late == len(pixels), "every event has a place"

    # No two pixels, of whatever panel, blade or vessel, are nearer to one another than neighbours are.
    cloud = np.concatenate(clouds)
    nearest = cKDTree(cloud).query(cloud, k=2, workers=-1)[0][:, 1].min()
    pitch = min(quantity(text) for text in placement["pitch"])
    assert nearest > 0.999 * pitch, f"pixels {nearest} m from one another, the pitch is {pitch} m"
    print(f"{len(detectors)} detectors, {seen} events, likeness {min(likenesses):.2f}: as the configuration says")


def each(arguments):
    """What is said of each file, between one -- and the next."""
    while arguments:
        end = arguments.index("--") if "--" in arguments else len(arguments)
        yield arguments[:end]
        arguments = arguments[end + 1:]


if __name__ == "__main__":
    for file in each(sys.argv[1:]):
        try:
            main(*file)
        except BaseException:
            print(f"{file[0]} with {file[1]}:", file=sys.stderr)
            raise
