"""A headless Chromium with one page of `nsatune report`."""
import json
import os
import shutil
import time


def missing():
    """What this machine lacks for the test, or nothing."""
    try:
        import selenium  # noqa: F401
    except ImportError:
        return "python3-selenium"
    for name in ("chromium", "chromedriver"):
        if not shutil.which(name):
            return name
    return None if os.path.isdir("/usr/share/javascript/vega") else "libjs-vega"


class Browser:
    """One Chromium for all tests."""

    def __init__(self, screenshots=None):
        self.screenshots = screenshots
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service
        options = webdriver.ChromeOptions()
        for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1200,900"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))

    def open(self, path, place=""):
        self.driver.get("about:blank")  # so that another place in the address loads anew
        for log in ("browser", "performance"):
            self.driver.get_log(log)
        self.driver.get("file://" + str(path) + place)
        self.wait("return document.body.dataset.ready !== undefined")

    def js(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def wait(self, script, seconds=20):
        end = time.monotonic() + seconds
        while not self.js(script):
            assert time.monotonic() < end, f"never: {script}; {self.driver.get_log('browser')}"
            time.sleep(0.02)

    def requests(self):
        """Addresses that the page asked for, itself left out."""
        messages = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        asked = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
        return [url for url in asked if not url.startswith(("data:", "about:")) and ".html" not in url]

    def marks(self, figure, name):
        """Items with a shape of one mark of a plot."""
        return self.js("return document.querySelectorAll(`#${arguments[0]} g.${arguments[1]}-marks > *`).length",
                       figure, name)

    def table_rows(self, figure):
        """Texts of the cells of a plot's table, which is opened by the keyboard."""
        from selenium.webdriver.common.keys import Keys
        self.driver.find_element("css selector", f"#{figure} summary").send_keys(Keys.ENTER)
        self.wait(f"return document.querySelector('#{figure} table') !== null")
        return self.js("""return [...document.querySelectorAll(`#${arguments[0]} tbody tr`)].map(
            row => [...row.cells].map(cell => cell.textContent))""", figure)

    def emulate(self, width, dark):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                    {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600})
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})

    def screenshot(self, name):
        if self.screenshots:
            time.sleep(0.4)
            self.driver.save_screenshot(os.path.join(self.screenshots, name))
