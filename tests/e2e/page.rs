//! The page in a browser, without a window.

use std::process::Command;

use super::lab::Lab;
use super::require::require;

#[test]
fn a_browser_draws_the_charts() {
    let Some(browser) = require("chromium") else { return };
    let Some(lab) = Lab::loaded() else { return };
    lab.run("out", &["warmup=1s", "duration=2s"]);
    let page = lab.path("out/report.html");
    let rendered = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
        .args(["--enable-logging=stderr", "--v=0", "--virtual-time-budget=5000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", lab.path("browser").display()))
        .arg(format!("file://{}", page.display()))
        .env("HOME", lab.path("."))
        .output()
        .unwrap();
    let (dom, log) = (String::from_utf8_lossy(&rendered.stdout), String::from_utf8_lossy(&rendered.stderr));
    assert!(rendered.status.success(), "{log}");
    assert!(!log.contains("Uncaught") && !log.contains("CONSOLE:ERROR"), "{log}");
    let charts = dom.matches("<svg").count();
    assert!(charts >= 6, "only {charts} charts");
    assert!(dom.contains("</html>") && dom.contains("complete"), "{dom}");
    for text in ["NaN", "undefined", "http://", "https://"] {
        let outside = dom.replace("http://www.w3.org", "");
        assert!(!outside.contains(text), "the page holds {text:?}");
    }
}
