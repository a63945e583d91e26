#!/usr/bin/env python3
"""Fails if files of a crate, or of the page, import each other: check-circles.py [FOLDER of the project].

An import is a path that is named in a `use` or in the code (crate::, super::, self::, a module, or what a `use` brought in).
It leads to the file that defines the name: re-exports are followed. Files that only hand names on (lib.rs, mod.rs) are no
part of a circle by that. Tests are left out. `check-circles.py --self-test` makes circles and finds them.
"""

import re
import sys
import tempfile
from pathlib import Path

NAME = r"[A-Za-z_][A-Za-z0-9_]*"
ITEM = re.compile(
    rf"^\s*(?:pub(?:\([^)]*\))?\s+)?(?:unsafe\s+|const\s+|async\s+|extern\s+)*"
    rf"(?:fn|struct|enum|union|trait|type|const|static|macro_rules!)\s+(?:mut\s+)?({NAME})",
    re.M,
)
USE = re.compile(r"(?:^|(?<=[\s{};\]]))(pub(?:\([^)]*\))?\s+)?use\s+([^;]+);")
PATH = re.compile(rf"(?<![A-Za-z0-9_:]){NAME}(?:::{NAME})+")
MODULE = re.compile(rf"((?:#\[[^\n]*\]\s*)*)(?:pub(?:\([^)]*\))?\s+)?mod\s+({NAME})\s*([;{{])")


def without_noise(text):
    """Code without comments and without what stands in quotes."""
    noise = r"//[^\n]*|/\*.*?\*/|b?r(#*)\".*?\"\1|b?\"(?:\\.|[^\"\\])*\"|b?'(?:\\.[^']*|[^'\\])'"
    return re.sub(noise, lambda m: '""' if m.group()[0] in "\"br" else " ", text, flags=re.S)


def closing(text, start):
    """The place after the bracket that closes the one at `start`."""
    depth = 0
    for place in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return place + 1
    return len(text)


def expand(tree, prefix=()):
    """The paths of a use tree, each with the name that it brings in."""
    tree = tree.strip()
    if "{" in tree:
        head, body = tree.split("{", 1)
        prefix += tuple(part for part in head.strip().split("::") if part)
        depth, piece = 0, ""
        for char in body[: body.rindex("}")] + ",":
            depth += {"{": 1, "}": -1}.get(char, 0)
            if char == "," and depth == 0:
                if piece.strip():
                    yield from expand(piece, prefix)
                piece = ""
            else:
                piece += char
        return
    path, _, alias = tree.partition(" as ")
    path = prefix + tuple(part.strip() for part in path.split("::") if part.strip())
    if path[-1] == "self" and len(path) > 1:
        path = path[:-1]
    yield path, alias.strip() or path[-1]


class Module:
    """One module: of a file of its own, or inside of another's."""

    def __init__(self, file, parent):
        self.file, self.parent = file, parent
        self.children, self.items, self.uses, self.code = {}, set(), [], ""


def read_module(file, text, parent, folder):
    """A module with all below it. `folder` is where the files of its children are."""
    module = Module(file, parent)
    rest, place = "", 0
    while found := MODULE.search(text, place):
        attributes, name, mark = found.groups()
        rest += text[place : found.start()]
        place = closing(text, found.end() - 1) if mark == "{" else found.end()
        if re.search(r"cfg\([^\n]*\btest\b", attributes):
            continue
        if mark == "{":
            body = text[found.end() : place - 1]
            module.children[name] = read_module(file, body, module, folder / name)
        else:
            choices = [folder / f"{name}.rs", folder / name / "mod.rs"]
            child = next((choice for choice in choices if choice.exists()), None)
            if child is None:
                sys.exit(f"{file}: where is the file of module {name}?")
            module.children[name] = read_module(child, without_noise(child.read_text()), module, folder / name)
    rest += text[place:]
    for public, tree in USE.findall(rest):
        module.uses += [(bool(public), path, name) for path, name in expand(tree)]
    module.code = USE.sub("", rest)
    module.items = set(ITEM.findall(module.code))
    return module


def resolve(module, path, seen=()):
    """The file that defines what a path names; none for other crates."""
    if (module, path) in seen:
        return None
    seen += ((module, path),)
    head, rest = path[0], path[1:]
    if head == "crate":
        while module.parent:
            module = module.parent
    elif head == "super":
        module = module.parent
    elif head in module.children:
        module = module.children[head]
    elif head != "self":
        for _, target, name in module.uses:
            if name == head and target != path:
                return resolve(module, target + rest, seen)
        return None
    while module and rest:
        head = rest[0]
        if head == "super":
            module = module.parent
        elif head in module.children:
            module = module.children[head]
        elif head in module.items:
            return module.file
        else:
            for _, target, name in module.uses:
                if name == head:
                    return resolve(module, target + rest[1:], seen)
            for _, target, name in module.uses:
                if name == "*" and (found := resolve(module, target[:-1] + rest, seen)):
                    return found
            return module.file
        rest = rest[1:]
    return module and module.file


def is_module(module, path):
    """True if a path ends at a module, so that what it is used for shows in the code."""
    for segment in path:
        if segment == "crate":
            while module.parent:
                module = module.parent
        elif segment == "super":
            module = module.parent
        elif segment != "self":
            module = module.children.get(segment)
        if module is None:
            return False
    return True


