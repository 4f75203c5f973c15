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
        tab.wait_for_selector("body[data-ready]")
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
        """() => Object.fromEntries([...document.querySelectorAll('.plot')].map((one) => [one.id,
            [...one.querySelectorAll('.drawing path:not(.lines), .heat td[style], .track i')]
              .filter((mark) => { const box = mark.getBoundingClientRect(); return box.width + box.height > 0; }).length]))"""
    )
    assert len(marks) == 11
    assert all(marks.values()), marks


def test_dark_mode_has_other_colours_and_follows_a_change(opened):
    tab = opened(dark=True)
    colours = (
        "() => ['.plot', '.bars'].map((one) => getComputedStyle(document.querySelector(one)))"
        ".flatMap((one) => [one.backgroundColor, one.fill])"
    )
    assert tab.evaluate(colours)[0] == "rgb(26, 31, 41)"
    assert tab.evaluate(colours)[3] == "rgb(86, 180, 233)"
    assert tab.evaluate("getComputedStyle(document.body).color") == "rgb(231, 234, 240)"
    tab.emulate_media(color_scheme="light")
    assert tab.evaluate(colours)[0] == "rgb(255, 255, 255)"
    assert tab.evaluate(colours)[3] == "rgb(0, 114, 178)"


GROUPS = "tr.group:visible"


def test_search_filters_rows(opened):
    tab = opened()
    tab.fill("#search", "answer 2-2-3")
    assert tab.locator("tr.row:visible").count() == 1
    assert tab.text_content("#found") == "1 row in 1 group"
    tab.fill("#search", "no such text")
    assert tab.locator(GROUPS).count() == 0
    assert tab.text_content("#found") == "0 rows in 0 groups"
    tab.fill("#search", "")
    assert tab.locator(GROUPS).count() == 12


@pytest.mark.parametrize(
    ("text", "said"),
    [
        # Prompt 3 has 4 rows right of 4, each of the 3 steps: 1 or 1.05.
        ("step:2", "16 rows in 4 groups"),
        ("mean:1.025", "12 rows in 3 groups"),
        ("reward:1..", "27 rows in 9 groups"),
        ("step:0 reward:..0.01", "3 rows in 2 groups"),
        ("state:dead", "0 rows in 0 groups"),
        ("question 3", "12 rows in 3 groups"),
        ("tokens:132", "4 rows in 4 groups"),
        ("reward:missing", "0 rows in 0 groups"),
        ("nothing:1", "0 rows in 0 groups"),
    ],
)
def test_terms(opened, text, said):
    tab = opened()
    tab.fill("#search", text)
    assert tab.text_content("#found") == said


def test_a_heading_sorts(opened):
    tab = opened()
    means = "() => [...document.querySelectorAll('tr.group td[data-label=mean]')].map((one) => Number(one.textContent))"
    tab.click("th.mean button")
    assert tab.evaluate(means) == sorted(tab.evaluate(means), reverse=True)
    assert tab.get_attribute("th.mean", "aria-sort") == "descending"
    tab.click("th.mean button")
    assert tab.evaluate(means) == sorted(tab.evaluate(means))


def test_a_group_opens_with_its_rows(opened):
    tab = opened()
    assert tab.locator("tr.row").count() == 0
    tab.locator("tr.group").first.click()
    assert tab.locator("tr.row:visible").count() == 4
    assert tab.locator("tr.group button").first.get_attribute("aria-expanded") == "true"
    tab.keyboard.press("Tab")
    tab.locator("tr.group button").first.press("Enter")
    assert tab.locator("tr.row").count() == 0


def pointer(tab, plot, across, up):
    """Where a place of a plot is on the screen."""
    tab.locator(f"#{plot}").scroll_into_view_if_needed()
    box = tab.locator(f"#{plot}").bounding_box()
    return box["x"] + across * box["width"], box["y"] + (1 - up) * box["height"]


def test_the_pointer_tells_the_numbers_and_a_click_shows_the_groups(opened):
    tab = opened()
    at = pointer(tab, "reward-by-step", 0.5, 0.5)
    tab.mouse.move(*at)
    assert tab.text_content("#tip").startswith("step: 1\nmean reward: 0.5875\n")
    tab.mouse.down()
    tab.mouse.up()
    assert tab.input_value("#search") == "step:1"
    assert tab.text_content("#found") == "16 rows in 4 groups"


def test_a_point_leads_to_its_rows(opened):
    tab = opened()
    place = tab.evaluate(
        "() => { const { at } = JSON.parse(document.getElementById('plots-data').textContent).length; "
        "return [at.x[0] / 1000, at.y[0] / 1000]; }"
    )
    tab.mouse.click(*pointer(tab, "length", *place))
    assert tab.input_value("#search").startswith("group:")
    assert "1 row in 1 group" in tab.text_content("#found")
    assert tab.locator("tr.row:visible").count() == 1


def test_zoom_and_back(opened):
    tab = opened()
    marks = (
        "() => [...document.querySelectorAll('#figure-length .ticks.x span')].map((one) => one.textContent)"
    )
    before = tab.evaluate(marks)
    tab.mouse.move(*pointer(tab, "length", 0.7, 0.5))
    tab.mouse.down()
    tab.mouse.move(*pointer(tab, "length", 0.95, 0.5))
    tab.mouse.up()
    zoomed = tab.evaluate(marks)
    assert zoomed != before
    assert min(map(int, zoomed)) >= 90
    assert tab.get_attribute("#length", "viewBox") != "0 0 1000 1000"
    tab.click("#figure-length .reset")
    assert tab.evaluate(marks) == before


def test_a_finding_leads_to_its_groups(opened):
    tab = opened()
    link = tab.locator("#findings a[data-find]").first
    wanted = link.get_attribute("data-find")
    link.click()
    assert tab.input_value("#search") == wanted


def test_what_a_model_wrote_stays_text(opened):
    tab = opened()
    assert tab.title() == "dump.jsonl · advcli report"
    for group in tab.locator("tr.group").all():
        group.click()
    assert tab.locator("img").count() == 0
    assert EVIL in tab.locator(".said").all_text_contents()
    assert tab.title() == "dump.jsonl · advcli report"


def test_nothing_is_cut_off_on_paper(opened):
    # A sheet of A4 between its margins.
    tab = opened(width=1240)
    tab.emulate_media(media="print")
    tab.set_viewport_size({"width": 703, "height": 1040})
    beyond = tab.evaluate(
        """() => [...document.querySelectorAll('.drawing, table, .card')].filter((one) => {
            const card = one.parentElement.closest('.plot, .table, section, body');
            return one.getBoundingClientRect().right > card.getBoundingClientRect().right + 1;
        }).map((one) => one.closest('[id]')?.id ?? one.className)"""
    )
    assert beyond == []


def test_the_sample_takes_four_sheets(browser, tmp_path):
    from advcli.io.sources import sample
    from advcli.pipeline.report import report
    from advcli.pipeline.request import Request
    from advcli.records.settings import Settings
    from advcli.records.table import ColumnOptions

    made = report(Request((str(sample.path()),), Settings(keep_pos=0.7, keep_neg=0.5), ColumnOptions()))
    (tmp_path / "report.html").write_text(html(made), encoding="utf-8")
    tab = browser.new_page()
    tab.goto((tmp_path / "report.html").as_uri())
    sheets = tab.pdf(prefer_css_page_size=True).count(b"/Type /Page\n")
    tab.close()
    assert 1 < sheets <= 4
