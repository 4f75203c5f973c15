"""The page, read by a parser: what a model wrote is data, and nothing is loaded."""

import sys
from html.parser import HTMLParser

import pytest
from render.report.pages import EVIL, dump, page

from advcli.errors import MissingPackage
from advcli.render.report.html import check_installed, embedded, html

pytest.importorskip("jinja2", reason="Jinja2 is not installed (extra 'report')")
pytest.importorskip("plotly", reason="Plotly is not installed (extra 'report')")


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


def test_what_a_model_wrote_is_text(read):
    assert read.tags.count("script") == 4
    assert "img" not in read.tags
    assert any(EVIL in one for one in read.text)


def test_nothing_is_loaded(read, text):
    assert read.loads == []
    assert "default-src 'none'" in text
    assert "@import" not in text


def test_size(text):
    assert len(text.encode()) < 8_000_000


def test_every_section_is_there(read):
    assert {"distributions", "figures", "extremes", "settings", "search", "reward", "keep-ratios"} <= read.ids
    words = " ".join(read.text)
    for told in ("SHA-256", "keep_pos", "live groups", "Original and processed", "Reward parts", "filtered"):
        assert told in words, told


def test_embedded_json_cannot_end_its_script():
    assert "<" not in embedded({"</script>": "<!--"})


def test_undefined_and_infinite_figures_are_null():
    assert embedded({"a": [float("nan"), float("inf"), -float("inf"), 0.5]}) == '{"a":[null,null,null,0.5]}'


@pytest.mark.parametrize("name", ["jinja2", "plotly"])
def test_a_missing_package_is_named(monkeypatch, name):
    monkeypatch.setattr("importlib.util.find_spec", lambda wanted: None if wanted == name else object())
    with pytest.raises(MissingPackage, match=r"pip install 'advcli\[report\]'"):
        check_installed()


def test_a_package_that_fails_to_import_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingPackage, match="report needs"):
        html(page(dump(tmp_path / "dump.jsonl", steps=1)))
