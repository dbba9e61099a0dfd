"""Write the bill of materials of the wheel as CycloneDX: the crates in the native module, and the Python packages by extra."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output import make_outputter
from cyclonedx.schema import OutputFormat, SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from dependencies import requirements
from packageurl import PackageURL

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MODULE = "paraply-python"
VERSION = SchemaVersion.V1_6


def packages() -> dict[str, Any]:
    """Return the crates of the workspace and all that they may use, by their ids, with what each is linked with."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked"]
    found = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)
    used = {node["id"]: [link["pkg"] for link in node["deps"] if linked(link)] for node in found["resolve"]["nodes"]}
    return {package["id"]: package | {"uses": used[package["id"]]} for package in found["packages"]}


def linked(link: dict[str, Any]) -> bool:
    """Return True if a dependency is more than one of tests."""
    return any(kind["kind"] != "dev" for kind in link["dep_kinds"])


def crates() -> Iterator[dict[str, Any]]:
    """Return the crates that the native module is built from, itself first."""
    known = packages()
    waiting = [next(key for key, package in known.items() if package["name"] == MODULE)]
    seen = set(waiting)
    while waiting:
        package = known[waiting.pop(0)]
        yield package
        waiting += [key for key in package["uses"] if key not in seen]
        seen.update(package["uses"])


def crate_component(package: dict[str, Any], licences: LicenseFactory) -> Component:
    """Return the component of a crate."""
    name, version, licence = package["name"], package["version"], package["license"]
    where = PackageURL("cargo", name=name, version=version)
    listed = [licences.make_from_string(licence.replace("/", " OR "))] if licence else []
    return Component(name=name, version=version, purl=where, bom_ref=str(where), licenses=listed, type=ComponentType.LIBRARY)


def python_components() -> Iterator[Component]:
    """Return the components of the Python packages; what is needed at least is their version."""
    every = dict.fromkeys(requirements([*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["all"]]))
    for requirement in every:
        name = re.split(r"[\[<>=]", requirement)[0]
        where = PackageURL("pypi", name=name)
        yield Component(name=name, description=requirement, purl=where, bom_ref=str(where), type=ComponentType.LIBRARY)


def main(path: Path) -> None:
    """Write the bill to a file, after a check against CycloneDX's schema."""
    licences = LicenseFactory()
    bom = Bom()
    module, *others = [crate_component(package, licences) for package in crates()]
    product = Component(
        name=PROJECT["name"],
        version=module.version,
        licenses=[licences.make_from_string(PROJECT["license"])],
        purl=PackageURL("pypi", name=PROJECT["name"], version=module.version),
        bom_ref="paraply",
        type=ComponentType.APPLICATION,
    )
    bom.metadata.component = product
    parts = [*others, *python_components()]
    bom.components.update(parts)
    bom.register_dependency(product, parts)
    text = make_outputter(bom, OutputFormat.JSON, VERSION).output_as_string(indent=2)
    if faults := JsonStrictValidator(VERSION).validate_str(text):
        raise SystemExit(f"the bill of materials is not valid CycloneDX: {faults}")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n", encoding="utf-8")
    print(f"{path}: {len(parts)} components")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
