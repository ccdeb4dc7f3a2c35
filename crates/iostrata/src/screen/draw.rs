//! What the screen shows: progress, rates over time, latencies as a heat map, the jobs.

use iostrata_report::number::{Base, short};
use iostrata_result::derive::{self, Report};
use iostrata_result::{JobTimeline, RunResult, TimelinePoint};
use iostrata_run::{Plan, Progress, State};
use iostrata_stats::histogram::bin_range;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Cell, Gauge, Paragraph, Row, Sparkline, Table};

/// Shades of the heat map, from the faintest.
const SHADES: [char; 4] = ['░', '▒', '▓', '█'];

/// All that is shown.
#[derive(Default)]
pub(crate) struct Picture {
    /// Names of the workers' jobs.
    names: Vec<String>,
    pub(crate) progress: Progress,
    pub(crate) run: Option<RunResult>,
    pub(crate) said: String,
}

impl Picture {
    pub(crate) fn planned(&mut self, plan: &Plan) {
        self.names = plan.workers.iter().map(|worker| worker.job.name.clone()).collect();
    }

    pub(crate) fn draw(&self, frame: &mut Frame<'_>) {
        let area = frame.area();
        // 80 × 24: one line of state, one of progress, then a third for each.
        let rows = Layout::vertical([
            Constraint::Length(1),
            Constraint::Length(1),
            Constraint::Length(7),
            Constraint::Min(5),
            Constraint::Length(self.job_lines(area.height)),
            Constraint::Length(1),
        ]);
        let [head, gauge, rates, heat, jobs, said] = rows.areas(area);
        frame.render_widget(Paragraph::new(self.head()), head);
        self.gauge(frame, gauge);
        let [left, right] = Layout::horizontal([Constraint::Fill(1), Constraint::Fill(1)]).areas(rates);
        self.rates(frame, left, "Throughput", TimelinePoint::bytes_per_second, |rate| {
            format!("{}B/s", short(rate.into(), 4, Base::Binary))
        });
        self.rates(frame, right, "IOPS", TimelinePoint::ios_per_second, |rate| short(rate.into(), 4, Base::Decimal));
        self.heat(frame, heat);
        self.jobs(frame, jobs);
        frame.render_widget(Paragraph::new(self.said.as_str()).style(Style::new().fg(Color::Yellow)), said);
    }

    /// Lines of the table: two of head and frame, and the jobs, but never more than a third of the screen.
    fn job_lines(&self, height: u16) -> u16 {
        let jobs = self.run.as_ref().map_or(self.names.len(), |run| derive::reports(run).len()).max(1);
        u16::try_from(jobs + 2).unwrap_or(u16::MAX).min(height / 3).max(3)
    }

