//! fio's JSON and JSON+ read as a [`RunResult`]: fio 3.x, the parts of `client_stats` too.
//!
//! fio writes derived figures; the raw ones behind them come back as near as its decimals allow. The bins of JSON+ come
//! back exactly; without them the percentiles are kept [as they were told](crate::LatencyResult::told).

use iostrata_stats::histogram::bin_of;
use serde_json::Value;
use thiserror::Error;

use crate::model::{
    DirectionResult, DiskUse, End, FORMAT_VERSION, HistogramBins, Host, JobFacts, LatencyBuckets, LatencyResult,
    LatencyTarget, Moments, Note, OptionWord, PriorityResult, Reporting, RunResult, SteadyMeasure, SteadySample,
    SteadyState, Tolerated, WorkerResult,
};

/// Why a document of fio's cannot be read.
#[derive(Debug, Error)]
pub enum ImportError {
    /// Not JSON, or cut short.
    #[error("this is not a whole JSON document: {0}")]
    NotJson(#[source] serde_json::Error),
    /// JSON, but of something else.
    #[error("this is no result of fio: it has neither \"jobs\" nor \"client_stats\"")]
    NotFio,
    /// A value of another kind than fio writes there.
    #[error("{place}: {wanted} is expected, and `{found}` is there")]
    Odd {
        /// Where: keys and positions from the top.
        place: String,
        /// What fio writes there.
        wanted: &'static str,
        /// What is there.
        found: String,
    },
}

/// Reads fio's document. Text before it (warnings, banners) is passed over.
///
/// # Errors
/// See [`ImportError`].
pub fn from_fio_json(text: &str) -> Result<RunResult, ImportError> {
    let begins = text.lines().position(|line| line.starts_with('{')).unwrap_or(0);
    let document: String = text.split_inclusive('\n').skip(begins).collect();
    let mut values = serde_json::Deserializer::from_str(&document).into_iter::<Value>();
    let value = match values.next() {
        Some(value) => value.map_err(ImportError::NotJson)?,
        None => return Err(ImportError::NotFio),
    };
    let top = At { value: &value, place: String::new() };
    let (jobs, clients) = (top.get("jobs"), top.get("client_stats"));
    if !jobs.value.is_array() && !clients.value.is_array() {
        return Err(ImportError::NotFio);
    }
    let global_options = top.get("global options").words()?;
    let mut workers = Vec::new();
    for job in jobs.list().into_iter().chain(clients.list()) {
        // The sum of all the others.
        if job.get("jobname").text()? != "All clients" {
            workers.push(worker(&job, &global_options, workers.len())?);
        }
    }
    let taken_unix_ms = match top.get("timestamp_ms").count()? {
        0 => top.get("timestamp").count()?.saturating_mul(1000),
        ms => ms,
    };
    let elapsed_ms = workers.iter().map(|worker: &WorkerResult| worker.elapsed_ns / 1_000_000).max().unwrap_or(0);
    let disks = top.get("disk_util").list().iter().map(disk).collect::<Result<_, _>>()?;
    let program = top.get("fio version").text()?;
    Ok(RunResult {
        format_version: FORMAT_VERSION,
        tool_version: program.clone(),
        started_unix_ms: taken_unix_ms.saturating_sub(elapsed_ms) as i64,
        taken_unix_ms: taken_unix_ms as i64,
        host: Host::default(),
        command_line: Vec::new(),
        global_options,
        workers,
        disks,
        cpu_idleness: None,
        timeline: None,
        notes: vec![Note {
            code: "imported".into(),
            job: None,
            text: format!("made of the JSON of {program}: figures are as near as its decimals allow"),
        }],
        end: End::Finished,
    })
}

/// A value and where it is.
struct At<'a> {
    value: &'a Value,
    place: String,
}

