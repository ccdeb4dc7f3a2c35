//! Jobs of the whole language, seen by neither program but by strace: what fio 3.33 does to its files, iostrata does.
//!
//! What is left out on purpose stands at the top of `differential_oracle.rs`.

use std::path::Path;

use iostrata_testkit::lines_oracle::{DRAWN, FILES, Order, PLACES, WAYS, Watched};
use iostrata_testkit::strace::{Step, Story, Trace, Transfer, by_file, trace};
use iostrata_testkit::{Folder, Loop, alone, fio, iostrata, is_root, some_at_once, which};

fn watch(program: &Path, job: &Watched) -> Trace {
    let folder = Folder::new("watched");
    job.given.iter().for_each(|(name, bytes)| folder.give(name, *bytes));
    trace(program, &job.words(), folder.path(), None)
}

fn sorted(transfers: &[Transfer]) -> Vec<Transfer> {
    let mut sorted = transfers.to_vec();
    sorted.sort_unstable();
    sorted
}

/// Whether these meet every byte of the range once.
fn tile(transfers: &[Transfer], from: u64, to: u64) -> bool {
    let mut all = transfers.to_vec();
    all.sort_unstable_by_key(|transfer| transfer.offset);
    let end = all.iter().try_fold(from, |at, transfer| (transfer.offset == at).then_some(at + transfer.len));
    end == Some(to)
}

/// Whether each direction goes up from the start of the file without a gap.
fn go_up(transfers: &[Transfer]) -> bool {
    [false, true].into_iter().all(|write| {
        let mut own = transfers.iter().filter(|transfer| transfer.write == write);
        own.try_fold(0, |at, transfer| (transfer.offset == at).then_some(at + transfer.len)).is_some()
    })
}

fn first_difference(ours: &[Transfer], fio: &[Transfer]) -> String {
    let place = fio.iter().zip(ours).position(|(a, b)| a != b).unwrap_or(fio.len().min(ours.len()));
    format!("transfer {place} is {:?} for fio's {:?}", ours.get(place), fio.get(place))
}

/// What the transfers of a file lack, by the order that the job promises.
fn transfers_differ(order: Order, fio: &[Transfer], ours: &[Transfer]) -> Option<String> {
    match order {
        Order::Same => (fio != ours).then(|| first_difference(ours, fio)),
        Order::Covers => (sorted(fio) != sorted(ours)).then(|| first_difference(&sorted(ours), &sorted(fio))),
        Order::TwoSequences => {
            let fine = fio.len() == ours.len() && go_up(fio) && go_up(ours);
            (!fine).then(|| format!("{} for fio's {}: {ours:?}", ours.len(), fio.len()))
        }
        Order::Drawn { block, from, to } => {
            let shape =
                |all: &[Transfer]| sorted(&all.iter().map(|t| Transfer { offset: 0, ..*t }).collect::<Vec<_>>());
            let placed =
                |t: &Transfer| t.offset >= from && t.offset + t.len <= to && (t.offset - from).is_multiple_of(block);
            let astray = fio.iter().chain(ours).find(|transfer| !placed(transfer));
            let unlike = shape(fio) != shape(ours);
            (unlike || astray.is_some())
                .then(|| format!("{} transfers for fio's {}, astray: {astray:?}", ours.len(), fio.len()))
        }
        Order::Tiles { from, to } => {
            let (theirs, own) = (tile(fio, from, to), tile(ours, from, to));
            (!theirs || !own).then(|| format!("bytes from {from} to {to} each once: {own}, in fio {theirs}"))
        }
    }
}

fn story_differs(job: &Watched, fio: &Story, ours: &Story) -> Vec<String> {
    let mut found: Vec<String> = transfers_differ(job.order, &fio.transfers, &ours.transfers).into_iter().collect();
    // Workers that share a file do so in no order.
    if fio.steps != ours.steps && !job.arguments.contains("numjobs") {
        found.push(format!("steps\n      fio  {:?}\n      ours {:?}", fio.steps, ours.steps));
    }
    if fio.flags != ours.flags {
        found.push(format!("flags {:?} for fio's {:?}", ours.flags, fio.flags));
    }
    found
}

