"""The pages in a browser: no errors, no requests, sortable, and nothing wider than the screen."""

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from counterpoise._format import format_number

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    not (BROWSER and DRIVER), reason="Chromium or its driver is not installed"
)

HOSTILE = ["hostile audit", "hostile select"]
NAMES = ["audit", "select", "classes", "doubtful", "reproduction", *HOSTILE]


@pytest.fixture(scope="module")
def browser():
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    found = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield found
    found.quit()


@pytest.fixture(scope="module")
def files(pages, tmp_path_factory):
    """Every page as a file."""
    from matplotlib.figure import Figure

    from counterpoise.present.page import figure_file
    from counterpoise.present.palette import LIGHT, style
    from counterpoise.present.reproduction import reproduction_page

    with style(LIGHT):
        figure = Figure(figsize=(9, 4))
        figure.subplots().set(xlabel="gamma", ylabel="risk")
    plan, notes = SimpleNamespace(protocol="<b>"), ["<script>alert(1)</script>"]
    record = SimpleNamespace(plan=plan, facts=[("seed", "0")], claims=[], notes=notes)
    pictures = [("one", "A caption", figure_file(figure))]
    reproduction = reproduction_page(record, pictures)
    directory = tmp_path_factory.mktemp("pages")
    found = {}
    for name, text in {**pages, "reproduction": reproduction}.items():
        found[name] = directory / f"{name.replace(' ', '-')}.html"
        found[name].write_text(text, encoding="utf-8")
    return found


def show(browser, path: Path, *, width=1280, theme="light"):
    """Open a page at a width and in a theme, and forget what was logged before."""
    screen = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    media = {"features": [{"name": "prefers-color-scheme", "value": theme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    for kind in ("browser", "performance"):
        browser.get_log(kind)
    browser.get(path.as_uri())
    browser.execute_script("for (const d of document.querySelectorAll('details')) d.open = true")


def requests(browser):
    """Addresses that were asked for since the page was opened."""
    messages = [json.loads(row["message"])["message"] for row in browser.get_log("performance")]
    return [
        message["params"]["request"]["url"]
        for message in messages
        if message["method"] == "Network.requestWillBeSent"
    ]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("width", [390, 1280])
def test_no_errors_no_requests_and_nothing_wider_than_the_screen(browser, files, name, width):
    show(browser, files[name], width=width)
    assert browser.get_log("browser") == []
    assert requests(browser) == [files[name].as_uri()]
    wide = browser.execute_script(
        """
        const scrolls = (e) => e && (e.matches(".scroll, svg") || scrolls(e.parentElement));
        return [document.documentElement.scrollWidth - document.documentElement.clientWidth,
                [...document.querySelectorAll("body *")]
                    .filter((e) => !scrolls(e) && e.getBoundingClientRect().right > innerWidth + 1)
                    .map((e) => e.outerHTML.slice(0, 80))];
        """
    )
    assert wide == [0, []]
    words = """const lines = (e) => { const r = document.createRange(); r.selectNodeContents(e);
                                       return r.getClientRects().length; };
               return [...document.querySelectorAll("#options tbody th")].map(lines)"""
    assert set(browser.execute_script(words)) <= {1}
    sizes = browser.execute_script(
        """return [...document.querySelectorAll("main p, main li, main td, figcaption")]
                  .map((e) => parseFloat(getComputedStyle(e).fontSize))"""
    )
    assert min(sizes) >= 13


@pytest.mark.parametrize("name", HOSTILE)
def test_names_from_the_data_do_nothing(browser, files, name):
    from selenium.common.exceptions import NoAlertPresentException

    show(browser, files[name])
    with pytest.raises(NoAlertPresentException):
        _ = browser.switch_to.alert
    found = browser.execute_script(
        """return [document.scripts.length, document.images.length,
                   [...document.querySelectorAll("*")].filter((e) => [...e.attributes].some(
                       (a) => a.name.startsWith("on"))).length,
                   document.body.innerText.includes("<script>alert(1)</script>")]"""
    )
    assert found == [1, 0, 0, True]


def test_a_script_that_is_not_ours_would_not_run(browser, files, tmp_path):
    """What the policy is for: the page with a script smuggled in."""
    page = tmp_path / "page.html"
    text = files["audit"].read_text(encoding="utf-8")
    page.write_text(
        text.replace("<main>", "<main><script>window.bad = 1</script><p onclick='bad()'>"),
        encoding="utf-8",
    )
    show(browser, page)
    assert browser.execute_script("return window.bad === undefined")
    entries = [row["message"] for row in browser.get_log("browser") if "script" in row["message"]]
    assert entries  # newer browsers report the handler too
    assert all("Content Security Policy" in entry for entry in entries)


COLUMN = """
const table = document.querySelector(arguments[0] + " table");
const place = [...table.tHead.rows[0].cells].findIndex((c) => c.innerText.trim() === arguments[1]);
return [[...table.tBodies[0].rows].map((r) => r.cells[place].innerText.trim()),
        table.tHead.rows[0].cells[place].getAttribute("aria-sort"),
        table.tHead.querySelectorAll("[aria-sort=ascending], [aria-sort=descending]").length];
"""


def heading(browser, table, text):
    buttons = browser.find_elements("css selector", f"{table} thead button")
    (found,) = [button for button in buttons if button.text == text]
    return found


def test_tables_sort_by_numbers_with_mouse_and_keyboard(browser, files, answers):
    show(browser, files["select"])
    table, name = "#candidates-table", "target risk"
    values = [format_number(value) for value in sorted(answers["select"].choice.risks.value)]
    assert browser.execute_script(COLUMN, table, name)[1] == "none"
    heading(browser, table, name).click()
    rows, state, sorted_by = browser.execute_script(COLUMN, table, name)
    assert rows == values
    assert (state, sorted_by) == ("ascending", 1)
    heading(browser, table, name).send_keys("\ue007")  # Enter
    rows, state, _ = browser.execute_script(COLUMN, table, name)
    assert rows == values[::-1]
    assert state == "descending"
    heading(browser, table, name).send_keys(" ")
    assert browser.execute_script(COLUMN, table, name)[1] == "ascending"


def test_negative_numbers_are_sorted_as_numbers(browser, files):
    show(browser, files["hostile audit"])
    heading(browser, "#columns-table", "unweighted").click()
    rows, _, _ = browser.execute_script(COLUMN, "#columns-table", "unweighted")
    values = [float(value) for value in rows]
    assert values == sorted(values)
    assert values[0] < 0 < values[-1]


BRIGHTNESS = """
const rgb = (c) => c.match(/[\\d.]+/g).slice(0, 3).map(Number);
const light = (c) => rgb(c).reduce((a, b) => a + b) / 765;
const style = (s, p) => light(getComputedStyle(document.querySelector(s))[p]);
return {page: style("body", "backgroundColor"), text: style("body", "color"),
        paper: style("svg.picture path", "fill"),
        label: style("svg.picture text, svg.picture use", "fill")};
"""


@pytest.mark.parametrize("name", ["select", "audit", "reproduction"])
def test_pages_and_pictures_are_dark_when_the_reader_wants_it(browser, files, name):
    show(browser, files[name], theme="light")
    light = browser.execute_script(BRIGHTNESS)
    show(browser, files[name], theme="dark")
    dark = browser.execute_script(BRIGHTNESS)
    assert light["page"] > 0.9
    assert light["paper"] > 0.9
    assert light["text"] < 0.3
    assert light["label"] < 0.5
    assert dark["page"] < 0.1
    assert dark["paper"] < 0.15
    assert dark["text"] > 0.8
    assert dark["label"] > 0.6