impl<'a> At<'a> {
    /// What is below a key; null if nothing is.
    fn get(&self, key: &str) -> At<'a> {
        let dot = if self.place.is_empty() { "" } else { "." };
        At { value: self.value.get(key).unwrap_or(&Value::Null), place: format!("{}{dot}{key}", self.place) }
    }

    fn list(&self) -> Vec<At<'a>> {
        let items = self.value.as_array().into_iter().flatten().enumerate();
        items.map(|(number, value)| At { value, place: format!("{}[{number}]", self.place) }).collect()
    }

    fn entries(&self) -> impl Iterator<Item = (&'a str, At<'a>)> + use<'_, 'a> {
        let entries = self.value.as_object().into_iter().flatten();
        entries.map(|(key, value)| (key.as_str(), At { value, place: format!("{}.{key}", self.place) }))
    }

    fn odd(&self, wanted: &'static str) -> ImportError {
        ImportError::Odd { place: self.place.clone(), wanted, found: self.value.to_string().chars().take(60).collect() }
    }

    /// A number; 0 where there is none.
    fn float(&self) -> Result<f64, ImportError> {
        match self.value {
            Value::Null => Ok(0.0),
            value => value.as_f64().ok_or_else(|| self.odd("a number")),
        }
    }

    /// A number of things; 0 where there is none.
    fn count(&self) -> Result<u64, ImportError> {
        let wanted = "a number that is not negative";
        match self.value {
            Value::Null => Ok(0),
            value => match value.as_u64() {
                Some(count) => Ok(count),
                None => value.as_f64().filter(|n| *n >= 0.0).map(|n| n.round() as u64).ok_or_else(|| self.odd(wanted)),
            },
        }
    }

    /// A text; an empty one where there is none.
    fn text(&self) -> Result<String, ImportError> {
        match self.value {
            Value::Null => Ok(String::new()),
            value => value.as_str().map(str::to_owned).ok_or_else(|| self.odd("a text")),
        }
    }

    fn words(&self) -> Result<Vec<OptionWord>, ImportError> {
        let word = |(name, value): (&str, At<'_>)| Ok(OptionWord { name: name.to_owned(), value: value.text()? });
        self.entries().map(word).collect()
    }
}

/// What a job was asked to do, by its own options and those of all.
struct Asked<'a>(&'a [OptionWord], &'a [OptionWord]);

impl Asked<'_> {
    fn option(&self, wanted: &str) -> Option<&str> {
        let found = self.0.iter().chain(self.1).find(|word| word.name == wanted);
        found.map(|word| word.value.as_str())
    }

    fn number<T: std::str::FromStr>(&self, wanted: &str) -> Option<T> {
        self.option(wanted)?.parse().ok()
    }
}

fn worker(json: &At<'_>, globals: &[OptionWord], number: usize) -> Result<WorkerResult, ImportError> {
    let options = json.get("job options").words()?;
    let measured_ns = json.get("job_runtime").count()?.saturating_mul(1_000_000);
    let cpu_ns = |key: &str| Ok((json.get(key).float()? / 100.0 * measured_ns as f64).round() as u64);
    // A mixed report keeps no directions apart: all of it counts as reads.
    let read = direction(&json.get("read"))?;
    let read = if read.is_some() { read } else { direction(&json.get("mixed"))? };
    let (write, trim) = (direction(&json.get("write"))?, direction(&json.get("trim"))?);
    let ios = [&read, &write, &trim].into_iter().flatten().map(|direction| direction.ios).sum();
    let shares = |key: &str, all: u64| counts(&[json.get(key)], all, 0.1);
    let elapsed_ns = json.get("elapsed").count()?.saturating_mul(1_000_000_000).max(measured_ns);
    Ok(WorkerResult {
        job: facts(json, options, globals, number)?,
        clone: 0,
        group: json.get("groupid").count()? as u32,
        thread_number: number as u32 + 1,
        pid: 0,
        started_unix_ms: json.get("job_start").count()? as i64,
        elapsed_ns,
        measured_ns,
        error: json.get("error").count()? as i32,
        error_text: None,
        tolerated: Tolerated {
            allowed: !json.get("total_err").value.is_null(),
            total: json.get("total_err").count()?,
            first_error: json.get("first_error").count()? as i32,
        },
        eta_s: Some(0),
        read,
        write,
        trim,
        sync: latency(&json.get("sync").get("lat_ns"))?,
        sync_ios: json.get("sync").get("total_ios").count()?,
        user_cpu_ns: cpu_ns("usr_cpu")?,
        system_cpu_ns: cpu_ns("sys_cpu")?,
        context_switches: json.get("ctx").count()?,
        major_faults: json.get("majf").count()?,
        minor_faults: json.get("minf").count()?,
        depth_counts: shares("iodepth_level", ios)?,
        submit_counts: shares("iodepth_submit", 1_000_000)?,
        complete_counts: shares("iodepth_complete", 1_000_000)?,
        batch_stamp_error_ns: 0,
        latency_buckets: buckets(json, ios)?,
        latency_target: latency_target(json)?,
        steady_state: steady_state(&json.get("steadystate"))?,
        block_lives: None,
        started_clock_ms: None,
        zone_resets: None,
        engine_used: Vec::new(),
        due_not_issued: 0,
        censored: 0,
    })
}

