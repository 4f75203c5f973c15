"""Run the notebook of the documentation and write what its cells show into it: `python docs/notebook.py`.

No kernel is needed: a cell is Python, and what its last expression shows is what a notebook would show.
"""

import ast
import contextlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
NOTEBOOK = HERE / "notebook.ipynb"


def executed(notebook: dict[str, Any]) -> dict[str, Any]:
    """The notebook with fresh outputs, run in a folder that holds the bundled sample."""
    scope: dict[str, Any] = {}
    fresh = json.loads(json.dumps(notebook))
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for number, cell in enumerate(fresh["cells"], start=1):
            if cell["cell_type"] == "code":
                value = _run("".join(cell["source"]), scope)
                cell["execution_count"] = number
                cell["outputs"] = [] if value is None else [_output(value, number)]
    return fresh


def _run(source: str, scope: dict[str, Any]) -> object:
    """Run a cell; the value of its last expression, None without."""
    if source.startswith("!"):
        command = source.removeprefix("!").replace("advcli", f'"{sys.executable}" -m advcli', 1)
        env = {**os.environ, "PYTHONPATH": str(HERE.parent)}
        subprocess.run(["bash", "-c", command], check=True, env=env, capture_output=True)
        return None
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), scope)
    return None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), scope)


def _output(value: object, number: int) -> dict[str, Any]:
    data = {"text/plain": repr(value).splitlines(keepends=True)}
    html = getattr(value, "_repr_html_", lambda: None)()
    if html:
        data["text/html"] = html.splitlines(keepends=True)
    return {"data": data, "execution_count": number, "metadata": {}, "output_type": "execute_result"}


def main() -> None:
    """Write the outputs again."""
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    NOTEBOOK.write_text(json.dumps(executed(notebook), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
