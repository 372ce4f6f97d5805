"""The report in a real browser: sorting, filters, charts, themes, phones, print, no network."""

import base64
import re
import shutil
import subprocess
import time
from itertools import pairwise

import numpy as np
import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait
from tests.results.report.samples import HOSTILE, by_hand

import fairshapley as fs
from fairshapley.results.records import PartValues, Split

LABELS = [("north", "south", "west")[player % 3] for player in range(60)]
VISIBLE_ROWS = "return [...document.querySelectorAll('#players tbody tr:not(.space)')]"
INK = "return getComputedStyle(document.querySelector('[data-chart=values] .xtick text')).fill"
CHARTS = {
    "values",
    "fidelity",
    "contributions",
    "requests",
    "convergence",
    "utilities",
    "marginals",
    "tolerance",
}


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("reports")


@pytest.fixture(scope="session")
def usual(folder):
    return by_hand().report(folder / "usual.html", title="Customers", labels=LABELS)


@pytest.fixture(scope="session")
def hostile(folder):
    names = [HOSTILE[player % len(HOSTILE)] for player in range(20)]
    result = by_hand(20, names=names, notes=tuple(HOSTILE), obstacle=HOSTILE[0])
    return result.report(folder / "hostile.html", title=HOSTILE[1], labels=names)


@pytest.fixture(scope="session")
def exact(folder):
    game = fs.games.Additive([0.00123456, -1.5e-7, 12345.678, -98765.4, 0.0])
    return fs.exact(game).report(folder / "exact.html")


@pytest.fixture(scope="session")
def large(folder):
    return by_hand(10_000).report(folder / "large.html")


@pytest.fixture
def page(chromium, usual):
    """The usual report as it was opened; afterwards: no complaint, nothing fetched."""
    if chromium.kept is None:
        chromium.open(usual)
        assert chromium.requests() == [usual.resolve().as_uri()]
        chromium.kept = usual
    else:
        chromium.script("document.getElementById('reset').click(); scrollTo(0, 0)")
    yield chromium
    assert chromium.complaints() == []
    assert chromium.requests() == []


def find(page, selector):
    return page.driver.find_element(By.CSS_SELECTOR, selector)


def column(page, number):
    """The texts of a column, in sight."""
    return page.script(f"{VISIBLE_ROWS}.map((row) => row.cells[{number}].innerText.trim())")


def figures(page, number):
    return [float(text.replace("−", "-").replace(",", "")) for text in column(page, number)]


def matches(page, text):
    """Wait for the number of matches to be said."""
    status = find(page, "#matches")
    WebDriverWait(page.driver, 10).until(lambda _: status.text == text)


def header(page, key):
    return find(page, f'#players th[data-key="{key}"]')


def test_charts_are_drawn_and_hovering_tells(page):
    drawn = page.script(
        "return [...document.querySelectorAll('.plot')]"
        ".filter((plot) => plot.querySelector('svg.main-svg')).map((plot) => plot.dataset.chart)"
    )
    assert set(drawn) == CHARTS
    point = find(page, '[data-chart="values"] .scatterlayer .trace:last-child .points path')
    page.script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", point)
    ActionChains(page.driver).move_to_element(point).perform()
    tip = WebDriverWait(page.driver, 10).until(
        lambda _: page.script(
            "const tip = document.querySelector('[data-chart=values] .hoverlayer .hovertext');"
            "return tip && tip.textContent"
        )
    )
    assert "customer 000" in tip
    assert "0." in tip


def test_the_mouse_sorts(page):
    assert header(page, "value").get_attribute("aria-sort") == "descending"
    values = figures(page, 2)
    assert values == sorted(values, reverse=True)
    header(page, "value").find_element(By.TAG_NAME, "button").click()
    assert header(page, "value").get_attribute("aria-sort") == "ascending"
    values = figures(page, 2)
    assert values == sorted(values)
    assert values[0] < 0
    header(page, "count").find_element(By.TAG_NAME, "button").click()
    assert header(page, "value").get_attribute("aria-sort") is None
    assert figures(page, 7)[:2] == [559, 558]