fn latency_target(job: &At<'_>) -> Result<Option<LatencyTarget>, ImportError> {
    let target_ns = job.get("latency_target").count()?;
    let target = LatencyTarget {
        target_ns,
        window_us: job.get("latency_window").count()?,
        percentile: job.get("latency_percentile").float()?,
        depth: job.get("latency_depth").count()? as u32,
    };
    Ok((target_ns > 0).then_some(target))
}

/// The search for steady state: fio tells rates, so each sample is taken for a second.
fn steady_state(json: &At<'_>) -> Result<Option<SteadyState>, ImportError> {
    if json.value.is_null() {
        return Ok(None);
    }
    let criterion = json.get("ss").text()?;
    let (series, limit) = criterion.split_once(':').unwrap_or((&criterion, "0"));
    let measure = match series.trim_end_matches("_slope") {
        "iops" => SteadyMeasure::Iops,
        "bw" => SteadyMeasure::Bandwidth,
        "lat" => SteadyMeasure::Latency,
        _ => return Err(json.get("ss").odd("iops, bw or lat, and a limit")),
    };
    let data = json.get("data");
    let list = |key: &str| data.get(key).list().iter().map(At::count).collect::<Result<Vec<u64>, _>>();
    let (iops, bytes, latencies_ns) = (list("iops")?, list("bw")?, list("lat_ns")?);
    let at = |list: &[u64], number: usize| list.get(number).copied().unwrap_or(0);
    let sample = |number: usize| SteadySample {
        elapsed_ns: 1_000_000_000,
        ios: at(&iops, number),
        bytes: at(&bytes, number),
        clat_sum_ns: at(&latencies_ns, number).saturating_mul(at(&iops, number)),
    };
    let samples: Vec<SteadySample> = (0..iops.len()).map(sample).collect();
    Ok(Some(SteadyState {
        measure,
        slope: series.ends_with("_slope"),
        limit: limit.trim_end_matches('%').parse().unwrap_or(0.0),
        percent: limit.ends_with('%'),
        duration_ns: json.get("duration").count()?.saturating_mul(1_000_000_000),
        window: samples.len() as u64,
        attained: json.get("attained").count()? > 0,
        samples,
    }))
}