fn differ(job: &Watched, fio: &Trace, ours: &Trace) -> Vec<String> {
    let mut found = by_file(fio, ours, |story, own| story_differs(job, story, own));
    if job.order == Order::Same && fio.turns != ours.turns {
        found.push(format!("files take turns\n      fio  {:?}\n      ours {:?}", fio.turns, ours.turns));
    }
    if (fio.deepest, fio.left) != (ours.deepest, ours.left) {
        found.push(format!("depth {} and {} left for fio's {} and {}", ours.deepest, ours.left, fio.deepest, fio.left));
    }
    found
}

fn try_all(jobs: &[Watched]) {
    let _alone = alone();
    let (Some(fio), Some(_)) = (fio(), which("strace")) else {
        iostrata_testkit::skip!("watching fio and iostrata by strace", "apt-get install fio strace")
    };
    let try_job = |job: &Watched| {
        let (theirs, ours) = (watch(&fio, job), watch(Path::new(iostrata()), job));
        let moved: usize = ours.files.values().map(|story| story.transfers.len()).sum();
        let mut found = differ(job, &theirs, &ours);
        if moved == 0 {
            found.push("nothing was moved".to_string());
        }
        (!found.is_empty()).then(|| format!("{}: {}\n    {}", job.about, job.arguments, found.join("\n    ")))
    };
    let failures: Vec<String> = some_at_once(jobs, try_job).into_iter().flatten().collect();
    assert!(failures.is_empty(), "{} of {} jobs differ:\n{}", failures.len(), jobs.len(), failures.join("\n"));
}

#[test]
fn places_and_steps_are_fios() {
    try_all(PLACES);
}

#[test]
fn random_places_and_drawn_sizes_keep_fios_bounds() {
    try_all(DRAWN);
}

#[test]
fn files_take_their_turns_as_in_fio() {
    try_all(FILES);
}

#[test]
fn flags_syncs_depths_and_checks_are_fios() {
    try_all(WAYS);
}

#[test]
fn at_least_sixty_jobs_are_watched() {
    assert!(PLACES.len() + DRAWN.len() + FILES.len() + WAYS.len() >= 60);
}

#[test]
fn trims_are_discards_each_before_its_write() {
    let _alone = alone();
    if fio().is_none() || which("strace").is_none() || !is_root() {
        iostrata_testkit::skip!("watching trims on a loop device", "as root: apt-get install fio strace");
    }
    let device = Loop::new("watched-device", 16);
    let filename = format!("--filename={}", device.device);
    let acts = |program: &Path, arguments: &str| {
        let folder = Folder::new("trims");
        let words: Vec<&str> = ["--name=j", &filename].into_iter().chain(arguments.split_whitespace()).collect();
        let seen = trace(program, &words, folder.path(), Some(&device.device));
        let story = seen.files[&device.device].clone();
        let acts = |step: &Step| match step {
            Step::Call(call) => call.starts_with("BLKDISCARD") || call == "fsync",
            Step::Moved(_) => true,
        };
        // What looks at the device before the job reads at its start.
        let first = story.steps.iter().position(|step| matches!(step, Step::Call(c) if c.starts_with("BLKDISCARD")));
        let steps: Vec<Step> =
            story.steps[first.expect("a trim")..].iter().filter(|step| acts(step)).cloned().collect();
        (steps, story.transfers.into_iter().filter(|transfer| transfer.write).collect::<Vec<_>>())
    };
    // (With fsync=N fio syncs no trimwrite job, against its manual; here it is synced.)
    for arguments in
        ["--rw=trim --size=64k", "--rw=trimwrite --size=64k", "--rw=trimwrite --size=64k --bs=8k --loops=2"]
    {
        let [theirs, own] = [fio().unwrap().as_path(), Path::new(iostrata())].map(|program| acts(program, arguments));
        assert_eq!(own, theirs, "{arguments}: ours left, fio's right");
    }
    let (steps, writes) = acts(Path::new(iostrata()), "--rw=randtrimwrite --size=64k");
    let discards: Vec<String> =
        steps.iter().filter_map(|step| if let Step::Call(call) = step { Some(call.clone()) } else { None }).collect();
    let expected: Vec<String> = writes.iter().map(|write| format!("BLKDISCARD [{}, 4096]", write.offset)).collect();
    assert_eq!((discards, writes.len()), (expected, 16), "each block is trimmed, then written");
}
