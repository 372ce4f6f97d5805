"""The documentation site: links resolve, every page and every public name is there."""

import re
from importlib import import_module
from inspect import ismodule

import pytest
import yaml
from selenium.webdriver.support.ui import WebDriverWait

import fairshapley as fs
import fairshapley.testing
from tests.docs.pages import ROOT, anchors, links, name_of, pages
from tests.results.report.browser import Browser, missing

CONFIG = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
NOT_IN_NAV = "docs/paper/results/"
# The addresses from which a browser fetches files for a page.
FETCHED = re.compile(r'(?:\s(?:src|srcset|data|poster)|<link\b[^>]*?\bhref)="([^"]*)')
DOCUMENTED = re.compile(r"^::: (\S+)(?:\n    options:\n      heading: (\S+))?", re.M)


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_links_and_images_resolve(page):
    for link in links(page):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.is_relative_to(ROOT), f"{link} leaves the repository"
        assert target.is_file(), f"{link} leads nowhere"  # a folder is no page of the site
        if anchor:
            assert anchor in anchors(target), f"{link}: {sorted(anchors(target))}"


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_code_can_be_pasted_from_the_site(page):
    hooks = import_module("docs.site_hooks")
    for session in hooks.SESSION.findall(page.read_text(encoding="utf-8")):
        compile(hooks.pasteable(session), page.name, "exec")


@pytest.mark.parametrize("page", [*ROOT.glob("docs/*.md"), *ROOT.glob("docs/scenarios/*.md")])
def test_a_page_shows_code_on_its_first_screen(page):
    start = page.read_text(encoding="utf-8").splitlines()[:25]
    assert page.name == "cli.md" or any(line.startswith("```") for line in start), page.name


def navigation(part):
    """The pages that the navigation names, in order."""
    if isinstance(part, str):
        return [part]
    inner = part.values() if isinstance(part, dict) else part
    return [page for one in inner for page in navigation(one)]


def test_every_page_is_in_the_navigation_once():
    hooks = import_module("docs.site_hooks")
    shown = [hooks.place_in_site(name_of(page)) for page in pages() if is_shown(page)]
    assert sorted(navigation(CONFIG["nav"])) == sorted(shown)


def is_shown(page):
    return name_of(page) in import_module("docs.site_hooks").outside() or (
        name_of(page).startswith("docs/") and not name_of(page).startswith(NOT_IN_NAV)
    )


def documented():
    """The public paths that the pages of the reference describe."""
    found = []
    for page in sorted(ROOT.glob("docs/api/*.md")):
        for target, heading in DOCUMENTED.findall(page.read_text(encoding="utf-8")):
            found.append((target, heading or target))
    return found


def named(path):
    """The object that a dotted path names, as a user would write it."""
    parts = path.split(".")
    assert parts[0] == "fairshapley"
    thing = fs
    for part in parts[1:]:
        if ismodule(thing) and not hasattr(thing, part):
            import_module(f"{thing.__name__}.{part}")
        thing = getattr(thing, part)
    return thing


def test_the_reference_describes_what_is_there():
    paths = [shown for _, shown in documented()]
    assert len(paths) == len(set(paths)), "a name is described twice"
    for target, shown in documented():
        thing = named(shown)
        # A module hides a function of its own name from whoever reads the source alone.
        if not ismodule(thing):
            module, _, name = target.rpartition(".")
            assert getattr(import_module(module), name) is thing, (target, shown)


@pytest.mark.parametrize(
    "module",
    [fs, fs.games, fs.estimators, fs.fairness, fairshapley.testing],
    ids=lambda module: module.__name__,
)
def test_every_public_name_is_in_the_reference(module):
    described = [named(shown) for _, shown in documented()]
    for name in module.__all__:
        thing = getattr(module, name)
        if ismodule(thing) or isinstance(thing, dict | tuple):
            continue
        assert any(thing is one for one in described), f"{module.__name__}.{name}: see docs/api"


def test_no_fonts_and_no_scripts_from_elsewhere():
    assert CONFIG["theme"]["font"] is False
    assert not any("//" in str(CONFIG.get(name)) for name in ("extra_css", "extra_javascript"))


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    folder = tmp_path_factory.mktemp("site")
    build(load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder), strict=True))
    return folder  # raises Abort when there are warnings


@pytest.mark.full
def test_the_site_fetches_nothing(site):
    written = sorted(site.rglob("*.html"))
    assert len(written) >= len(navigation(CONFIG["nav"]))
    for page in written:
        fetched = FETCHED.findall(page.read_text(encoding="utf-8"))
        assert fetched, page
        away = [address for address in fetched if address.startswith(("http", "//"))]
        assert not away, (page, away)
    for sheet in site.rglob("*.css"):
        assert not re.findall(r"(?:url\(|@import )[\"']?(?:http|//)", sheet.read_text("utf-8"))


@pytest.mark.full
@pytest.mark.skipif(bool(missing()), reason=missing())
@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_is_cut_at_the_right(site, width):
    browser = Browser()
    try:
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        browser.command("Emulation.setDeviceMetricsOverride", **size)
        for page in navigation(CONFIG["nav"]):
            place = page.removesuffix("README.md") + "index.md" if "README" in page else page
            browser.driver.get((site / place).with_suffix(".html").as_uri())
            wide = browser.driver.execute_script("return document.documentElement.scrollWidth")
            assert wide <= width, page
    finally:
        browser.close()


@pytest.mark.full
@pytest.mark.skipif(bool(missing()), reason=missing())
def test_search_works_from_the_disk_and_code_can_be_copied(site):
    browser = Browser()
    try:
        driver = browser.driver
        driver.get((site / "snippets.html").as_uri())
        field = driver.find_element("css selector", "input.md-search__input")
        driver.execute_script("arguments[0].focus()", field)
        field.send_keys("payout")
        found = WebDriverWait(driver, 60).until(
            lambda _: driver.find_elements("css selector", ".md-search-result__item a")
        )
        assert any("payouts.html" in one.get_attribute("href") for one in found)
        assert driver.find_elements(
            "css selector", "button[data-clipboard-target], .md-code__button"
        )
    finally:
        browser.close()
