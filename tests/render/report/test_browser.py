"""The page in headless Chromium: ADVCLI_CHROMIUM names the browser, Playwright drives it."""

import os

import pytest
from render.report.pages import EVIL, dump, page

from advcli.render.report.html import html

BROWSER = os.environ.get("ADVCLI_CHROMIUM")
if not BROWSER:
    pytest.skip(
        "no browser is named by ADVCLI_CHROMIUM; .ci/run does where Chromium can be had",
        allow_module_level=True,
    )
sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    folder = tmp_path_factory.mktemp("browser")
    made = page(dump(folder / "dump.jsonl"), keep_pos=0.5, keep_neg=0.5)
    (folder / "report.html").write_text(html(made), encoding="utf-8")
    return (folder / "report.html").as_uri()


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        yield playwright.chromium.launch(
            executable_path=BROWSER,
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"],
        )


@pytest.fixture
def opened(browser, address):
    """Opens the page; what it said and asked for is in `said` and `asked`."""
    contexts = []

    def open_(*, width=1240, dark=False):
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light"
        )
        contexts.append(context)
        tab = context.new_page()
        tab.said, tab.asked = [], []
        tab.on("console", lambda message: tab.said.append(message.text))
        tab.on("pageerror", lambda error: tab.said.append(str(error)))
        tab.on("request", lambda request: tab.asked.append(request.url))
        tab.goto(address)
        tab.wait_for_selector("body[data-drawn]")
        return tab

    yield open_
    for context in contexts:
        context.close()


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [390, 1240])
def test_loads_without_a_word_and_without_the_network(opened, address, dark, width):
    tab = opened(width=width, dark=dark)
    assert tab.said == []
    assert tab.asked == [address]
    assert tab.evaluate("document.documentElement.scrollWidth") <= width


def test_every_plot_has_drawn_marks(opened):
    tab = opened()
    marks = tab.evaluate(
        """() => Object.fromEntries([...document.querySelectorAll('.drawing')].map((one) => [one.id,
            [...one.querySelectorAll('.bars .point path, .scatterlayer .points path, .scatterlayer .js-line, .heatmaplayer image')]
              .filter((mark) => { const box = mark.getBoundingClientRect(); return box.width + box.height > 0; }).length]))"""
    )
    assert len(marks) == 11
    assert all(marks.values()), marks


def test_dark_mode_has_other_colours_and_follows_a_change(opened):
    tab = opened(dark=True)
    ground = "() => getComputedStyle(document.querySelector('#reward .main-svg')).backgroundColor"
    assert tab.evaluate(ground) == "rgb(26, 31, 41)"
    assert tab.evaluate("getComputedStyle(document.body).color") == "rgb(231, 234, 240)"
    tab.emulate_media(color_scheme="light")
    # The page's policy forbids what Playwright would wait with.
    for _ in range(50):
        tab.wait_for_timeout(100)
        if tab.evaluate(ground) == "rgb(255, 255, 255)":
            break
    assert tab.evaluate(ground) == "rgb(255, 255, 255)"


def test_search_filters_rows(opened):
    tab = opened()
    shown = "() => [...document.querySelectorAll('tr.row')].filter((row) => row.offsetParent).length"
    tab.fill("#search", "answer 2-2-3")
    assert tab.evaluate(shown) == 1
    assert tab.text_content("#found") == "1 row"
    tab.fill("#search", "no such text")
    assert tab.evaluate(shown) == 0
    assert tab.is_visible("#nothing")
    tab.fill("#search", "")
    assert tab.locator("details.group:visible").count() == tab.locator("details.group").count()


def test_what_a_model_wrote_stays_text(opened):
    tab = opened()
    assert tab.title() == "dump.jsonl · advcli report"
    assert tab.locator("img").count() == 0
    assert EVIL in tab.locator(".said").all_text_contents()


def test_nothing_is_cut_off_on_paper(opened):
    # A sheet of A4 between the margins that browsers leave.
    tab = opened(width=1240)
    tab.emulate_media(media="print")
    tab.evaluate("() => window.dispatchEvent(new Event('beforeprint'))")
    # Nothing tells the page of the sheet's width: the plots have to fit into half of it before they are laid on it.
    widths = tab.evaluate("() => [...document.querySelectorAll('.main-svg')].map((one) => one.clientWidth)")
    assert max(widths) <= 717 / 2 - 32
    tab.set_viewport_size({"width": 717, "height": 1040})
    tab.wait_for_timeout(300)
    beyond = tab.evaluate(
        """() => [...document.querySelectorAll('.main-svg, table, .card')].filter((one) => {
            const card = one.parentElement.closest('.plot, .table, .group, section, body');
            return one.getBoundingClientRect().right > card.getBoundingClientRect().right + 1;
        }).map((one) => one.closest('[id]')?.id ?? one.className)"""
    )
    assert beyond == []
