//! The page in a real browser: headless Chromium, with its scripts and without, in light and in dark.

#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};

use iostrata_testkit::python::{environment, file_of};
use iostrata_testkit::{Folder, iostrata, run, skip, which};
use serde_json::Value;

/// A page of ten minutes with four jobs may have a megabyte.
const MOST_BYTES: usize = 1 << 20;

/// Two jobs, one with a name that is a trap for a careless page.
fn page(folder: &Folder) -> PathBuf {
    let words = "--ioengine=null --time_based --runtime=1500ms --size=1g --bs=4k --html=page.html --output=/dev/null";
    let first = ["--name=<script>alert(1)</script> & \"ünïcode\"", "--rw=randrw", "--rate_iops=20k"];
    let second = ["--name=other", "--rw=write", "--stonewall", "--iodepth=8"];
    let words: Vec<&str> = words.split(' ').collect();
    let arguments = [&first[..1], &words, &first[1..], &second[..1], &words[..5], &second[1..]].concat();
    let output = run(iostrata(), &arguments, folder.path());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    folder.path().join("page.html")
}

/// What Chromium makes of a page, and what its console said.
struct Seen {
    dom: String,
    console: Vec<String>,
}

fn look(page: &Path, folder: &Folder, more: &[&str]) -> Seen {
    let profile = format!("--user-data-dir={}", folder.path().join("profile").display());
    let address = format!("file://{}", page.display());
    let common = ["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--window-size=1000,1400"];
    let last = ["--virtual-time-budget=8000", "--dump-dom", &profile, &address];
    let output = run("chromium", &[&common[..], more, &last].concat(), folder.path());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let console = said.lines().filter(|line| line.contains("CONSOLE")).map(str::to_owned).collect();
    Seen { dom: String::from_utf8_lossy(&output.stdout).into_owned(), console }
}

/// Blink's number of a colour scheme.
const SCHEMES: [(&str, &str); 2] =
    [("light", "--blink-settings=preferredColorScheme=1"), ("dark", "--blink-settings=preferredColorScheme=0")];

#[test]
fn the_page_draws_its_charts_without_a_word_on_the_console_or_on_the_network() {
    if which("chromium").is_none() {
        skip!("the page in a browser", "apt-get install chromium");
    }
    let folder = Folder::new("browser");
    let page = page(&folder);
    let text = std::fs::read_to_string(&page).expect("a page");
    assert!(text.len() < MOST_BYTES, "{} bytes", text.len());
    assert!(!text.contains("<script>alert"), "a job's name became a script");
    let shots = Path::new(env!("CARGO_TARGET_TMPDIR")).join("page");
    std::fs::create_dir_all(&shots).expect("a folder");
    for (name, scheme) in SCHEMES {
        let net = format!("--log-net-log={}", folder.path().join("net.json").display());
        let seen = look(&page, &folder, &[scheme, &net]);
        assert_eq!(seen.console, Vec::<String>::new(), "{name}");
        // Six charts of lines: throughput and I/Os of both jobs, latencies of reads and writes … each drawn anew.
        assert!(seen.dom.matches("class=\"uplot").count() >= 6, "{name}: {}", seen.dom.matches("uplot").count());
        let log = std::fs::read_to_string(folder.path().join("net.json")).expect("a log");
        let own = ["http://", "https://"].iter().flat_map(|scheme| log.match_indices(scheme));
        let asked: Vec<&str> = own.filter_map(|(at, _)| log[at..].split(['"', '\\']).next()).collect();
        // Chromium itself asks its maker for updates and lists; never this page's doing, but its name must not occur.
        assert!(asked.iter().all(|address| address.contains("google") || address.contains("gvt1")), "{asked:?}");
        let shot = format!("--screenshot={}", shots.join(format!("{name}.png")).display());
        let address = format!("file://{}", page.display());
        let profile = format!("--user-data-dir={}", folder.path().join("profile").display());
        let words = ["--headless", "--no-sandbox", "--disable-gpu", scheme, "--window-size=1000,3000", &shot];
        let output = run(
            "chromium",
            &[&words[..], &["--virtual-time-budget=3000", &profile, &address]].concat(),
            Path::new("/"),
        );
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let picture = std::fs::read(shots.join(format!("{name}.png"))).expect("a picture");
        assert!(picture.starts_with(b"\x89PNG") && picture.len() > 50_000, "{name}: {} bytes", picture.len());
    }
}