fn facts(
    json: &At<'_>,
    options: Vec<OptionWord>,
    globals: &[OptionWord],
    number: usize,
) -> Result<JobFacts, ImportError> {
    let asked = Asked(&options, globals);
    let engine = asked.option("ioengine").unwrap_or("psync").to_owned();
    let depth = json.get("latency_depth").count()?.max(1) as u32;
    let rows = ["read", "write", "trim", "mixed"].map(|row| json.get(row));
    let has = |kind: &str| rows.iter().any(|row| row.get(kind).get("percentile").value.is_object());
    let list = asked.option("percentile_list");
    let percentiles = list.map(|list| list.split(':').flat_map(str::parse).collect());
    let decimals = |number: &str| number.split_once('.').map_or(0, |(_, decimals)| decimals.len() as u32);
    let precision = list.map_or(2, |list| list.split(':').map(decimals).max().unwrap_or(0));
    let host = json.get("hostname").text()?;
    let name = json.get("jobname").text()?;
    let reporting = Reporting {
        group: false,
        kb_base: asked.number("kb_base").unwrap_or(1024),
        unit_base: asked.number("unit_base").unwrap_or(0),
        percentile_precision: precision,
        percentiles: percentiles.unwrap_or_else(|| FIO_PERCENTILES.to_vec()),
        clat_percentiles: has("clat_ns"),
        lat_percentiles: has("lat_ns"),
        slat_percentiles: has("slat_ns"),
        clat: true,
        lat: true,
        slat: true,
        samples: true,
        significant_figures: asked.number("significant_figures").unwrap_or(4),
        unified: asked.option("unified_rw_reporting").unwrap_or("none").to_owned(),
        disk_util: true,
        hidden: false,
    };
    Ok(JobFacts {
        index: number as u32,
        name: if host.is_empty() { name } else { format!("{name} on {host}") },
        description: Some(json.get("desc").text()?).filter(|text| !text.is_empty()),
        workload: asked.option("rw").or(asked.option("readwrite")).unwrap_or("read").to_owned(),
        io_priority: 0,
        asynchronous: !matches!(&*engine, "sync" | "psync" | "vsync" | "pvsync" | "pvsync2" | "mmap" | "splice"),
        engine,
        depth,
        depth_granted: depth,
        block_sizes: [(0, 0); 3],
        reporting,
        options,
    })
}

/// fio's own list.
const FIO_PERCENTILES: [f64; 17] =
    [1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99];

