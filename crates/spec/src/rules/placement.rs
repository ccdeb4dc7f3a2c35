//! What must hold of data placement and of preconditioning.

use super::Rules;
use crate::api::Severity;
use crate::job::{BlockSizes, Distribution, PlacementMeans, PlacementSelect};

/// Streams are the lives that a write hint knows.
const STREAMS: u16 = 4;

impl Rules<'_> {
    pub(super) fn placement(&mut self) {
        self.precondition();
        match self.built.draft.texts.placement_ids.as_deref().map(identifiers) {
            None => {}
            Some(Some(ids)) => self.built.draft.job.shape.placement.ids = ids,
            Some(None) => {
                let message = "placement identifiers are numbers and ranges up to 65535, such as `1,3-4`";
                self.say(Severity::Error, &["plids"], message, "");
                return;
            }
        }
        let placement = &self.built.draft.job.shape.placement;
        if placement.means == PlacementMeans::Streams && placement.ids.iter().any(|id| *id > STREAMS) {
            let help = "1 is data of a short life, 2 medium, 3 long, 4 extreme, 0 is not marked";
            self.say(Severity::Error, &["plids"], "there are four streams", help);
        }
        let placement = &self.built.draft.job.shape.placement;
        let by_file = placement.means != PlacementMeans::None && placement.select == PlacementSelect::Scheme;
        if by_file && placement.scheme.is_none() {
            let help = "add `dp_scheme=FILE`, with a line `start, end, index` for each range";
            self.say(Severity::Error, &["plid_select"], "the file with the scheme is missing", help);
        }
    }

    fn precondition(&mut self) {
        let job = &self.built.draft.job;
        if !job.shape.precondition.on {
            return;
        }
        let kind = job.workload;
        let writes_only = kind.writes && !kind.reads && !kind.trims && kind.random;
        let plain = matches!(job.block_sizes()[1], BlockSizes::One(_))
            && job.shape.distribution == Distribution::Random
            && kind.modifier.is_none()
            && job.shape.align[1].is_none();
        if !writes_only || !plain {
            let help = "give `rw=randwrite` and `bs=`, and no law of offsets";
            self.say(Severity::Error, &["sprandom"], "sprandom is random writes of one size", help);
        }
    }
}

/// `1,3-4`, each once and in this order.
fn identifiers(text: &str) -> Option<Vec<u16>> {
    let mut ids = Vec::new();
    for part in text.split(',').map(str::trim) {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        let (low, high): (u16, u16) = (low.trim().parse().ok()?, high.trim().parse().ok()?);
        if low > high {
            return None;
        }
        ids.extend((low..=high).filter(|id| !ids.contains(id)).collect::<Vec<_>>());
    }
    Some(ids)
}

#[cfg(test)]
mod tests {
    use super::identifiers;

    #[test]
    fn identifiers_are_numbers_and_ranges() {
        assert_eq!(identifiers("1,3-4, 0"), Some(vec![1, 3, 4, 0]));
        assert_eq!(identifiers("2,1-3"), Some(vec![2, 1, 3]));
        for wrong in ["", "1,", "a", "3-1", "70000"] {
            assert_eq!(identifiers(wrong), None, "{wrong}");
        }
    }
}
