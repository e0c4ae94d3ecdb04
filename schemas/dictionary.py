#!/usr/bin/env python3
"""Writes the tables of README.md from schemas/json, so that the data dictionary cannot drift.

Run it after a change of a schema: python3 schemas/dictionary.py
Unit, writer and reader stand in the schemas as x-unit, x-writer and x-reader; a field without
them has those of its document. tests/schemas/dictionary_test.cpp compares the result.
"""
import json
import pathlib

FOLDER = pathlib.Path(__file__).parent
BEGIN, END = "<!-- tables -->", "<!-- end of tables -->"


def kind(node):
    """Type of a field in words, with the title of the table of what it refers to."""
    if "$ref" in node:
        return f"`{node['$ref']}`"
    if "const" in node:
        return f"`{json.dumps(node['const'])}`"
    if "enum" in node:
        return " ".join(f"`{value}`" for value in node["enum"])
    types = node.get("type", "any")
    types = types if isinstance(types, list) else [types]
    if "array" in types:
        item = "list of " + kind(node.get("items", {}))
        return item + (" or null" if "null" in types else "")
    if types == ["object"] and isinstance(node.get("additionalProperties"), dict):
        return "map to " + kind(node["additionalProperties"])
    return " or ".join(types)


def named_references(node, own):
    """The node with each reference as the title of a table: "device", "thresholds.range"."""
    if isinstance(node, list):
        return [named_references(item, own) for item in node]
    if not isinstance(node, dict):
        return node
    node = {key: named_references(value, own) for key, value in node.items()}
    if "$ref" in node:
        file, _, inside = node["$ref"].partition("#/definitions/")
        file = file.removesuffix("#").removesuffix(".schema.json") or own
        node["$ref"] = ".".join(filter(None, [file, inside]))
    return node


def unit(node):
    return node.get("x-unit") or node.get("items", {}).get("x-unit", "")


def nested(node):
    """The inline object of a field, of its items, or nothing."""
    for candidate in (node, node.get("items", {})):
        if isinstance(candidate, dict) and "properties" in candidate:
            return candidate
    return None


def rows(node, prefix, writer, reader):
    for name, field in node.get("properties", {}).items():
        path = prefix + name
        required = "" if name in node.get("required", []) else ", optional"
        what = " ".join(filter(None, [kind(field) + required, f"({unit(field)})" * bool(unit(field))]))
        meaning = field.get("description", "").replace("|", "\\|")
        yield (f"| `{path}` | {what} | {field.get('x-writer', writer)} "
               f"| {field.get('x-reader', reader)} | {meaning} |")
        inner = nested(field)
        if inner:
            step = "[]." if inner is not field else "."
            yield from rows(inner, path + step, writer, reader)


def table(title, about, node, writer, reader):
    lines = [f"### {title}", "", about, "",
             "| field | type (unit) | written by | read by | meaning |",
             "|---|---|---|---|---|"]
    return lines + list(rows(node, "", writer, reader)) + [""]


def document(path):
    name = path.name.removesuffix(".schema.json")
    schema = named_references(json.loads(path.read_text()), name)
    writer, reader = schema.get("x-writer", ""), schema.get("x-reader", "")
    lines = table(name, schema["title"] + ".", schema, writer, reader)
    for inner, node in schema.get("definitions", {}).items():
        about = f"Part of `{name}`: {node.get('description', inner)}."
        lines += table(f"{name}.{inner}", about, node, writer, reader)
    return lines


def main():
    readme = FOLDER / "README.md"
    text = readme.read_text()
    head, rest = text.split(BEGIN, 1)
    tail = rest.split(END, 1)[1]
    lines = []
    for path in sorted((FOLDER / "json").glob("*.schema.json")):
        lines += document(path)
    readme.write_text(head + BEGIN + "\n" + "\n".join(lines) + END + tail)


if __name__ == "__main__":
    main()
