"""Every module has its test file at the mirrored place: advcli/io/read.py → tests/io/test_read.py."""

import ast
from pathlib import Path

import advcli

PACKAGE = Path(advcli.__file__).parent
TESTS = Path(__file__).parent


def tables(folder):
    """The modules of a folder that hold rows of its catalog and have no test file of their own."""
    for path in sorted((PACKAGE / folder).glob("*.py")):
        own = (TESTS / folder / f"test_{path.name}").exists()
        if not own and "\nROWS" in path.read_text(encoding="utf-8"):
            yield f"{folder}/{path.name}"


EXCEPTIONS = {
    "__init__.py": ("test_public_names.py", "the facade: its names are what there is to test"),
    "__main__.py": ("cli/test_main.py", "one call of main(), run by every test in a process of its own"),
    "cli/__init__.py": ("cli/test_main.py", "named after the function that it holds"),
    "io/growing.py": ("cli/test_follow.py", "how far files have got, seen through the command"),
    "cli/options.py": ("cli/commands/test_compute.py", "options, seen through the commands that have them"),
    "cli/flags.py": ("cli/commands/test_compute.py", "flags to a request, seen through the commands"),
    "cli/shared.py": (
        "cli/commands/test_compute.py",
        "options of several commands, seen through the commands",
    ),
    "cli/output.py": ("cli/commands/test_compare.py", "what goes to which stream, seen through the commands"),
    "io/collect/collector.py": ("io/test_read.py", "what is gathered of each batch, seen through the reader"),
    **{
        name: (f"{folder}/test_catalog.py", "rows of the catalog, which tests each of them")
        for folder, inside in (
            ("io/formats", "io/formats"),
            ("frameworks", "frameworks/rules"),
            ("estimators", "estimators/rows"),
        )
        for name in tables(inside)
    },
    "io/collect/batch.py": ("io/test_read.py", "what to do with a bad row, seen through the reader"),
    "io/columns/dump.py": ("io/columns/test_rewards.py", "what a choice goes by, seen through the choices"),
    "io/formats/format.py": ("io/formats/test_catalog.py", "what a row is, seen through every row"),
    "io/slices.py": ("io/parquet/test_append.py", "a table handed out in pieces, seen through the copies"),
    "io/metrics.py": ("cli/commands/test_compute.py", "one small file, seen through --metrics"),
    "dataset/load.py": (
        "cli/commands/test_compute.py",
        "reading and grouping in one step, seen through the commands",
    ),
    "api/advantages.py": (
        "engine/test_run.py",
        "the public function, through which the advantages are tested",
    ),
    "api/inputs.py": ("api/test_read.py", "what is held of an input, seen through the dump that holds it"),
    "api/options.py": ("api/test_dump.py", "keywords to a request, seen through the methods that have them"),
    "records/version.py": ("test_public_names.py", "one string, seen as advcli.__version__"),
    "frameworks/arithmetic/per_token.py": (
        "parity/test_token_parity.py",
        "the packages' own numbers go through every function",
    ),
    "frameworks/arithmetic/per_row.py": (
        "frameworks/test_vectors.py",
        "the vectors go through every function of it",
    ),
    "frameworks/arithmetic/decoupled.py": (
        "frameworks/test_vectors.py",
        "the vectors go through every function of it",
    ),
    "estimators/entry.py": ("estimators/test_catalog.py", "what a row is, seen through every row"),
    "frameworks/rule.py": ("frameworks/test_catalog.py", "what a row is, seen through every row"),
    "frameworks/token_rows.py": ("frameworks/test_catalog.py", "ways to write rows, seen through every row"),
    "frameworks/absent.py": ("frameworks/test_catalog.py", "a table, seen through the errors of the catalog"),
    "records/results/match.py": (
        "cli/commands/test_match.py",
        "frozen records, seen through the JSON that they become",
    ),
    "render/match.py": ("cli/commands/test_match.py", "the text of the answer, seen through the command"),
    **{
        f"pipeline/{name}.py": (f"cli/{test}.py", "the order of the steps, seen through the command")
        for name, test in {
            "between": "test_between",
            "compare": "commands/test_compare",
            "compute": "commands/test_compute",
            "describe": "commands/test_compare",
            "inspect": "commands/test_inspect",
            "match": "commands/test_match",
            "prompts": "commands/test_prompts",
            "report": "commands/test_report",
            "select": "commands/test_select",
            "request": "commands/test_compute",
            "sweep": "commands/test_sweep",
            "verify": "commands/test_verify",
            "sides": "test_between",
            "follow": "test_follow",
        }.items()
    },
    **{
        f"distributed/{name}.py": ("distributed/test_commands.py", "a pass, seen through the commands on Ray")
        for name in ("counts", "files/write", "load", "scan", "run", "sketches", "traps")
    },
    "distributed/inspection/details.py": (
        "distributed/inspection/test_inspect.py",
        "lists, seen through the command on Ray",
    ),
    "distributed/verify.py": (
        "distributed/test_match.py",
        "a step of the search, seen through the command on Ray",
    ),
    "distributed/crossing.py": ("distributed/test_placement.py", "what moves, seen through where it goes"),
    "distributed/files/resume.py": ("distributed/test_faults.py", "seen through what dies"),
    "io/inputs.py": ("io/sources/test_find.py", "what is skipped among files, seen through what is found"),
    **{
        f"{folder}/off_policy.py": (
            "cli/test_off_policy.py",
            "the table of inspect, seen through the command",
        )
        for folder in ("inspection", "records", "render")
    },
    "frameworks/proven.py": ("frameworks/test_catalog.py", "a table, seen through what is said of a version"),
    "dataset/remarks.py": (
        "cli/commands/test_compute.py",
        "what is said about a data set, seen through the commands",
    ),
    "inspection/inspect.py": (
        "cli/commands/test_inspect.py",
        "what is put together, seen through the command",
    ),
    "inspection/facts.py": (
        "cli/commands/test_inspect.py",
        "every figure together, seen through the command",
    ),
    "inspection/causes.py": ("cli/commands/test_inspect.py", "why groups are dead, seen through the command"),
    "inspection/details.py": (
        "cli/commands/test_inspect.py",
        "single groups and rows, seen through the command",
    ),
    "records/results/inspection.py": (
        "render/test_inspection.py",
        "frozen records; what the renderers are given",
    ),
    "records/results/page.py": (
        "render/report/test_plots.py",
        "frozen records, seen through what is drawn from them",
    ),
    "inspection/page.py": ("cli/commands/test_report.py", "what is put together, seen through the command"),
    "render/details.py": (
        "cli/commands/test_inspect.py",
        "lines of groups and rows, seen through the command",
    ),
    "render/fit.py": ("render/test_inspection.py", "tables of any width, seen through the screens"),
    "render/report/pictures.py": ("cli/commands/test_report.py", "the plots as pictures, seen through --png"),
    "render/report/query.py": ("render/report/test_browser.py", "what a click asks for, seen in a browser"),
    "render/report/sections.py": ("render/report/test_html.py", "the tables, seen on the page"),
    "records/results/between.py": (
        "render/test_between.py",
        "frozen records; made by hand in the tests of the renderer",
    ),
    "records/layout.py": (
        "io/layouts/test_objects.py",
        "frozen records; made by hand in the tests of the layouts",
    ),
    "records/results/prompts.py": (
        "cli/commands/test_prompts.py",
        "frozen records, seen through the JSON that they become",
    ),
    "render/prompts.py": ("cli/commands/test_prompts.py", "tables and JSON, seen through the command"),
    "records/results/select.py": (
        "cli/commands/test_select.py",
        "frozen records, seen through the files that are written",
    ),
    "records/results/verify.py": (
        "cli/commands/test_verify.py",
        "frozen records, seen through the JSON that they become",
    ),
    "render/verify.py": ("cli/commands/test_verify.py", "tables and JSON, seen through the command"),
    "records/results/compare.py": (
        "records/results/test_compute.py",
        "the JSON of several commands together",
    ),
    "records/results/inspect.py": (
        "records/results/test_compute.py",
        "the JSON of several commands together",
    ),
    "records/results/report.py": (
        "render/test_tables.py",
        "frozen records; made by hand in the tests of the renderers",
    ),
    "records/settings.py": ("engine/test_run.py", "frozen records; what the functions take and give"),
    "records/results/sweep.py": (
        "render/test_sweep.py",
        "frozen records; made by hand in the tests of the renderer",
    ),
    "records/table.py": (
        "dataset/test_grouping.py",
        "frozen records; made by hand in the tests of the grouping",
    ),
}


def modules():
    return sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))


def is_docstring_only(name):
    body = ast.parse((PACKAGE / name).read_text(encoding="utf-8")).body
    return len(body) == 1 and isinstance(body[0], ast.Expr)


def mirrored(name):
    path = Path(name)
    return path.with_name(f"test_{path.name}").as_posix()


def test_every_module_has_its_test_file():
    places = {
        name: EXCEPTIONS.get(name, (mirrored(name), ""))[0]
        for name in modules()
        if not is_docstring_only(name)
    }
    assert {name: place for name, place in places.items() if not (TESTS / place).is_file()} == {}


def test_exceptions_are_needed_and_have_a_reason():
    assert EXCEPTIONS.keys() <= set(modules())
    assert [name for name in EXCEPTIONS if (TESTS / mirrored(name)).exists()] == []
    assert [name for name, (_, reason) in EXCEPTIONS.items() if len(reason) <= 20] == []


def test_inner_packages_hold_a_docstring_only():
    inner = [name for name in modules() if name.endswith("/__init__.py") and not is_docstring_only(name)]
    assert inner == ["cli/__init__.py"]
