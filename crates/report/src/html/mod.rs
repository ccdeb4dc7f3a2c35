//! The page: one file that holds all it needs. It reads without a script, which only makes its charts zoomable.

mod chart;
mod job;
mod numbers;
mod over_time;
mod page;
mod scale;

use iostrata_result::derive::{self, Report};
use iostrata_result::{JobTimeline, RunResult};

use self::page::{escape, facts, table, term};
use crate::RenderOptions;
use crate::date::ctime;

const STYLE: &str = include_str!("../../assets/page.css");
const SCRIPT: &str = include_str!("../../assets/page.js");
const UPLOT: &str = include_str!("../../assets/uPlot.iife.min.js");
const UPLOT_STYLE: &str = include_str!("../../assets/uPlot.min.css");
const UPLOT_LICENCE: &str = include_str!("../../assets/uPlot-LICENSE");
/// Entries with a section of their own; a page with more would be too large to open.
const MOST_SECTIONS: usize = 40;

/// The page of a run.
pub fn render(run: &RunResult, options: &RenderOptions) -> String {
    let reports = derive::reports(run);
    let title = title(&reports);
    let mut html = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta name=\"color-scheme\" content=\"light dark\"><meta name=\"generator\" content=\"iostrata\">\
         <link rel=\"icon\" href=\"data:,\"><title>{0}</title><style>{UPLOT_STYLE}{STYLE}</style></head><body>\
         <a class=\"skip\" href=\"#main\">To the numbers</a><header><h1>{0}</h1><p>{1}</p></header>\
         <main id=\"main\" tabindex=\"-1\">",
        escape(&title),
        escape(&begun(run, options))
    );
    html += &notes(run);
    html += &summary(&reports);
    for (number, report) in reports.iter().take(MOST_SECTIONS).enumerate() {
        html += &job::section(number, report, timeline_of(run, report));
    }
    html += &disks(run);
    html += &environment(run);
    html += &numbers::section();
    html += &format!(
        "</main><footer><p>Made by iostrata {}. Charts zoom with uPlot:</p><pre>{}</pre></footer>\
         <script>{UPLOT}</script><script>{SCRIPT}</script></body></html>\n",
        env!("CARGO_PKG_VERSION"),
        escape(UPLOT_LICENCE)
    );
    html
}

/// Nanoseconds in the unit in which they have one to three digits before the point: `12.3 µs`.
pub fn duration(ns: f64) -> String {
    scale::duration(ns)
}

/// A page in the place of one that cannot be made yet.
pub fn waiting(sentence: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>iostrata</title>\
         <link rel=\"icon\" href=\"data:,\"><style>{STYLE}</style></head><body><main><h1>{}</h1></main></body>\
         </html>\n",
        escape(sentence)
    )
}

