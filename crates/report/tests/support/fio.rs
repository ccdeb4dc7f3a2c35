//! fio's JSON read as a result of ours: what JSON leaves out (the thread's number) comes from the text of the same
//! run.

use iostrata_result::{RunResult, from_fio_json};

/// One run of fio with `--output-format=json+,normal`: the document, and the text after it.
pub(crate) struct Pair {
    json: String,
    pub(crate) text: String,
}

impl Pair {
    pub(crate) fn parse(output: &str) -> Self {
        let start = output.find("{\n").expect("a document");
        let end = start + output[start..].find("\n}\n").expect("its end") + 3;
        Self { json: output[..end].to_owned(), text: output[end..].to_owned() }
    }

    /// The same run as a result of ours.
    pub(crate) fn result(&self) -> RunResult {
        let mut result = from_fio_json(&self.json).expect("fio's document");
        let pids = self.text.lines().filter(|line| line.contains(": (groupid=")).map(|line| {
            let pid = line.split(": pid=").nth(1).and_then(|rest| rest.split(':').next());
            pid.and_then(|pid| pid.parse().ok()).expect("a pid")
        });
        result.workers.iter_mut().zip(pids).for_each(|(worker, pid)| worker.pid = pid);
        result
    }
}
