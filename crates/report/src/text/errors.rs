//! Errors and signals.

use crate::RenderOptions;
use iostrata_result::WorkerResult;
use std::io;

/// The line about a worker that failed: `iostrata: pid=‹tid›, err=‹errno›/‹sentence›, error=‹the system's words›`;
/// `None` for one that did not. fio has the place in its source where we have the sentence; scripts look for `err=`.
pub fn error_line(worker: &WorkerResult, options: &RenderOptions) -> Option<String> {
    if worker.error == 0 {
        // It did not begin, and there is no errno for why.
        return worker.error_text.as_deref().map(|sentence| saying(sentence, options));
    }
    let sentence = worker.error_text.as_deref().unwrap_or(&worker.job.name);
    let reason = reason(worker.error, Some(sentence));
    Some(format!("{}: pid={}, err={}/{reason}\n", options.program(), worker.pid, worker.error))
}

/// `‹sentence›, error=‹the system's words›`, on one line. Words that end the sentence already are not said twice.
pub(super) fn reason(error: i32, sentence: Option<&str>) -> String {
    let words = system_words(error);
    match sentence {
        Some(sentence) => {
            let sentence = sentence.strip_suffix(&format!(": {words}")).unwrap_or(sentence);
            format!("{}, error={words}", one_line(sentence))
        }
        None => format!("error={words}"),
    }
}

/// A text from outside, control characters made visible: it can neither break a line nor steer a terminal.
pub fn one_line(text: &str) -> String {
    let visible = |character: char| match character.is_control() {
        true => character.escape_default().to_string(),
        false => character.to_string(),
    };
    text.chars().map(visible).collect()
}

/// What the system calls an errno: "Input/output error".
pub(super) fn system_words(errno: i32) -> String {
    let words = io::Error::from_raw_os_error(errno).to_string();
    match words.rfind(" (os error ") {
        Some(end) => words[..end].to_owned(),
        None => words,
    }
}

/// A sentence that is said while a run goes on.
pub fn saying(sentence: &str, options: &RenderOptions) -> String {
    format!("{}: {}\n", options.program(), one_line(sentence))
}

/// What is printed when a signal asks the run to end.
pub fn terminating(signal: i32, options: &RenderOptions) -> String {
    format!("\n{}: terminating on signal {signal}\n", options.program())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_s_words_stand_alone() {
        assert_eq!(system_words(5), "Input/output error");
        assert_eq!(system_words(28), "No space left on device");
    }

    #[test]
    fn control_characters_are_shown_not_sent() {
        assert_eq!(one_line("a\tb\n\u{1b}[2Jc \u{9b}é日"), "a\\tb\\n\\u{1b}[2Jc \\u{9b}é日");
    }

    #[test]
    fn signals_are_named() {
        assert_eq!(
            terminating(2, &RenderOptions { as_fio: true, ..Default::default() }),
            "\nfio: terminating on signal 2\n"
        );
        assert_eq!(terminating(15, &RenderOptions::default()), "\niostrata: terminating on signal 15\n");
    }
}
