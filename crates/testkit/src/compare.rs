//! What must agree between a run of iostrata and one of the real fio, and what does not.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::lines::Check;
use crate::{Counts, Outcome};

/// Everything in which the two outcomes differ, one sentence each.
pub fn differences(check: Check, fio: &Outcome, ours: &Outcome) -> Vec<String> {
    let mut found = Vec::new();
    if fio.code != ours.code {
        found.push(format!("exit code {} for fio's {}: {}", ours.code, fio.code, ours.stderr.trim()));
    }
    if check == Check::Fails {
        if fio.code == 0 || ours.code == 0 {
            found.push("it should have failed".into());
        }
        if ours.counts().iter().any(|job| job.ios() > 0) {
            found.push("I/O was done".into());
        }
        return found;
    }
    if fio.files != ours.files {
        found.push(format!("files {:?} for fio's {:?}", ours.files, fio.files));
    }
    let (theirs, own) = (fio.counts(), ours.counts());
    if theirs.is_empty() {
        found.push("fio gave no document".into());
    }
    if theirs.len() != own.len() {
        found.push(format!("{} job entries for fio's {}", own.len(), theirs.len()));
    }
    for (fio, ours) in theirs.iter().zip(&own) {
        found.extend(job_differences(check, fio, ours));
    }
    if let (Some(fio), Some(ours)) = (&fio.json, &ours.json) {
        let missing: Vec<String> = keys(fio).difference(&keys(ours)).cloned().collect();
        if !missing.is_empty() {
            found.push(format!("keys of fio's JSON that ours lacks: {missing:?}"));
        }
    }
    found
}

fn job_differences(check: Check, fio: &Counts, ours: &Counts) -> Vec<String> {
    let mut found = Vec::new();
    if (&fio.name, fio.group, fio.error) != (&ours.name, ours.group, ours.error) {
        found.push(format!("name, group, error {:?} for fio's {:?}", ours.key(), fio.key()));
    }
    if ours.syncs != fio.syncs {
        found.push(format!("{}: {} syncs for fio's {}", fio.name, ours.syncs, fio.syncs));
    }
    match check {
        Check::Exact | Check::Fails => {
            if ours.done != fio.done {
                found.push(format!("{}: bytes and I/Os {:?} for fio's {:?}", fio.name, ours.done, fio.done));
            }
        }
        Check::Bytes => {
            let bytes = |job: &Counts| job.done.map(|(bytes, _)| bytes);
            if bytes(ours) != bytes(fio) {
                found.push(format!("{}: bytes and I/Os {:?} for fio's {:?}", fio.name, ours.done, fio.done));
            }
        }
        Check::Mix(percent) => {
            if (ours.bytes(), ours.ios()) != (fio.bytes(), fio.ios()) {
                found.push(format!("{}: in all {:?} for fio's {:?}", fio.name, ours.done, fio.done));
            }
            found.extend(
                unlikely_share(ours.done[0].1, ours.ios(), percent).map(|text| format!("{}: {text}", fio.name)),
            );
        }
        Check::Ends => {}
        Check::Tossed => {
            let block = fio.done.iter().chain(&ours.done).map(|(bytes, ios)| bytes / ios.max(&1)).max().unwrap_or(0);
            if ours.bytes().abs_diff(fio.bytes()) > block || unlikely_pair(ours, fio) {
                found.push(format!("{}: bytes and I/Os {:?} for fio's {:?}", fio.name, ours.done, fio.done));
            }
        }
        Check::Time(_) => {
            let used = |job: &Counts| job.done.map(|(bytes, ios)| (bytes > 0, ios > 0));
            if used(ours) != used(fio) {
                found.push(format!("{}: directions {:?} for fio's {:?}", fio.name, ours.done, fio.done));
            }
        }
    }
    found
}

/// `count` of `all` tosses came up, each with this chance: more than five standard deviations off is no luck.
pub fn unlikely_share(count: u64, all: u64, percent: u32) -> Option<String> {
    let (chance, all_f) = (f64::from(percent) / 100.0, all as f64);
    let expected = all_f * chance;
    let allowed = 5.0 * (all_f * chance * (1.0 - chance)).sqrt();
    let off = (count as f64 - expected).abs();
    (off > allowed).then(|| format!("{count} reads of {all}, expected {expected:.0} ± {allowed:.0}"))
}

/// Whether two shares of reads are too far apart for the same chance: five standard deviations of their difference.
fn unlikely_pair(ours: &Counts, fio: &Counts) -> bool {
    let (own, theirs) = (ours.ios().max(1) as f64, fio.ios().max(1) as f64);
    let share = (ours.done[0].1 + fio.done[0].1) as f64 / (own + theirs);
    let deviation = (share * (1.0 - share) * (1.0 / own + 1.0 / theirs)).sqrt();
    (ours.done[0].1 as f64 / own - fio.done[0].1 as f64 / theirs).abs() > 5.0 * deviation
}

/// Whether a time is within some percent of fio's.
pub fn close(ours_ms: u64, fio_ms: u64, percent: u32) -> bool {
    ours_ms.abs_diff(fio_ms) * 100 <= fio_ms * u64::from(percent)
}

/// The paths of all keys of a document. Entries of a list stand for one another, words that the person wrote do not
/// count (fio 3.42 has flags among them, 3.33 has not), and JSON+'s bins depend on the latencies.
pub fn keys(document: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    gather(document, String::new(), &mut found);
    found
}

fn gather(value: &Value, path: String, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                let path = format!("{path}/{key}");
                found.insert(path.clone());
                if !["job options", "global options", "bins"].contains(&key.as_str()) {
                    gather(value, path, found);
                }
            }
        }
        Value::Array(list) => list.iter().for_each(|value| gather(value, path.clone(), found)),
        _ => {}
    }
}
