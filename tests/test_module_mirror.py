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
    "cli/_between.py": ("cli/test_between.py", "flags to two requests, seen through the command"),
    "cli/_follow.py": ("cli/test_follow.py", "what is said meanwhile, seen through the command"),
    "io/growing.py": ("cli/test_follow.py", "how far files have got, seen through the command"),
    "cli/_options.py": ("cli/test_compute.py", "options, seen through the commands that have them"),
    "cli/_request.py": ("cli/test_compute.py", "flags to a request, seen through the commands"),
    "cli/_shared.py": ("cli/test_compute.py", "options of several commands, seen through the commands"),
    "cli/_show.py": ("cli/test_compare.py", "what goes to which stream, seen through the commands"),
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
    "io/formats/dump.py": ("io/formats/test_rewards.py", "what a choice goes by, seen through the choices"),
    "io/formats/format.py": ("io/formats/test_catalog.py", "what a row is, seen through every row"),
    "io/slices.py": ("io/parquet/test_append.py", "a table handed out in pieces, seen through the copies"),
    "io/metrics.py": ("cli/test_compute.py", "one small file, seen through --metrics"),
    "dataset/load.py": ("cli/test_compute.py", "reading and grouping in one step, seen through the commands"),
    "api/advantages.py": (
        "engine/test_run.py",
        "the public function, through which the advantages are tested",
    ),
    "api/inputs.py": ("api/test_read.py", "what is held of an input, seen through the dump that holds it"),
    "api/options.py": ("api/test_dump.py", "keywords to a request, seen through the methods that have them"),
    "records/version.py": ("test_public_names.py", "one string, seen as advcli.__version__"),
    "frameworks/per_token.py": (
        "parity/test_token_parity.py",
        "the packages' own numbers go through every function",
    ),
    "frameworks/arithmetic.py": ("frameworks/test_vectors.py", "the vectors go through every function of it"),
    "frameworks/decoupled.py": ("frameworks/test_vectors.py", "the vectors go through every function of it"),
    "estimators/entry.py": ("estimators/test_catalog.py", "what a row is, seen through every row"),
    "frameworks/rule.py": ("frameworks/test_catalog.py", "what a row is, seen through every row"),
    "frameworks/token_rows.py": ("frameworks/test_catalog.py", "ways to write rows, seen through every row"),
    "frameworks/absent.py": ("frameworks/test_catalog.py", "a table, seen through the errors of the catalog"),
    "records/match.py": ("cli/test_match.py", "frozen records, seen through the JSON that they become"),
    "render/match.py": ("cli/test_match.py", "the text of the answer, seen through the command"),
    **{
        f"pipeline/{name}.py": (f"cli/test_{command}.py", "the order of the steps, seen through the command")
        for name, command in {
            "between": "between",
            "compare": "compare",
            "compute": "compute",
            "describe": "compare",
            "inspect": "inspect",
            "match": "match",
            "prompts": "prompts",
            "report": "report",
            "select": "select",
            "request": "compute",
            "sweep": "sweep",
            "verify": "verify",
            "sides": "between",
            "follow": "follow",
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
    "engine/fallbacks.py": ("engine/test_run.py", "the rules of Settings, seen through what is computed"),
    "engine/shaped.py": (
        "engine/test_run.py",
        "the reward before the estimator, seen through what is computed",
    ),
    "frameworks/proven.py": ("frameworks/test_catalog.py", "a table, seen through what is said of a version"),
    "frameworks/whitening.py": ("parity/test_token_parity.py", "the packages' own numbers go through it"),
    "dataset/remarks.py": ("cli/test_compute.py", "what is said about a data set, seen through the commands"),
    "inspection/inspect.py": ("cli/test_inspect.py", "what is put together, seen through the command"),
    "inspection/facts.py": ("cli/test_inspect.py", "every figure together, seen through the command"),
    "inspection/causes.py": ("cli/test_inspect.py", "why groups are dead, seen through the command"),
    "inspection/details.py": ("cli/test_inspect.py", "single groups and rows, seen through the command"),
    "records/inspection.py": ("render/test_inspection.py", "frozen records; what the renderers are given"),
    "records/page.py": (
        "render/report/test_plots.py",
        "frozen records, seen through what is drawn from them",
    ),
    "inspection/page.py": ("cli/test_report.py", "what is put together, seen through the command"),
    "render/report/pictures.py": ("cli/test_report.py", "the plots as pictures, seen through --png"),
    "render/report/query.py": ("render/report/test_browser.py", "what a click asks for, seen in a browser"),
    "render/report/sections.py": ("render/report/test_html.py", "the tables, seen on the page"),
    "records/between.py": (
        "render/test_between.py",
        "frozen records; made by hand in the tests of the renderer",
    ),
    "records/layout.py": (
        "io/layouts/test_objects.py",
        "frozen records; made by hand in the tests of the layouts",
    ),
    "records/prompts.py": ("cli/test_prompts.py", "frozen records, seen through the JSON that they become"),
    "render/prompts.py": ("cli/test_prompts.py", "tables and JSON, seen through the command"),
    "records/select.py": ("cli/test_select.py", "frozen records, seen through the files that are written"),
    "records/verify.py": ("cli/test_verify.py", "frozen records, seen through the JSON that they become"),
    "render/verify.py": ("cli/test_verify.py", "tables and JSON, seen through the command"),
    "records/result.py": ("records/test_results.py", "what every result has, beside the results"),
    "records/report.py": (
        "render/test_tables.py",
        "frozen records; made by hand in the tests of the renderers",
    ),
    "records/settings.py": ("engine/test_run.py", "frozen records; what the functions take and give"),
    "records/sweep.py": ("render/test_sweep.py", "frozen records; made by hand in the tests of the renderer"),
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