    fn head(&self) -> Line<'_> {
        let count = |wanted: fn(State) -> bool| self.progress.states.iter().filter(|state| wanted(**state)).count();
        let running = count(|state| matches!(state, State::Running | State::Verifying | State::Syncing));
        let (ramp, failed) = (count(|state| state == State::Ramp), count(|state| state == State::Failed));
        let mut words = vec![
            Span::styled("iostrata", Style::new().add_modifier(Modifier::BOLD)),
            Span::raw(format!("  {running} of {} jobs running", self.names.len())),
        ];
        if ramp > 0 {
            words.push(Span::raw(format!(", {ramp} in their ramp")));
        }
        if failed > 0 {
            words.push(Span::styled(format!(", {failed} failed"), Style::new().fg(Color::Red)));
        }
        let left = match self.progress.seconds_left {
            Some(seconds) => format!("  {} left", clock(seconds)),
            None => String::new(),
        };
        words.push(Span::raw(format!("  {} files open{left}", self.progress.open_files)));
        Line::from(words)
    }

    fn gauge(&self, frame: &mut Frame<'_>, area: Rect) {
        let (share, label) = match self.progress.layout {
            Some(laid) if laid.bytes_in_all > 0 => (
                laid.bytes as f64 / laid.bytes_in_all as f64,
                format!("laying out {} of {} MiB", laid.bytes >> 20, laid.bytes_in_all >> 20),
            ),
            Some(laid) => (
                laid.files as f64 / laid.files_in_all.max(1) as f64,
                format!("laying out file {} of {}", laid.files, laid.files_in_all),
            ),
            None => match self.progress.done {
                Some(share) => (share, format!("{:.0}%", share * 100.0)),
                None => (0.0, "nobody can tell how long it takes".to_owned()),
            },
        };
        let gauge =
            Gauge::default().ratio(share.clamp(0.0, 1.0)).label(label).gauge_style(Style::new().fg(Color::Blue));
        frame.render_widget(gauge, area);
    }

    /// The windows of all jobs.
    fn timelines(&self) -> impl Iterator<Item = &JobTimeline> {
        self.run.iter().filter_map(|run| run.timeline.as_ref()).flat_map(|timeline| &timeline.jobs)
    }

    /// From when to when the windows reach, nanoseconds, and how long most of them are.
    fn window_ns(&self) -> (u64, u64) {
        let end = self.timelines().flat_map(|job| job.points.last()).map(|point| point.end_ns).max().unwrap_or(0);
        let each = self.run.iter().filter_map(|run| run.timeline.as_ref()).map(|timeline| timeline.window_ns).max();
        (end, each.unwrap_or(1).max(1))
    }

    /// The last windows, one a column: what `value` adds up to over all jobs.
    fn columns(&self, columns: u16, value: impl Fn(&TimelinePoint) -> f64) -> Vec<u64> {
        let (end_ns, each_ns) = self.window_ns();
        let mut sums = vec![0.0; columns.into()];
        for point in self.timelines().flat_map(|job| &job.points) {
            for sum in &mut sums[columns_of(point, end_ns, each_ns, columns.into())] {
                *sum += value(point);
            }
        }
        sums.into_iter().map(|sum| sum as u64).collect()
    }

    fn rates(
        &self,
        frame: &mut Frame<'_>,
        area: Rect,
        name: &str,
        rate: fn(&TimelinePoint, &iostrata_result::PointDirection) -> f64,
        shown: impl Fn(u64) -> String,
    ) {
        let total = |point: &TimelinePoint| point.directions().into_iter().flatten().map(|row| rate(point, row)).sum();
        let values = self.columns(area.width.saturating_sub(2), total);
        let highest = values.iter().copied().max().unwrap_or(0);
        let now = match name {
            "IOPS" => self.progress.ios_per_second.iter().sum(),
            _ => self.progress.bytes_per_second.iter().sum(),
        };
        let title = format!(" {name}: {} now, {} at most ", shown(now), shown(highest));
        let chart = Sparkline::default().block(Block::bordered().title(title)).data(&values);
        frame.render_widget(chart.style(Style::new().fg(Color::Cyan)), area);
    }

    /// Latencies over time: a column a window, rows by powers of ten.
    fn heat(&self, frame: &mut Frame<'_>, area: Rect) {
        const LABEL: u16 = 8;
        let block = Block::bordered().title(" Latency ");
        let inner = block.inner(area);
        frame.render_widget(block, area);
        let (width, height) = (inner.width.saturating_sub(LABEL) as usize, inner.height as usize);
        let (end_ns, each_ns) = self.window_ns();
        let mut cells: Vec<(usize, f64, u64)> = Vec::new();
        for point in self.timelines().flat_map(|job| &job.points) {
            for column in columns_of(point, end_ns, each_ns, width) {
                for row in point.directions().into_iter().flatten() {
                    let of =
                        |&(bin, count): &(u16, u64)| (column, (*bin_range(bin.into()).start() as f64).max(1.0), count);
                    cells.extend(row.latency.0.iter().map(of));
                }
            }
        }
        let (low, high) =
            cells.iter().fold((f64::MAX, 1.0_f64), |(low, high), cell| (low.min(cell.1), high.max(cell.1)));
        if cells.is_empty() || height == 0 {
            frame.render_widget(Paragraph::new("no latencies yet"), inner);
            return;
        }
        let (low, high) = (low.log10().floor(), (high * 1.01).log10().ceil());
        let row_of = |ns: f64| ((ns.log10() - low) / (high - low) * height as f64) as usize;
        let mut counts = vec![vec![0u64; width]; height];
        for (column, ns, count) in cells {
            counts[row_of(ns).min(height - 1)][column] += count;
        }
        let most = counts.iter().flatten().copied().max().unwrap_or(1).max(1);
        let shade = |count: u64| match count {
            0 => ' ',
            _ => SHADES[(((count as f64).ln_1p() / (most as f64).ln_1p()) * 3.0).round() as usize],
        };
        let lines = counts.iter().enumerate().rev().map(|(row, counts)| {
            let edge = 10f64.powf(low + (high - low) * row as f64 / height as f64);
            let label = Span::raw(format!("{:>7} ", iostrata_report::html::duration(edge)));
            let drawn: String = counts.iter().map(|count| shade(*count)).collect();
            Line::from(vec![label, Span::styled(drawn, Style::new().fg(Color::Magenta))])
        });
        frame.render_widget(Paragraph::new(lines.collect::<Vec<_>>()), inner);
    }

    fn jobs(&self, frame: &mut Frame<'_>, area: Rect) {
        let heads = ["job", "state", "direction", "bandwidth", "IOPS", "mean", "p99", "flying"];
        let rows: Vec<Row<'_>> = match &self.run {
            Some(run) => derive::reports(run).iter().flat_map(|report| self.job_rows(report)).collect(),
            None => self.names.iter().map(|name| Row::new([Cell::from(name.clone()), Cell::from("waiting")])).collect(),
        };
        let widths = [
            Constraint::Fill(1),
            Constraint::Length(9),
            Constraint::Length(9),
            Constraint::Length(11),
            Constraint::Length(7),
            Constraint::Length(8),
            Constraint::Length(8),
            Constraint::Length(9),
        ];
        let (room, count) = (usize::from(area.height.saturating_sub(1)), rows.len());
        let mut rows = rows;
        if count > room {
            rows.truncate(room.saturating_sub(1));
            rows.push(Row::new([format!("and {} more", count - rows.len())]));
        }
        let head = Row::new(heads).style(Style::new().add_modifier(Modifier::BOLD));
        frame.render_widget(Table::new(rows, widths).header(head).column_spacing(1), area);
    }

    fn job_rows(&self, report: &Report<'_>) -> Vec<Row<'static>> {
        let first = report.members.first().map_or(0, |worker| worker.thread_number.saturating_sub(1)) as usize;
        let state = self.progress.states.get(first).copied().unwrap_or(State::NotStarted);
        let members = report.members.iter().map(|worker| worker.thread_number.saturating_sub(1) as usize);
        let flying: u32 = members.filter_map(|member| self.progress.in_flight.get(member)).sum();
        let in_flight = format!("{flying} of {}", u64::from(report.job.depth) * u64::from(report.jobs));
        let used = report.directions.iter().filter(|row| !row.is_empty());
        let rows: Vec<Row<'static>> = used
            .map(|row| {
                let (_, latency) = row.chief_latency();
                let p99 = latency.percentile(99.0);
                Row::new([
                    report.job.name.clone(),
                    word(state).to_owned(),
                    row.kind.name().to_owned(),
                    format!("{}B/s", short(row.bw_bytes().into(), 4, Base::Binary)),
                    short(row.iops().round() as u128, 4, Base::Decimal),
                    iostrata_report::html::duration(latency.mean_ns()),
                    p99.map_or_else(String::new, |ns| iostrata_report::html::duration(ns as f64)),
                    in_flight.clone(),
                ])
            })
            .collect();
        if rows.is_empty() { vec![Row::new([report.job.name.clone(), word(state).to_owned()])] } else { rows }
    }
}

