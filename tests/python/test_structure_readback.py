"""Compares a file with the NeXus structure JSON of which it was made, with h5py: test_structure_readback.py FILE STRUCTURE.json

The structure is read here on its own, by the description in docs/file-writer-structure.md. It has no modules that write messages.
Exit status 0 and one line if all is as the structure says. `cargo test -p evforge-filewriter` runs it
(crates/filewriter/tests/structure/python.rs).
"""

import json
import posixpath
import sys

import h5py
import numpy as np

TYPES = {"short": "int16", "int": "int32", "long": "int64", "float": "float32", "double": "float64"}
compared = 0


def expect(is_so, what):
    global compared
    compared += 1
    if not is_so:
        sys.exit(f"not as expected: {what}")


def check_values(found, is_text, values, dtype, what):
    if is_text:
        expected = np.array(values, dtype=object)
        expect(found.shape == expected.shape, f"{what}: shape {found.shape}")
        expect(found.tolist() == expected.tolist(), f"{what}: {found} for {values}")
    else:
        expected = np.array(values, dtype=TYPES.get(dtype, dtype))
        expect(found.dtype == expected.dtype, f"{what}: {found.dtype} for {expected.dtype}")
        expect(found.shape == expected.shape, f"{what}: shape {found.shape}")
        expect(np.array_equal(found, expected), f"{what}: {found} for {values}")


def kind_of(values, lists_are_double):
    if isinstance(values, list):
        if any(isinstance(value, str) for value in values):
            return "string"
        whole = all(isinstance(value, int) for value in values)
        return "int64" if whole and not lists_are_double else "float64"
    return {str: "string", int: "int64", float: "float64"}[type(values)]


def check_attributes(node, attributes, what):
    if isinstance(attributes, dict):
        listed = [(name, values, kind_of(values, False)) for name, values in attributes.items()]
    else:
        listed = [(one["name"], one["values"], one.get("dtype") or kind_of(one["values"], True)) for one in attributes]
    expect(set(node.attrs) == {name for name, _, _ in listed}, f"{what}: attributes {set(node.attrs)}")
    for name, values, dtype in listed:
        found = node.attrs[name]
        if dtype == "string":
            expect(node.attrs.get_id(name).dtype == object, f"{what}@{name}: text of variable length")
        check_values(np.array(found), dtype == "string", values, dtype, f"{what}@{name}")


def check_group(group, children, what):
    names = set()
    for child in children:
        config = child.get("config", child)
        name, path = config["name"], f"{what}/{config['name']}"
        names.add(name)
        if child.get("type") == "group":
            check_attributes(group[name], child.get("attributes", {}), path)
            check_group(group[name], child.get("children", []), path)
        elif child.get("module") == "link":
            target = posixpath.normpath(posixpath.join(what or "/", config["source"]))
            expect(group[name] == group.file[target], f"{path}: a link to {target}")
        else:
            dtype = config.get("dtype") or child.get("dataset", {}).get("type")
            dtype = dtype or (config["type"] if "module" in child and "type" in config else "double")
            found = group[name]
            if dtype == "string":
                text = h5py.check_string_dtype(found.dtype)
                expect(text is not None and text.length is not None and text.encoding == "utf-8", f"{path}: {found.dtype}")
                found = np.char.decode(np.array(found[()], dtype=found.dtype), "utf-8").astype(object)
            else:
                found = np.array(found[()])
            check_values(found, dtype == "string", config.get("values", config.get("value")), dtype, path)
            check_attributes(group[name], child.get("attributes", {}), path)
    expect(set(group) == names, f"{what}: {set(group)} for {names}")


def main():
    path, structure = sys.argv[1:]
    with open(structure, encoding="utf-8") as text:
        structure = json.load(text)
    attributes = dict(structure.get("attributes", {}))
    if "template_version" in structure:
        attributes["template_version"] = structure["template_version"]
    with h5py.File(path) as file:
        check_attributes(file, attributes, "")
        check_group(file, structure["children"], "")
    print(f"{compared} comparisons")


main()