def test_the_keyboard_sorts_and_moves(page):
    find(page, "#reset").send_keys(Keys.TAB)
    ActionChains(page.driver).send_keys(Keys.TAB).perform()
    focused = "return document.activeElement.textContent"
    assert page.script(focused) == "Player"
    ActionChains(page.driver).send_keys(Keys.ENTER).perform()
    assert header(page, "name").get_attribute("aria-sort") == "ascending"
    names = column(page, 0)
    assert names == sorted(names)
    assert names[0] == "customer 00000"
    ActionChains(page.driver).send_keys(Keys.SPACE).perform()
    assert column(page, 0)[0] == "customer 00059"
    outline = page.script("return getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"


def test_search_and_filters_narrow_the_table(page):
    find(page, "#search").send_keys("CUSTOMER 0000")
    matches(page, "10 of 60 players")
    assert find(page, "#players").get_attribute("aria-rowcount") == "11"
    find(page, "#search").send_keys("7")
    matches(page, "1 of 60 players")
    assert column(page, 0) == ["customer 00007"]
    find(page, "#search").send_keys(" nobody")
    matches(page, "0 of 60 players")
    assert "No player matches" in find(page, "#players tbody").text
    find(page, "#reset").click()
    matches(page, "60 players")
    Select(find(page, "#kind")).select_by_value("duplicate")
    matches(page, "4 of 60 players")
    assert sorted(column(page, 0)) == [f"customer 0000{player}" for player in (0, 1, 4, 7)]
    Select(find(page, "#kind")).select_by_value("null")
    matches(page, "1 of 60 players")
    find(page, "#reset").click()
    Select(find(page, "#label")).select_by_visible_text("west")
    matches(page, "20 of 60 players")


def test_signs_and_certainty_filter(page):
    Select(find(page, "#sign")).select_by_value("-1")
    Select(find(page, "#certainty")).select_by_value("settled")
    uppers = figures(page, 4)
    assert uppers
    assert max(uppers) < 0
    Select(find(page, "#sign")).select_by_value("")
    Select(find(page, "#certainty")).select_by_value("open")
    lowers, uppers = figures(page, 3), figures(page, 4)
    assert lowers
    assert all(low <= 0 <= high for low, high in zip(lowers, uppers, strict=True))


def test_a_callout_shows_its_players_in_the_table(page):
    button = find(page, '[data-show="negative"]')
    wanted = int(find(page, ".callout.negative .count").text)
    page.script("arguments[0].click()", button)
    matches(page, f"{wanted} of 60 players")
    values = figures(page, 2)
    assert values == sorted(values)
    assert max(values) < 0


def test_the_structure_serves_screen_readers(page):
    found = page.script(
        """
        const all = (selector) => [...document.querySelectorAll(selector)];
        const named = (element) => !!(element.getAttribute('aria-label')
          || document.getElementById(element.getAttribute('aria-labelledby') || '')
          || element.closest('label') || element.textContent.trim());
        const ids = all('[id]').filter((item) => !item.closest('svg')).map((item) => item.id);
        return {
          lang: document.documentElement.lang,
          title: document.title,
          headings: all('h1, h2, h3, h4, h5, h6').map((item) => Number(item.tagName[1])),
          landmarks: ['header', 'nav', 'main', 'footer'].map((name) => all(name).length),
          unnamed: all('input, select, button, a, [role=region], [role=img], section, nav')
            .filter((item) => !named(item)).map((item) => item.outerHTML.slice(0, 80)),
          images: all('[role=img]').map((item) => item.getAttribute('aria-label').length),
          tables: all('.chart').filter((item) => !item.querySelector('details tbody tr')).length,
          scopes: all('th:not([scope])').length,
          doubled: ids.filter((id, at) => ids.indexOf(id) !== at),
          broken: all('a[href^="#"]').filter((item) => !ids.includes(item.hash.slice(1))).length,
          live: document.getElementById('matches').getAttribute('aria-live'),
          scrolling: all('.virtual, .scroll, pre').filter((item) => item.tabIndex !== 0).length,
          zoom: document.querySelector('meta[name=viewport]').content,
        };
        """
    )
    assert found["lang"] == "en"
    assert found["title"] == "Customers"
    levels = found["headings"]
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert found["landmarks"] == [1, 1, 1, 1]
    assert found["unnamed"] == []
    assert len(found["images"]) == len(CHARTS)
    assert min(found["images"]) > 40
    assert (found["tables"], found["scopes"], found["broken"], found["scrolling"]) == (0, 0, 0, 0)
    assert found["doubled"] == []
    assert found["live"] == "polite"
    assert "maximum-scale" not in found["zoom"]


def test_hostile_names_stay_text(chromium, hostile):
    chromium.open(hostile)
    assert chromium.script("return document.title").startswith("</script><script>alert(2)")
    # A script that ran would have opened a dialog, at which the next command would fail.
    shown = column(chromium, 0)
    assert HOSTILE[0] in shown
    assert HOSTILE[8] in shown
    assert "⟨U+202E⟩evil⟨U+2066⟩" in shown
    ticks = chromium.script(
        "return [...document.querySelectorAll('[data-chart=values] .ytick text')]"
        ".map((tick) => tick.textContent.replace(/[\\u2068\\u2069]/g, ''))"
    )
    assert HOSTILE[0] in ticks
    assert f"No interval is stated for any value: {HOSTILE[0]}." in find(chromium, "#doubts").text
    assert chromium.script("return document.querySelectorAll('img, .plot a').length") == 0
    assert chromium.complaints() == []
    assert chromium.requests() == [hostile.resolve().as_uri()]


def test_the_policy_stops_what_is_injected(chromium, usual):
    """Were a name ever to become an element, it would still run nothing and fetch nothing."""
    chromium.open(usual)
    chromium.script(
        "const box = document.createElement('div');"
        'box.innerHTML = \'<img src="https://example.org/x.png" onerror="window.ran = 1">\';'
        "document.body.append(box)"
    )
    time.sleep(0.2)
    assert chromium.script("return window.ran === undefined")
    assert any("Content Security Policy" in text for text in chromium.complaints())


def test_ten_thousand_rows_stay_smooth(chromium, large):
    chromium.open(large)
    rows = "return document.querySelectorAll('#players tbody tr').length"
    assert chromium.script(rows) < 60
    assert find(chromium, "#players").get_attribute("aria-rowcount") == "10001"
    # Sorting all rows takes some milliseconds; on a busy machine it may take its time.
    seconds = chromium.script(
        "const button = document.querySelector('#players th[data-key=fidelity] button');"
        "const began = performance.now(); button.click(); document.body.offsetHeight;"
        "return (performance.now() - began) / 1000"
    )
    assert seconds < 1
    middle, last, drawn = chromium.driver.execute_async_script(
        """
        const done = arguments[0], box = document.getElementById('players-box');
        const seen = () => [...box.querySelectorAll('tbody tr:not(.space)')]
          .map((row) => Number(row.getAttribute('aria-rowindex')));
        const later = (action) => requestAnimationFrame(() => requestAnimationFrame(action));
        box.scrollTop = box.scrollHeight / 2;
        later(() => {
          const middle = seen();
          box.scrollTop = box.scrollHeight;
          later(() => done([middle, seen(), box.querySelectorAll('tbody tr').length]));
        });
        """
    )
    assert middle[0] < 5000 < middle[-1] + 60
    assert last[-1] == 10_001
    assert drawn < 60
    assert chromium.complaints() == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_colours_follow_the_theme(chromium, usual, theme):
    chromium.open(usual, theme=theme)
    lightness = sum(colours(chromium, "body", "backgroundColor")) / 3
    assert (lightness > 200) == (theme == "light")
    ink = parsed(chromium.script(INK))
    assert contrast(ink, colours(chromium, ".card", "backgroundColor")) > 4.5


def test_charts_change_with_the_theme(chromium, usual):
    chromium.open(usual)
    light = chromium.script(INK)
    chromium.theme("dark")
    assert WebDriverWait(chromium.driver, 10).until(lambda _: chromium.script(INK) != light)


def parsed(colour):
    return tuple(float(part) for part in re.findall(r"[\d.]+", colour)[:3])


def colours(page, selector, name):
    return parsed(
        page.script(f"return getComputedStyle(arguments[0]).{name}", find(page, selector))
    )


def contrast(one, other):
    """The contrast of two colours as WCAG 2 defines it."""

    def luminance(colour):
        parts = [part / 255 for part in colour]
        parts = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_text_has_enough_contrast(chromium, usual, theme):
    """AA: 4.5 for each text, against the nearest background that is not transparent."""
    chromium.open(usual, theme=theme)
    found = chromium.script(
        """
        const seen = new Map();
        const behind = (element) => {
          for (; element; element = element.parentElement) {
            const colour = getComputedStyle(element).backgroundColor;
            if (!/, 0\\)$/.test(colour)) return colour;
          }
          return 'rgb(255, 255, 255)';
        };
        for (const element of document.querySelectorAll('body *:not(svg):not(svg *)')) {
          const nodes = [...element.childNodes];
          const own = nodes.some((node) => node.nodeType === 3 && node.data.trim());
          if (!own || !element.offsetParent || element.closest('.skip')) continue;
          const pair = getComputedStyle(element).color + '|' + behind(element);
          seen.set(pair, element.tagName + '.' + element.className);
        }
        return [...seen];
        """
    )
    assert len(found) >= 8
    for pair, where in found:
        ink, ground = map(parsed, pair.split("|"))
        assert contrast(ink, ground) >= 4.5, where


# Boxes that scroll by themselves are looked at as a whole; plotly keeps one svg out of sight.
OVERFLOWING = """
const wide = document.documentElement.clientWidth, own = '.scroll, pre, .virtual, bdi, select';
const inside = (element) => element.parentElement.closest(own);
return [...document.querySelectorAll('body *:not(svg, svg *, script, style, option)')]
  .filter((element) => !element.closest('.unseen, .skip') && !inside(element))
  .filter((element) => {
    const { left, right, width } = element.getBoundingClientRect();
    return width && (left < -0.5 || right > wide + 0.5);
  })
  .map((element) => element.outerHTML.slice(0, 80));
"""
CUT = """
const numbers = '.virtual td, .virtual th, .compact td, .compact th, .tiles dt, .tiles .big';
return [...document.querySelectorAll(numbers)]
  .filter((element) => element.offsetWidth && element.scrollWidth > element.clientWidth + 1)
  .map((element) => element.textContent);
"""


@pytest.mark.parametrize("kind", ["usual", "hostile", "exact"])
def test_nothing_overflows_and_no_number_is_cut(chromium, request, kind):
    chromium.open(request.getfixturevalue(kind), width=360, height=740)
    for width in (360, 390, 1280):
        chromium.size(width, 740, phone=width < 500)
        wide = WebDriverWait(chromium.driver, 10)
        wide.until(lambda _, width=width: chromium.script("return innerWidth") == width)
        assert chromium.script("return document.documentElement.scrollWidth") <= width
        assert chromium.script(OVERFLOWING) == []
        assert chromium.script(CUT) == []
        boxes = chromium.script(
            "return [...document.querySelectorAll('#players-box, .scroll')]"
            ".filter((box) => box.clientWidth && box.scrollWidth > box.clientWidth)"
            ".map((box) => box.outerHTML.slice(0, 80))"
        )
        assert boxes == []
        assert find(chromium, '#players th[data-key="name"]').size["width"] > 80


def test_a_phone_shows_remarks_labels_and_intervals(chromium, usual):
    chromium.open(usual, width=360, height=740)
    name, value = (column(chromium, place)[0] for place in (0, 2))
    assert re.fullmatch(r"customer 00000\s+north\s+identical, group 1", name)
    assert re.fullmatch(r"0\.5\s+0\.46\d+ to 0\.53\d+", value)


def test_long_names_wrap_and_are_there_in_full(chromium, hostile):
    chromium.open(hostile)
    found = chromium.script(
        "return [...document.querySelectorAll('#players tbody th bdi')]"
        ".map((name) => [name.textContent, name.clientHeight, name.scrollHeight])"
    )
    long = max(found, key=lambda name: len(name[0]))
    assert long[0] == "x" * 5000
    assert long[1] < 120 < long[2], "it scrolls in a few lines"
    assert not chromium.script(
        "return [...document.querySelectorAll('#players td, #players tbody th')]"
        ".some((cell) => getComputedStyle(cell).textOverflow === 'ellipsis')"
    )
    # Marks on a letter neither stack up nor leave their row.
    assert chromium.script("return document.body.innerText.includes('\u0301'.repeat(5))") is False
    overflow = "return getComputedStyle(document.querySelector('#players tbody th')).overflowY"
    assert chromium.script(overflow) == "clip"


def test_an_exact_result_has_no_columns_of_errors(chromium, exact):
    chromium.open(exact)
    keys = "return [...document.querySelectorAll('#players thead th')].map((th) => th.dataset.key)"
    assert chromium.script(keys) == ["name", "value", "remark"]
    assert "∞" not in chromium.script("return document.body.innerText")
    assert chromium.complaints() == []


def test_print_shows_charts_and_plain_rows(chromium, usual):
    chromium.open(usual, theme="dark")
    chromium.theme("dark", media="print")
    shown = chromium.script(
        "const shown = (selector) => !!document.querySelector(selector).offsetParent;"
        "return [shown('.plain table'), shown('.virtual'), shown('.controls'), shown('.plot')]"
    )
    assert shown == [True, False, False, True]
    assert contrast(colours(chromium, "body", "color"), (255, 255, 255)) > 10
    chromium.theme("dark")
    paper = base64.b64decode(chromium.command("Page.printToPDF")["data"])
    assert paper.startswith(b"%PDF")
    assert 4 <= len(re.findall(rb"/Type\s*/Page\b", paper)) <= 20
    # The charts are dark again after they were printed in light colours.
    ink = parsed(chromium.script(INK))
    assert contrast(ink, colours(chromium, ".card", "backgroundColor")) > 4.5


def printed(chromium, page, folder):
    """The text of a page on paper."""
    chromium.open(page)
    paper = folder / "page.pdf"
    paper.write_bytes(base64.b64decode(chromium.command("Page.printToPDF")["data"]))
    told = subprocess.run(["pdftotext", "-layout", paper, "-"], capture_output=True, check=True)
    return re.sub(r"[\u2068\u2069]", "", told.stdout.decode())


@pytest.mark.skipif(not shutil.which("pdftotext"), reason="apt-get install poppler-utils")
@pytest.mark.parametrize("exact", [True, False])
def test_every_payee_is_on_paper(chromium, tmp_path, exact):
    """All rows of all tables, with the amounts, whatever scrolls on the screen."""
    result = by_hand(
        250, exact=exact, endpoints=(0.0, 37.5), replicates=np.full((250, 5), 0.01) * range(5)
    )
    page = result.report(tmp_path / "report.html", pool=100_000)
    text = printed(chromium, page, tmp_path)
    paid = result.payout(100_000)
    assert len({amount for amount in paid.amounts if amount}) > 150
    payouts = text[text.index("Who gets what") : text.index("What this report covers")]
    for name, amount in zip(result.names(), paid.amounts, strict=True):
        (row,) = re.findall(rf"^ *{name} .*$", payouts, re.MULTILINE)
        assert f"{amount:,f}" in row.split()
    values = text[text.index("All players, from the highest") : text.index("Values worth checking")]
    assert all(values.count(name) == 2 for name in result.names())  # values, and test sets


@pytest.mark.skipif(not shutil.which("pdftotext"), reason="apt-get install poppler-utils")
def test_on_paper_amounts_come_first_tables_are_whole_and_names_break_between_words(
    chromium, tmp_path
):
    names = [f"Nordische Datenlieferanten Genossenschaft {place}" for place in range(100, 112)]
    values = np.linspace(0.5, 0.02, 12)
    result = by_hand(
        12, exact=True, values=values, standard_errors=np.zeros(12), player_names=names,
        identical_players=(), endpoints=(0.0, float(values.sum())),
        replicates=np.full((12, 5), 0.01) * range(5),
        scenarios=(PartValues("auc", tuple(values[::-1].tolist()), (0.0, 3.12)),),
        splits=tuple(Split(player, 0.01, 0.001) for player in range(12)),
        pairs=np.full((12, 12), -0.0321), pair_errors=np.zeros((12, 12)),
    )  # fmt: skip
    page = result.report(tmp_path / "report.html", pool=100_000)
    text = printed(chromium, page, tmp_path)
    titles = ("Who gets what", "What the amounts depend on", "What this report covers", "✓ Exact")
    places = [text.index(title) for title in (*titles, "Who replaces whom")]
    assert places == sorted(places)
    paid = result.payout(100_000)
    _, rows, _ = paid.hanging()
    amounts, hanging = text[: places[1]], text[places[1] : places[2]]
    for player, row in enumerate(rows):
        assert f"{paid.amounts[player]:,f}" in amounts
        assert all(cell in hanging for cell in row[1:])
    assert text[places[-1] :].count("−0.032") == 12 * 11
    # The charts shorten names; tables do not, and each word is whole.
    for part in (amounts, hanging):
        assert min(part.count("Datenlieferanten"), part.count("Genossenschaft")) >= 12


def test_with_a_pool_the_rest_is_folded_until_a_link_opens_it(chromium, tmp_path):
    page = by_hand(12, exact=True, endpoints=(0.0, 1.8)).report(tmp_path / "paid.html", pool=900)
    chromium.open(page)
    shown = (
        "return ['payout', 'limits', 'fairness', 'values', 'provenance']"
        ".map((id) => document.getElementById(id).checkVisibility())"
    )
    assert chromium.script(shown) == [True, True, True, False, False]
    find(chromium, 'nav a[href="#values"]').click()
    WebDriverWait(chromium.driver, 10).until(lambda _: chromium.script(shown) == [True] * 5)
    assert len(chromium.script(VISIBLE_ROWS)) == 12
    charts = chromium.driver.find_elements(By.CSS_SELECTOR, ".rest .plot svg.main-svg:first-child")
    assert charts
    assert min(chart.size["width"] for chart in charts) > 300
    assert chromium.complaints() == []


def test_without_scripts_the_rows_are_there(chromium, large):
    chromium.open(large, scripts=False)
    try:
        # No script runs in the page, so that elements are asked for one by one.
        # Nor does anything say when the page is whole.
        rows = chromium.driver.find_elements(By.CSS_SELECTOR, ".plain tbody tr")
        until = time.monotonic() + 30
        while len(rows) < 10_000 and time.monotonic() < until:
            rows = chromium.driver.find_elements(By.CSS_SELECTOR, ".plain tbody tr")
        assert len(rows) == 10_000
        assert rows[0].is_displayed()
        assert rows[0].find_element(By.TAG_NAME, "th").text == "customer 00000"
        assert not find(chromium, ".controls").is_displayed()
        assert "need JavaScript" in find(chromium, "noscript").text
    finally:
        chromium.command("Emulation.setScriptExecutionDisabled", value=False)


def test_the_skip_link_comes_first(chromium, usual):
    chromium.open(usual)
    ActionChains(chromium.driver).send_keys(Keys.TAB).perform()
    assert chromium.script("return document.activeElement.className") == "skip"
    assert chromium.script("return document.activeElement.getBoundingClientRect().top") >= 0
    ActionChains(chromium.driver).send_keys(Keys.ENTER).perform()
    assert chromium.script("return document.activeElement.id") == "main"