/// How many of `all` these shares stand for. Six decimals give a count exactly, but the least share that is shown may
/// stand for less: what the others leave is spread over those.
fn counts<const N: usize>(maps: &[At<'_>], all: u64, least: f64) -> Result<[u64; N], ImportError> {
    let mut shares = [0.0; N];
    let values = maps.iter().flat_map(At::entries);
    for (share, (_, value)) in shares.iter_mut().zip(values) {
        *share = value.float()?;
    }
    let count_of = |share: f64| (share / 100.0 * all as f64).round() as u64;
    let mut few = shares.iter().filter(|share| **share == least).count() as u64;
    let others: u64 = shares.iter().filter(|share| **share != least).map(|share| count_of(*share)).sum();
    let mut left = all.saturating_sub(others);
    Ok(shares.map(|share| {
        if share != least {
            return count_of(share);
        }
        let part = left / few.max(1);
        (left, few) = (left - part, few.saturating_sub(1));
        part
    }))
}

fn buckets(job: &At<'_>, ios: u64) -> Result<LatencyBuckets, ImportError> {
    let maps = ["latency_ns", "latency_us", "latency_ms"].map(|key| job.get(key));
    let counts: [u64; 32] = counts(&maps, ios, 0.01)?;
    Ok(LatencyBuckets {
        ns: std::array::from_fn(|bucket| counts[bucket]),
        us: std::array::from_fn(|bucket| counts[10 + bucket]),
        ms: std::array::from_fn(|bucket| counts[20 + bucket]),
    })
}

fn direction(json: &At<'_>) -> Result<Option<DirectionResult>, ImportError> {
    let ios = json.get("total_ios").count()?;
    if json.value.is_null() || ios == 0 {
        return Ok(None);
    }
    let samples = |stem: &str, deviation: &str, unit: u64| -> Result<Moments, ImportError> {
        let field = |end: &str| json.get(&format!("{stem}_{end}"));
        let (count, min, max) = (field("samples").count()?, field("min").count()?, field("max").count()?);
        let (mean, stddev) = (field("mean").float()?, field(deviation).float()?);
        let (min, max) = (min.saturating_mul(unit), max.saturating_mul(unit));
        Ok(moments(count, min, max, mean * unit as f64, stddev * unit as f64))
    };
    Ok(Some(DirectionResult {
        bytes: json.get("io_bytes").count()?,
        ios,
        short_ios: json.get("short_ios").count()?,
        dropped_ios: json.get("drop_ios").count()?,
        runtime_ns: json.get("runtime").count()?.saturating_mul(1_000_000),
        slat: latency(&json.get("slat_ns"))?,
        clat: latency(&json.get("clat_ns"))?,
        lat: latency(&json.get("lat_ns"))?,
        priorities: json.get("prios").list().iter().map(priority).collect::<Result<_, _>>()?,
        bandwidth_samples: samples("bw", "dev", 1024)?,
        iops_samples: samples("iops", "stddev", 1)?,
        ..DirectionResult::default()
    }))
}

fn priority(json: &At<'_>) -> Result<PriorityResult, ImportError> {
    let part = |key: &str| json.get(key).count().map(|number| number as u16);
    let (class, hint, level) = (part("prioclass")?, part("priohint")?, part("prio")?);
    let (total, completion) = (json.get("lat_ns"), json.get("clat_ns"));
    let of = if completion.value.is_null() { total } else { completion };
    Ok(PriorityResult { word: (class & 7) << 13 | (hint & 0x3ff) << 3 | level & 7, latency: latency(&of)? })
}

/// Moments from rounded figures, as near as integers allow.
fn moments(count: u64, min: u64, max: u64, mean: f64, stddev: f64) -> Moments {
    let sum = (mean * count as f64).round() as u128;
    // The spread about the mean, and the mean's own square in integers, where a float would lose digits.
    let spread = stddev * stddev * count.saturating_sub(1) as f64;
    let (whole, rest) = match u128::from(count) {
        0 => (0, 0.0),
        count => (sum.saturating_mul(sum) / count, (sum.saturating_mul(sum) % count) as f64 / count as f64),
    };
    Moments { count, min, max, sum, sum_squares: whole.saturating_add((spread + rest).round() as u128) }
}

fn latency(json: &At<'_>) -> Result<LatencyResult, ImportError> {
    let (count, min, max) = (json.get("N").count()?, json.get("min").count()?, json.get("max").count()?);
    let moments = moments(count, min, max, json.get("mean").float()?, json.get("stddev").float()?);
    let mut bins: Vec<(u16, u64)> = Vec::new();
    for (middle, count) in json.get("bins").entries() {
        let middle: u64 = middle.parse().map_err(|_| count.odd("below a number of nanoseconds a count"))?;
        bins.push((bin_of(middle) as u16, count.count()?));
    }
    bins.retain(|(_, count)| *count > 0);
    bins.sort_unstable();
    let bins = HistogramBins::try_from(bins).map_err(|_| json.get("bins").odd("each bin of a histogram once"))?;
    let mut told = Vec::new();
    if bins.is_empty() {
        for (percent, value) in json.get("percentile").entries() {
            let percent: f64 = percent.parse().map_err(|_| value.odd("below a percentage a latency"))?;
            told.push(((percent * 1e6).round() as u64, value.count()?));
        }
    }
    told.sort_unstable();
    Ok(LatencyResult { moments, bins, told })
}

fn disk(json: &At<'_>) -> Result<DiskUse, ImportError> {
    let pair = |what: &str| -> Result<[u64; 2], ImportError> {
        Ok([json.get(&format!("read_{what}")).count()?, json.get(&format!("write_{what}")).count()?])
    };
    Ok(DiskUse {
        name: json.get("name").text()?,
        ios: pair("ios")?,
        sectors: pair("sectors")?,
        merges: pair("merges")?,
        ticks_ms: pair("ticks")?,
        in_queue_ms: json.get("in_queue").count()?,
        // Six decimals of a percentage.
        busy_ms: (json.get("util").float()? * 1e6).round() as u64,
        window_ms: 100_000_000,
        members: Vec::new(),
    })
}
