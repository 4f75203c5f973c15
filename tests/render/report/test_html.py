"""The page, read by a parser: what a model wrote is data, and nothing is loaded."""

import json
import re
from html.parser import HTMLParser

import pytest
from render.report.pages import EVIL, dump, page

from advcli.pipeline.report import report
from advcli.pipeline.request import Request
from advcli.records.settings import Settings
from advcli.records.table import ColumnOptions
from advcli.render.report.html import embedded, html, picture
from advcli.render.report.plots import plots


def made_of(path):
    """The page of a dump."""
    return report(Request((str(path),), Settings(), ColumnOptions()))


class Read(HTMLParser):
    """Elements, what they load, and the text outside scripts and styles."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.loads, self.ids, self.text, self._skip = [], [], set(), [], 0
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        named = dict(attrs)
        self.tags.append(tag)
        self.ids.add(named.get("id"))
        self.loads += [named[name] for name in ("src", "srcset", "data", "action") if name in named]
        self.loads += [named["href"]] if tag == "link" else []
        self._skip += tag in ("script", "style")

    def handle_endtag(self, tag):
        self._skip -= tag in ("script", "style")

    def handle_data(self, data):
        if not self._skip:
            self.text.append(data)


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    return html(page(dump(tmp_path_factory.mktemp("html") / "dump.jsonl"), keep_pos=0.5, keep_neg=0.5))


@pytest.fixture(scope="module")
def read(text):
    return Read(text)


def test_what_a_model_wrote_is_text(read, text):
    # Two of data, which end at the first "<", and ours.
    assert read.tags.count("script") == 3
    assert "img" not in read.tags
    assert any(EVIL in one for one in read.text)
    for name in ("plots-data", "rows-data"):
        assert "<" not in re.search(rf'id="{name}">(.*?)</script>', text, re.DOTALL)[1]
    assert EVIL in [row[6] for group in data(text)["groups"].values() for row in group["rows"]]


def test_nothing_is_loaded(read, text):
    assert read.loads == []
    assert "default-src 'none'" in text
    assert not re.search(r"@import|url\(|https?:", text)


def test_size(text):
    assert len(text.encode()) < 200_000


def test_every_section_is_there(read):
    wanted = {
        "findings",
        "plots",
        "browse",
        "groups",
        "figures",
        "settings",
        "search",
        "list",
        "reward",
        "keep-ratios",
    }
    assert wanted <= read.ids
    words = " ".join(read.text)
    for told in ("SHA-256", "keep_pos", "live groups", "Original and processed", "Reward parts"):
        assert told in words, told


def test_every_link_has_a_target(read, text):
    targets = set(re.findall(r'href="#([^"]*)"', text))
    assert targets
    assert targets <= read.ids


def test_every_group_and_row_is_there(text):
    groups = data(text)["groups"]
    assert len(groups) == 12
    assert text.count('<tr class="group') == 12
    assert sum(len(group["rows"]) for group in groups.values()) == 48
    dead = [group for group in groups.values() if group["figures"]["state"].startswith("dead")]
    # The parts, correct + 0.5 × format, of a prompt of four: 0, 0.05, 0, 0.05, 1 and so on: none is constant.
    assert dead == []
    filtered = [row for group in groups.values() for row in group["rows"] if not row[4]]
    assert len(filtered) > 0


def test_a_picture_runs_no_script_and_loads_nothing(tmp_path):
    for plot in plots(page(dump(tmp_path / "dump.jsonl"))):
        read = Read(picture(plot))
        assert (read.tags.count("script"), read.loads) == (0, [])
        assert plot.name in read.ids


def test_names_of_steps_and_parts_are_text(tmp_path):
    path = tmp_path / "dump.jsonl"
    lines = [
        {"prompt": "a", "step": f"{EVIL} {step}", "reward": place} for step in range(2) for place in (0, 1)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    made = made_of(path)
    read = Read(html(made))
    assert ("img" in read.tags, read.tags.count("script")) == (False, 3)
    for plot in plots(made):
        assert "img" not in Read(picture(plot)).tags


def data(text):
    """The groups and rows on the page."""
    return json.loads(re.search(r'id="rows-data">(.*?)</script>', text, re.DOTALL)[1])


def test_embedded_json_cannot_end_its_script():
    assert "<" not in embedded({"</script>": "<!--"})


def test_undefined_and_infinite_figures_are_null():
    assert embedded({"a": [float("nan"), float("inf"), -float("inf"), 0.5]}) == '{"a":[null,null,null,0.5]}'


@pytest.mark.parametrize("rewards", [(1e308, -1e308), (1e-300, 0.0), (-3.0, -1.0)])
def test_rewards_of_any_size_have_their_bars(tmp_path, rewards):
    path = tmp_path / "dump.jsonl"
    path.write_text("".join(f'{{"prompt": "a", "reward": {one!r}}}\n' for one in rewards))
    heights = re.search(r'<path d="M0 100v-(\d+)h8V100M10 100v-(\d+)h8V100"/>', html(made_of(path)))
    assert 4 <= int(heights[1]) < int(heights[2]) <= 100
