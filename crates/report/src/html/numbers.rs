//! What each number is: the pages of `docs/numbers/`, within the page that uses their words.

use pulldown_cmark::{Parser, html};

/// The pages: the name that links use, and the text.
macro_rules! pages {
    ($($name:literal)*) => {
        &[$(($name, include_str!(concat!("../../../../docs/numbers/", $name, ".md")))),*]
    };
}

/// All of them, in the order in which a reader meets the words.
pub(super) const NUMBERS: &[(&str, &str)] = pages!(
    "bandwidth" "iops" "slat" "clat" "lat" "lat-intended" "issue-lag" "percentiles" "distribution" "samples" "sync"
    "depth" "cpu" "disks" "timeline" "heat-map" "steady-state" "latency-target"
);

/// The section in which they stand.
pub(super) fn section() -> String {
    let mut section =
        "<section aria-labelledby=\"numbers\" class=\"numbers\"><h2 id=\"numbers\">What the numbers are</h2>"
            .to_owned();
    for (name, text) in NUMBERS {
        let (title, body) = text.split_once('\n').unwrap_or((text, ""));
        let title = super::page::escape(title.trim_start_matches("# "));
        section += &format!("<h3 id=\"number-{name}\" tabindex=\"-1\">{title}</h3>");
        html::push_html(&mut section, Parser::new(body));
    }
    section + "</section>"
}