def rust_imports(root):
    """The imports of a crate: {file: {files}}."""
    imports = {}
    todo = [read_module(root, without_noise(root.read_text()), None, root.parent)]
    while todo:
        module = todo.pop()
        todo += module.children.values()
        hands_on = module.file.name in ("lib.rs", "mod.rs")
        found = imports.setdefault(module.file, set())
        for public, path, name in module.uses:
            used = re.search(rf"\b{name}\b", module.code) if name != "*" else not public
            if not is_module(module, path) and not (public and hands_on and not used):
                found.add(resolve(module, path))
        found.update(resolve(module, tuple(path.split("::"))) for path in PATH.findall(module.code))
    return {file: {other for other in others if other and other != file} for file, others in imports.items()}


def page_imports(folder):
    """The imports of the page's sources."""
    imports = {}
    for file in sorted(folder.glob("*.ts")):
        names = re.findall(r"""(?:from|import)\s*\(?["']\./([^"']+)["']""", file.read_text())
        imports[file] = {folder / f"{name.removesuffix('.js').removesuffix('.ts')}.ts" for name in names}
    return imports


def circles(imports):
    """Groups of files that reach each other."""
    reach = {}
    for file in imports:
        reached, todo = set(), [file]
        while todo:
            for other in imports.get(todo.pop(), ()):
                if other not in reached:
                    reached.add(other)
                    todo.append(other)
        reach[file] = reached
    groups = {
        frozenset(other for other in reached if file in reach.get(other, ()))
        for file, reached in reach.items()
        if file in reached
    }
    return sorted(sorted(group) for group in groups)


def report(project):
    """Prints the circles of a project; their number."""
    roots = sorted([*project.glob("crates/*/src/lib.rs"), *project.glob("crates/*/src/main.rs")])
    graphs = [rust_imports(root) for root in roots] + [page_imports(project / "web/src")]
    count = 0
    for imports in graphs:
        for group in circles(imports):
            count += 1
            print("files that import each other:")
            for file in group:
                others = sorted(str(other.relative_to(project)) for other in imports[file] & set(group))
                print(f"  {file.relative_to(project)} imports {', '.join(others)}")
    print(f"{sum(map(len, graphs))} files of {len(roots)} crates and the page: {count} circles")
    return count


def self_test():
    """Makes circles of every kind that is known, one by one, and finds each."""
    whole = {
        "lib.rs": "mod a;\nmod b;\nmod c;\npub use c::Deep;\n",
        "a.rs": "use crate::b::B;\npub struct A;\n",
        "b.rs": "pub struct B;\n// use crate::a::A;\n#[cfg(test)]\nmod tests { use crate::a::A; }\n",
        "c/mod.rs": "mod d;\npub use d::Deep;\n",
        "c/d.rs": "pub struct Deep;\n",
    }
    cases = [
        ("nothing", {}, 0),
        ("a use", {"b.rs": "use super::a::A;\npub struct B;\n"}, 1),
        ("a use with braces", {"b.rs": "use crate::{a::{A as Other}, c};\npub struct B;\n"}, 1),
        ("a path in the code", {"b.rs": "pub struct B(crate::a::A);\n"}, 1),
        ("a module", {"b.rs": "use crate::a;\npub struct B(a::A);\n"}, 1),
        ("a module that is not used", {"b.rs": 'use crate::a;\npub struct B;\nconst TEXT: &str = "a::A";\n'}, 0),
        ("a re-export", {"a.rs": "use crate::Deep;\npub struct A;\n", "c/d.rs": "use crate::a::A;\npub struct Deep;\n"}, 1),
        ("a child and its mod.rs", {"c/mod.rs": "mod d;\nuse d::Deep;\npub struct C(Deep);\n", "c/d.rs": "use super::C;\npub struct Deep;\n"}, 1),
        ("a mod.rs that hands on", {"c/mod.rs": "mod d;\npub use d::Deep;\npub struct C;\n", "c/d.rs": "use super::C;\npub struct Deep;\n"}, 0),
        ("a glob", {"b.rs": "use crate::a::*;\npub struct B;\n"}, 1),
        ("three files", {"b.rs": "use crate::c::Deep;\npub struct B;\n", "c/d.rs": "use crate::a::A;\npub struct Deep;\n"}, 1),
    ]
    for name, changed, expected in cases:
        with tempfile.TemporaryDirectory() as folder:
            for file, text in {**whole, **changed}.items():
                path = Path(folder) / file
                path.parent.mkdir(exist_ok=True)
                path.write_text(text)
            found = circles(rust_imports(Path(folder) / "lib.rs"))
            if len(found) != expected:
                sys.exit(f"self-test: {name}: {len(found)} circles found, {expected} are there: {found}")
    with tempfile.TemporaryDirectory() as folder:
        for file, text in {"a.ts": 'import { b } from "./b";', "b.ts": 'import { a } from "./a";'}.items():
            (Path(folder) / file).write_text(text)
        if len(circles(page_imports(Path(folder)))) != 1:
            sys.exit("self-test: the circle of the page was not found")
    print(f"{len(cases) + 1} cases: each circle was found, and nothing else")


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        self_test()
    else:
        sys.exit(min(report(Path(sys.argv[1] if len(sys.argv) > 1 else ".")), 1))
