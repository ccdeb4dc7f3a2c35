//! "Did you mean": the nearest known word.

/// Levenshtein distance of two words, counted in characters.
pub(crate) fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let replace = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = replace.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// The candidate that `word` most likely was meant to be, if one is near: at most a third of its letters differ.
pub(crate) fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    const LONGEST: usize = 64;
    if word.is_empty() || word.len() > LONGEST {
        return None;
    }
    let lower = word.to_ascii_lowercase();
    let score = |candidate: &str| {
        let plain = distance(&lower, &candidate.to_ascii_lowercase());
        // A word that only lacks or adds underscores is nearer than any misspelling.
        if lower.replace(['_', '-'], "") == candidate.replace(['_', '-'], "") { 0 } else { plain }
    };
    let best = candidates.into_iter().map(|c| (score(c), c)).min_by_key(|(score, _)| *score)?;
    (best.0 <= word.chars().count().div_ceil(3)).then_some(best.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words_are_suggested_and_far_ones_are_not() {
        let names = ["iodepth", "ioengine", "fdp", "bs", "numjobs"];
        assert_eq!(nearest("iodept", names), Some("iodepth"));
        assert_eq!(nearest("io_engine", names), Some("ioengine"));
        assert_eq!(nearest("NumJobs", names), Some("numjobs"));
        assert_eq!(nearest("completely", names), None);
        assert_eq!(nearest("", names), None);
    }

    #[test]
    fn distance_counts_insertions_deletions_and_replacements() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("same", "same"), 0);
    }
}