fn title(reports: &[Report<'_>]) -> String {
    match reports {
        [] => "A run without jobs".to_owned(),
        [only] => format!("Result of {}", only.job.name),
        [first, ..] => format!("Result of {} and {} more", first.job.name, reports.len() - 1),
    }
}

fn begun(run: &RunResult, options: &RenderOptions) -> String {
    let when = ctime(run.started_unix_ms, &options.time_zone);
    let host = if run.host.name.is_empty() { String::new() } else { format!(" on {}", run.host.name) };
    format!("Begun {when}{host}.")
}

/// The timeline of an entry: that of the job of its first member.
fn timeline_of<'a>(run: &'a RunResult, report: &Report<'_>) -> Option<&'a JobTimeline> {
    run.timeline.as_ref()?.jobs.iter().find(|job| job.index == report.job.index)
}

fn notes(run: &RunResult) -> String {
    let mut section = "<section aria-labelledby=\"notes\"><h2 id=\"notes\">Read this first</h2>".to_owned();
    if run.notes.is_empty() {
        section += "<p>No note was made about this run.</p>";
    } else {
        section += "<ul class=\"notes\">";
        for note in &run.notes {
            let job = note.job.as_ref().map_or(String::new(), |job| format!("<strong>{}:</strong> ", escape(job)));
            section += &format!("<li>{job}{}</li>", escape(&note.text));
        }
        section += "</ul>";
    }
    section + "</section>"
}

fn summary(reports: &[Report<'_>]) -> String {
    let heads = [
        "Job".to_owned(),
        "Direction".into(),
        term("Bandwidth", "bandwidth"),
        term("IOPS", "iops"),
        term("Latency", "clat"),
        "Mean".into(),
        term("p99", "percentiles"),
    ];
    let rows: Vec<Vec<String>> =
        reports.iter().enumerate().flat_map(|(number, report)| rows_of(number, report)).collect();
    let mut section = "<section aria-labelledby=\"summary\"><h2 id=\"summary\">Summary</h2>".to_owned();
    section += &table("All jobs", &heads, &rows);
    if rows.is_empty() {
        section += "<p>Nothing was moved.</p>";
    }
    if reports.len() > MOST_SECTIONS {
        section += &format!("<p>The first {MOST_SECTIONS} of {} jobs have sections of their own.</p>", reports.len());
    }
    section + "</section>"
}

fn rows_of(number: usize, report: &Report<'_>) -> Vec<Vec<String>> {
    let style = crate::number::Style::default();
    let row = |row: &derive::Direction| {
        let name = escape(&report.job.name);
        let name = if number < MOST_SECTIONS { format!("<a href=\"#job{number}\">{name}</a>") } else { name };
        let (kind, latency) = row.chief_latency();
        vec![
            name,
            row.kind.name().to_owned(),
            style.rate(row.bw_bytes()),
            style.count(row.iops().round() as u64),
            kind.to_owned(),
            scale::duration(latency.mean_ns()),
            job::shown_percentile(latency, 99.0),
        ]
    };
    report.directions.iter().filter(|row| !row.is_empty()).map(row).collect()
}

fn disks(run: &RunResult) -> String {
    let heads = ["Disk", "Reads", "Writes", "Merges", "Milliseconds in the queue"].map(str::to_owned);
    let heads: Vec<String> = heads.into_iter().chain([term("Utilisation", "disks")]).collect();
    let list = derive::disks(run);
    let row = |disk: &derive::Disk<'_>| {
        let used = disk.used;
        vec![
            escape(&used.name),
            used.ios[0].to_string(),
            used.ios[1].to_string(),
            used.merges.iter().sum::<u64>().to_string(),
            used.in_queue_ms.to_string(),
            format!("{:.2}%", disk.util_percent),
        ]
    };
    let rows: Vec<Vec<String>> =
        list.iter().flat_map(|disk| std::iter::once(disk).chain(&disk.members)).map(row).collect();
    if rows.is_empty() {
        return String::new();
    }
    format!("<section aria-labelledby=\"disks\"><h2 id=\"disks\">Disks</h2>{}</section>", table("Disks", &heads, &rows))
}

fn environment(run: &RunResult) -> String {
    let host = &run.host;
    let cpus = if host.cpus == 0 { String::new() } else { format!("{} × {}", host.cpus, host.arch) };
    let clock = match host.clock.as_str() {
        "" => String::new(),
        clock => format!("{clock}, a stamp is at most {} ns off", host.clock_error_ns),
    };
    let mut section = "<section aria-labelledby=\"environment\"><h2 id=\"environment\">Environment</h2>".to_owned();
    section += &facts(&[
        ("Program", run.tool_version.clone()),
        ("Host", host.name.clone()),
        ("System", host.os.clone()),
        ("Processors", cpus),
        ("Clock", clock),
        ("Command line", run.command_line.join(" ")),
    ]);
    let mut text = String::new();
    if !run.global_options.is_empty() {
        text += &job::job_text("global", &run.global_options);
    }
    let first_clones = run.workers.iter().filter(|worker| worker.clone == 0).take(MOST_SECTIONS);
    first_clones.for_each(|worker| text += &job::job_text(&worker.job.name, &worker.job.options));
    let text = escape(&text);
    section + &format!("<h3>Jobs</h3><pre tabindex=\"0\" aria-label=\"Jobs as a job file\">{text}</pre></section>")
}
