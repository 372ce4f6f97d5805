"""A real browser for the tests: Debian's chromium, headless, without a network."""

import base64
import json
import shutil
import tempfile
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.ui import WebDriverWait

FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-dev-shm-usage",
    "--force-color-profile=srgb",
    "--hide-scrollbars",
    "--window-size=1200,900",
]


def missing() -> str:
    """Why there is no browser; empty when there is one."""
    wanted = ("chromium", "chromedriver")
    lacking = [name for name in wanted if shutil.which(name) is None]
    if not lacking:
        return ""
    return f"no {' and no '.join(lacking)} here: apt-get install chromium chromium-driver"


class Browser:
    """The driver, with what tests ask of a page."""

    def __init__(self) -> None:
        self.profile = tempfile.TemporaryDirectory(prefix="fairshapley-browser-")
        options = Options()
        options.binary_location = shutil.which("chromium") or ""
        for flag in [*FLAGS, f"--user-data-dir={self.profile.name}"]:
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        # The driver's path is given, so that selenium looks for none on the network.
        service = Service(executable_path=shutil.which("chromedriver"))
        self.driver = webdriver.Chrome(options=options, service=service)
        self.driver.set_page_load_timeout(60)
        self.driver.set_script_timeout(30)
        self.command("Network.enable")
        self.kept: Path | None = None
        """The page that several tests share, while it is open"""

    def close(self) -> None:
        self.driver.quit()
        self.profile.cleanup()

    def command(self, name, **arguments):
        """A command of the browser's debugging protocol."""
        return self.driver.execute_cdp_cmd(name, arguments)

    def script(self, text, *arguments):
        return self.driver.execute_script(text, *arguments)

    def size(self, width, height, *, phone=False):
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone}
        self.command("Emulation.setDeviceMetricsOverride", **metrics)

    def theme(self, name="light", media=""):
        # Without motion, what is scrolled to is there at once.
        features = [
            {"name": "prefers-color-scheme", "value": name},
            {"name": "prefers-reduced-motion", "value": "reduce"},
        ]
        self.command("Emulation.setEmulatedMedia", media=media, features=features)

    def open(self, path: Path, *, theme="light", width=1200, height=900, scripts=True):
        self.kept = None
        self.driver.get("about:blank")
        self.command("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.theme(theme)
        self.size(width, height, phone=width < 500)
        self.requests()
        self.complaints()
        self.driver.get(path.resolve().as_uri())
        if scripts:
            whole = "return document.readyState == 'complete'"
            WebDriverWait(self.driver, 30).until(lambda driver: driver.execute_script(whole))

    def requests(self) -> list[str]:
        """The addresses asked for since the last call."""
        events = [
            json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")
        ]
        return [
            event["params"]["request"]["url"]
            for event in events
            if event["method"] == "Network.requestWillBeSent"
        ]

    def complaints(self) -> list[str]:
        """What the console has said since the last call."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def screenshot(self, path: Path, *, whole=True) -> None:
        picture = self.command("Page.captureScreenshot", captureBeyondViewport=whole, format="png")
        path.write_bytes(base64.b64decode(picture["data"]))
