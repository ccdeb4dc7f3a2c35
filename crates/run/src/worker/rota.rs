//! Which of a worker's files are open, where it may have fewer open than its job wants.

use std::ops::Range;

use iostrata_engine::FileId;

/// A file that is not open, and has been since the pass began.
const CLOSED: u32 = u32::MAX;
/// A file that has not been open since then.
const UNUSED: u32 = u32::MAX - 1;

/// The places for open files. Who must leave for another is found by giving those that were used lately a second
/// chance.
pub(super) struct Rota {
    first: usize,
    /// For each file the place that it has, or one of the two above: four bytes each, as there may be a million.
    place_of: Vec<u32>,
    places: Vec<Place>,
    /// The place to be judged next.
    hand: usize,
}

struct Place {
    file: FileId,
    in_flight: u32,
    recent: bool,
    /// It can hold no file any more.
    lost: bool,
}

impl Rota {
    /// Of these files the first `open` are open, in places of the same order.
    pub(super) fn new(files: Range<usize>, open: usize) -> Self {
        let place = |file| Place { file: file as FileId, in_flight: 0, recent: false, lost: false };
        let place_of = (0..files.len()).map(|at| if at < open { at as u32 } else { UNUSED }).collect();
        Rota { first: files.start, place_of, places: files.clone().take(open).map(place).collect(), hand: 0 }
    }

    /// The files that it is about.
    pub(super) fn files(&self) -> Range<usize> {
        self.first..self.first + self.place_of.len()
    }

    /// Where a file is open.
    pub(super) fn place_of(&self, file: FileId) -> Option<usize> {
        let place = *self.place_of.get((file as usize).checked_sub(self.first)?)?;
        (place < UNUSED).then_some(place as usize)
    }

    /// Whether a file is, or was, open in this pass.
    pub(super) fn is_used(&self, file: FileId) -> bool {
        self.place_of[file as usize - self.first] != UNUSED
    }

    /// Whether a file is open; it is used now.
    pub(super) fn touch(&mut self, file: FileId) -> bool {
        let place = self.place_of(file);
        if let Some(place) = place {
            self.places[place].recent = true;
        }
        place.is_some()
    }

    /// A place that is free once its file is closed, which counts as closed from now on. None if all have I/Os in
    /// flight.
    pub(super) fn vacate(&mut self) -> Option<(usize, FileId)> {
        // Twice round: the first time everybody may have been used lately.
        for _ in 0..2 * self.places.len() {
            let at = self.hand;
            self.hand = (self.hand + 1) % self.places.len();
            let place = &mut self.places[at];
            if place.lost || place.in_flight > 0 || std::mem::take(&mut place.recent) {
                continue;
            }
            self.place_of[place.file as usize - self.first] = CLOSED;
            return Some((at, place.file));
        }
        None
    }

    /// A file was opened in a place that was vacated.
    pub(super) fn occupy(&mut self, place: usize, file: FileId) {
        self.place_of[file as usize - self.first] = place as u32;
        self.places[place].file = file;
    }

    /// A place that was vacated is lost; false if it was the last.
    pub(super) fn lose(&mut self, place: usize) -> bool {
        self.places[place].lost = true;
        self.places.iter().any(|place| !place.lost)
    }

    /// An I/O on an open file goes down.
    pub(super) fn pin(&mut self, file: FileId) {
        if let Some(place) = self.place_of(file) {
            self.places[place].in_flight += 1;
        }
    }

    /// It has come up.
    pub(super) fn unpin(&mut self, file: FileId) {
        if let Some(place) = self.place_of(file) {
            self.places[place].in_flight -= 1;
        }
    }

    /// Another pass begins: only those that are open now count as used.
    pub(super) fn begin_pass(&mut self) {
        self.place_of.iter_mut().filter(|place| **place == CLOSED).for_each(|place| *place = UNUSED);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_was_used_lately_stays_and_whoever_has_ios_in_flight_cannot_go() {
        let mut rota = Rota::new(10..20, 3);
        assert_eq!((rota.touch(10), rota.touch(13), rota.is_used(13)), (true, false, false));
        // 10 was used, 11 was not.
        assert_eq!(rota.vacate(), Some((1, 11)));
        rota.occupy(1, 13);
        assert_eq!((rota.place_of(11), rota.is_used(11), rota.place_of(13)), (None, true, Some(1)));
        [10, 12, 13].into_iter().for_each(|file| rota.pin(file));
        assert_eq!(rota.vacate(), None);
        rota.unpin(10);
        assert_eq!(rota.vacate(), Some((0, 10)));
        assert!(rota.lose(0));
        assert_eq!(rota.vacate(), None);
        rota.begin_pass();
        assert_eq!((rota.is_used(11), rota.is_used(13)), (false, true));
    }
}