/// The columns, of so many that end with the last window, whose middle lies in a window: a look that came late makes a
/// window wider, and leaves no gap.
fn columns_of(point: &TimelinePoint, end_ns: u64, each_ns: u64, columns: usize) -> std::ops::Range<usize> {
    let back = |ns: u64| (2 * end_ns.saturating_sub(ns)).saturating_sub(each_ns).div_ceil(2 * each_ns) as usize;
    columns.saturating_sub(back(point.start_ns))..columns.saturating_sub(back(point.end_ns))
}

fn word(state: State) -> &'static str {
    match state {
        State::NotStarted => "waiting",
        State::SettingUp => "opening",
        State::Ready => "ready",
        State::Ramp => "ramp",
        State::Running => "running",
        State::Verifying => "verifying",
        State::Syncing => "syncing",
        State::Finishing => "finishing",
        State::Ended => "done",
        State::Failed => "failed",
    }
}

/// Minutes and seconds, with hours or days where there are any.
fn clock(seconds: u64) -> String {
    let (days, hours, minutes, rest) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    match (days, hours) {
        (0, 0) => format!("{minutes}:{rest:02}"),
        (0, hours) => format!("{hours}:{minutes:02}:{rest:02}"),
        (days, hours) => format!("{days} d {hours}:{minutes:02}:{rest:02}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_look_widens_a_window_and_leaves_no_gap() {
        let point = |start_ns, end_ns| TimelinePoint { start_ns, end_ns, ..TimelinePoint::default() };
        // Four columns of 100 that end at 1000; the third look came late.
        let columns = [point(600, 700), point(700, 800), point(800, 960), point(960, 1000)];
        let columns: Vec<_> = columns.iter().map(|point| columns_of(point, 1000, 100, 4)).collect();
        assert_eq!(columns, [0..1, 1..2, 2..4, 4..4]);
        assert_eq!(columns_of(&point(0, 100), 1000, 100, 4), 0..0, "long gone");
    }

    #[test]
    fn no_time_is_too_long_for_the_clock() {
        let shown: Vec<String> = [0, 61, 3_600, 86_400 * 3 + 61, u64::MAX].map(clock).into();
        assert_eq!(shown[..4], ["0:00", "1:01", "1:00:00", "3 d 0:01:01"]);
        assert!(shown[4].starts_with("213503982334601 d"), "{}", shown[4]);
    }

    #[test]
    fn jobs_that_have_no_room_are_counted() {
        let names = (0..100).map(|number| format!("job{number}")).collect();
        let picture = Picture { names, ..Picture::default() };
        let mut terminal = ratatui::Terminal::new(ratatui::backend::TestBackend::new(80, 24)).expect("a terminal");
        terminal.draw(|frame| picture.draw(frame)).expect("a picture");
        let text = terminal.backend().to_string();
        assert!(text.contains("job0 ") && text.contains("and 94 more") && !text.contains("job6 "), "{text}");
    }

    #[test]
    fn it_draws_on_any_terminal_and_with_nothing_to_show() {
        for (width, height) in [(80, 24), (10, 3), (1, 1), (200, 60)] {
            let backend = ratatui::backend::TestBackend::new(width, height);
            let mut terminal = ratatui::Terminal::new(backend).expect("a terminal");
            terminal.draw(|frame| Picture::default().draw(frame)).expect("a picture");
        }
    }
}