#[test]
fn without_scripts_every_chart_and_table_is_there() {
    if which("chromium").is_none() {
        skip!("the page without scripts", "apt-get install chromium");
    }
    let folder = Folder::new("browser-plain");
    let text = std::fs::read_to_string(page(&folder)).expect("a page");
    // Chromium's own dump needs scripts: they are taken out of the page instead.
    let plain = folder.path().join("plain.html");
    std::fs::write(&plain, format!("{}</body></html>", without_scripts(&text))).expect("a page");
    let seen = look(&plain, &folder, &[]);
    assert!(!seen.dom.contains("class=\"uplot"), "scripts ran");
    assert!(seen.dom.matches("<svg").count() >= 10, "{} charts", seen.dom.matches("<svg").count());
    assert!(seen.dom.matches("<table").count() >= 6, "{} tables", seen.dom.matches("<table").count());
    for word in ["Read this first", "Summary", "Environment", "What the numbers are"] {
        assert!(seen.dom.contains(word), "{word}");
    }
}

/// The page up to its scripts, which are the last that it has.
fn without_scripts(page: &str) -> &str {
    page.split_once("<script>").expect("scripts").0
}

/// The page with the checker in it, which leaves what it found in an element of its own.
fn with_checker(page: &Path, checker: &Path, folder: &Folder, scripts: bool) -> PathBuf {
    let text = std::fs::read_to_string(page).expect("a page");
    let checker = std::fs::read_to_string(checker).expect("the checker");
    let page = without_scripts(&text);
    let own = if scripts { &text[page.len()..] } else { "" };
    let run = "axe.run().then((found) => { const told = document.createElement('template'); told.id = 'axe'; \
               told.setAttribute('data-found', JSON.stringify(found.violations.map((v) => ({ id: v.id, \
               impact: v.impact, \
               nodes: v.nodes.map((n) => n.html).slice(0, 3) })))); document.documentElement.append(told); });";
    let checked =
        format!("{page}{own}<script>{checker}</script><script>addEventListener('load', () => {{ {run} }});</script>");
    let path = folder.path().join("checked.html");
    std::fs::write(&path, checked).expect("a page");
    path
}

#[test]
fn whoever_cannot_see_it_or_has_no_mouse_can_use_it() {
    if which("chromium").is_none() {
        skip!("the page by axe", "apt-get install chromium");
    }
    let Some(environment) = environment(env!("CARGO_TARGET_TMPDIR")) else {
        skip!("the page by axe", "python3 with venv, and its registry")
    };
    let checker = file_of(environment, "axe_core_python", "axe.min.js").expect("axe");
    let folder = Folder::new("browser-axe");
    let page = page(&folder);
    for scripts in [true, false] {
        let checked = with_checker(&page, &checker, &folder, scripts);
        for (name, scheme) in SCHEMES {
            let seen = look(&checked, &folder, &[scheme]);
            let start = seen.dom.find("data-found=\"").expect("the checker's answer") + "data-found=\"".len();
            let found = seen.dom[start..].split('"').next().unwrap_or_default();
            let found = found.replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
            let found: Value = serde_json::from_str(&found).expect("JSON");
            let grave = |finding: &&Value| matches!(finding["impact"].as_str(), Some("serious" | "critical"));
            let grave: Vec<&Value> = found.as_array().expect("findings").iter().filter(grave).collect();
            assert!(grave.is_empty(), "{name}, scripts {scripts}: {grave:#?}");
        }
    }
}
