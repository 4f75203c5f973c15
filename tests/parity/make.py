"""Make the parity references: numbers computed by the training frameworks' own code.

Usage: `python tests/parity/make.py [FRAMEWORK ...] [--venv DIR] [--out DIR]`. See README.md.
"""

import argparse
import importlib
import importlib.metadata
import json
import os
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
CONSTRAINTS = HERE / "constraints.txt"
LIBRARIES = [
    "torch",  # pinned in constraints.txt: a newer one pulls gigabytes, and its last digits differ
    *("numpy", "ray", "tensordict", "omegaconf", "codetiming", "orjson"),  # verl
    *("transformers", "accelerate", "datasets"),  # TRL, ms-swift
    "pylatexenc",  # OpenRLHF
]
# Releases of TRL before 1.0 run with the libraries of their time.
OLD = ("transformers==4.56.2", "tokenizers==0.22.1", "huggingface_hub==0.35.3", "datasets==4.1.1")
# File name, module that makes its cases, package, version.
REFERENCES = [
    ("verl", "reference_verl", "verl", "0.9.1"),
    ("verl-0.8.0", "reference_verl", "verl", "0.8.0"),
    ("verl-0.4.1", "reference_verl", "verl", "0.4.1"),
    ("verl-0.7.1", "reference_verl", "verl", "0.7.1"),
    ("twinkle", "reference_twinkle", "twinkle-kit", "0.5.1"),
    ("ms-swift", "reference_swift", "ms-swift", "4.6.0"),
    ("trl", "reference_trl", "trl", "1.16.0"),
    ("trl-1.5.1", "reference_trl", "trl", "1.5.1"),
    ("trl-0.22.0", "reference_trl", "trl", "0.22.0"),
    ("trl-0.21.0", "reference_trl", "trl", "0.21.0"),
    ("openrlhf", "reference_openrlhf", "openrlhf", "0.11.2"),
    ("skyrl", "reference_skyrl", "skyrl", "0.3.0"),
    ("areal", "reference_areal", "areal", "1.0.4"),
    ("art", "reference_art", "openpipe-art", "0.5.18"),
    ("tinker-cookbook", "reference_tinker", "tinker-cookbook", "0.6.1"),
    ("trinity-rft", "reference_trinity", "trinity-rft", "0.6.0"),
    ("tunix", "reference_tunix", "google-tunix", "0.1.7"),
    ("rlinf", "reference_rlinf", "rlinf", "0.3.0"),
    ("siirl", "reference_siirl", "siirl", "0.2.0"),
    ("areno", "reference_areno", "areno", "0.10.0"),
]


def main() -> None:
    """Prepare the environment, then make each file in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "frameworks", nargs="*", help=f"of {', '.join(row[0] for row in REFERENCES)}; all by default"
    )
    parser.add_argument("--venv", type=Path, default=HERE / ".venv", help="the environment of the frameworks")
    parser.add_argument("--out", type=Path, default=HERE / "data", help="the folder of the JSON files")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--release", help="another release than the one of the table, for one framework")
    options = parser.parse_args()
    rows = [row for row in REFERENCES if not options.frameworks or row[0] in options.frameworks]
    if options.release:
        rows = [(name, module, package, options.release) for name, module, package, _ in rows[:1]]
    if options.inside:
        for row in rows:
            write(options.out, *row)
        return
    options.out.mkdir(parents=True, exist_ok=True)
    python = prepare(options.venv, rows)
    for name, _, package, version in rows:
        command = [str(python), __file__, "--inside", "--out", str(options.out.resolve()), name]
        command += ["--release", version] if options.release else []
        subprocess.run(command, check=True, env=environment(package_folder(options.venv, package, version)))


def package_folder(folder: Path, package: str, version: str) -> Path:
    """Where a release of a framework lies: each in a folder of its own, so that several releases fit."""
    return folder.resolve() / "frameworks" / f"{package}-{version}"


def environment(package: Path) -> dict[str, str]:
    """One thread, no network, no GPU: the same numbers on every run."""
    fixed = {
        "PYTHONPATH": os.pathsep.join([str(package), str(HERE.parent)]),
        "PYTHONHASHSEED": "0",
        "OMP_NUM_THREADS": "1",
        "CUDA_VISIBLE_DEVICES": "",
        "HF_HUB_OFFLINE": "1",
        "TRL_EXPERIMENTAL_SILENCE": "1",
    }
    return {**os.environ, **fixed}


def prepare(folder: Path, rows: list[tuple[str, str, str, str]]) -> Path:
    """Create the environment and install what is not there yet."""
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not python.exists():
        venv.create(folder, with_pip=True)
    pip = [str(python), "-m", "pip", "install", "--quiet"]
    subprocess.run([*pip, "-c", str(CONSTRAINTS), *LIBRARIES], check=True)
    for _, _, package, version in rows:
        target = package_folder(folder, package, version)
        if not target.exists():
            old = OLD if package == "trl" and version.startswith("0.") else ()
            subprocess.run(
                [*pip, "--no-deps", "--target", str(target), f"{package}=={version}", *old], check=True
            )
    return python


def write(out: Path, name: str, module: str, package: str, version: str) -> None:
    """Make the cases of one framework and write its file, one case a line."""
    import torch

    torch.set_num_threads(1)
    installed = importlib.metadata.version(package)
    if installed != version:
        raise RuntimeError(f"{package} {installed} is in the way of {version}")
    cases = importlib.import_module(f"parity.{module}").run(version)
    head = {"package": package, "version": version, "torch": torch.__version__.partition("+")[0]}
    lines = ",\n".join(json.dumps(case, separators=(",", ":"), allow_nan=False) for case in cases)
    text = json.dumps(head)[:-1] + ', "cases": [\n' + lines + "\n]}\n"
    path = out / f"{name}.json"
    path.write_text(text, encoding="utf-8")
    sys.stderr.write(f"{path}: {len(cases)} cases, {len(text) // 1000} kB\n")


if __name__ == "__main__":
    main()
