//! All engines there are.

use crate::api::EngineSpec;

/// One row per engine. An engine that cannot run here has its row too, and says why.
static ENGINES: &[EngineSpec] = &[crate::null::SPEC, crate::psync::SPEC, crate::sim::SPEC, crate::sync::SPEC];

/// All engines, ordered by name.
pub fn engines() -> &'static [EngineSpec] {
    ENGINES
}

/// The engine of this exact name.
pub fn find(name: &str) -> Option<&'static EngineSpec> {
    ENGINES.iter().find(|engine| engine.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_ordered_unique_and_found() {
        assert!(ENGINES.windows(2).all(|pair| pair[0].name < pair[1].name));
        for engine in engines() {
            assert!(!engine.doc.is_empty());
            assert_eq!(find(engine.name).map(|found| found.name), Some(engine.name));
        }
        assert!(find("nvme").is_none());
    }
}
