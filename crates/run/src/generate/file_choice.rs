//! Which of its files a worker's next I/O goes to.

use iostrata_spec::Distribution;
use iostrata_spec::job::FileService;
use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::law::Law;
use super::random::{below, generator};

/// Picks files for a worker.
#[derive(Debug)]
pub struct FileChoice {
    rule: Rule,
    /// I/Os that a picked file gets in a row.
    ios: u64,
    /// How many of them are left.
    left: u64,
    /// The place of the file picked last.
    position: usize,
}

#[derive(Debug)]
enum Rule {
    InTurn,
    Random(Xoshiro256PlusPlus),
    /// The law that offsets follow, over files.
    Law(Xoshiro256PlusPlus, Law),
}

impl FileChoice {
    /// For so many files; `seed` is that of the stream [`Streams::files`](super::Streams::files).
    pub fn new(service: FileService, files: usize, seed: u64) -> Self {
        let ios = match service {
            FileService::RoundRobin(ios) | FileService::Random(ios) => u64::from(ios.max(1)),
            FileService::Sequential => u64::MAX,
            _ => 1,
        };
        let mut rng = generator(seed);
        let law = match service {
            FileService::Zipf(theta) => Some(Distribution::Zipf { theta, center: None }),
            FileService::Pareto(power) => Some(Distribution::Pareto { power, center: None }),
            FileService::Normal(deviation) => Some(Distribution::Normal { deviation, center: Some(0.5) }),
            FileService::RoundRobin(_) | FileService::Sequential | FileService::Random(_) => None,
        };
        let rule = match (law.and_then(|law| Law::new(&law, files as u64, 1, rng.next_u64())), service) {
            (Some(law), _) => Rule::Law(rng, law),
            (None, FileService::Random(_)) => Rule::Random(rng),
            (None, _) => Rule::InTurn,
        };
        FileChoice { rule, ios, left: 0, position: 0 }
    }

    /// The place of the next I/O's file, of `places`, of which there is at least one. Asked again before
    /// [`given`](Self::given), it says the same.
    pub fn pick(&mut self, places: usize) -> usize {
        if self.left == 0 {
            self.left = self.ios;
            match &mut self.rule {
                Rule::InTurn => {}
                Rule::Random(rng) => self.position = below(rng, places as u64) as usize,
                Rule::Law(rng, law) => self.position = law.draw(rng, 0) as usize,
            }
        }
        if self.position >= places {
            self.position = 0;
        }
        self.position
    }

    /// An I/O went to the file that was picked.
    pub fn given(&mut self) {
        self.left = self.left.saturating_sub(1);
        if self.left == 0 && matches!(self.rule, Rule::InTurn) {
            self.position += 1;
        }
    }

    /// The file that was picked is done.
    pub fn ended(&mut self) {
        self.left = 0;
    }

    /// There is no file any more at the place that was picked: the next one in turn, or another draw.
    pub fn again(&mut self) {
        self.left = 0;
        if matches!(self.rule, Rule::InTurn) {
            self.position += 1;
        }
    }

    /// What was picked last is at another place now.
    pub fn moved(&mut self, position: usize) {
        self.position = position;
    }

    /// Whether a file that is done begins again instead of leaving the round.
    pub fn revives(&self) -> bool {
        matches!(self.rule, Rule::Law(..))
    }

    /// Another pass begins: the first file comes first.
    pub fn restart(&mut self) {
        self.left = 0;
        self.position = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Positions picked for so many I/Os, none of which ends its file.
    fn picks(service: FileService, files: usize, ios: usize) -> Vec<usize> {
        let mut choice = FileChoice::new(service, files, 7);
        (0..ios)
            .map(|_| {
                let at = choice.pick(files);
                choice.given();
                at
            })
            .collect()
    }

    fn counts(service: FileService, files: usize, ios: usize) -> Vec<f64> {
        let mut counts = vec![0.0; files];
        picks(service, files, ios).into_iter().for_each(|file| counts[file] += 1.0);
        counts
    }

    /// Pearson's statistic of the counts, largest first, against the expected shares.
    fn chi_square(mut counts: Vec<f64>, shares: &[f64]) -> f64 {
        counts.sort_by(|a, b| b.total_cmp(a));
        let sum: f64 = counts.iter().sum();
        counts.iter().zip(shares).map(|(count, share)| (count - sum * share).powi(2) / (sum * share)).sum()
    }

    #[test]
    fn files_take_turns_of_as_many_ios_as_are_asked_for() {
        assert_eq!(picks(FileService::RoundRobin(1), 3, 7), [0, 1, 2, 0, 1, 2, 0]);
        assert_eq!(picks(FileService::RoundRobin(2), 3, 7), [0, 0, 1, 1, 2, 2, 0]);
        assert_eq!(picks(FileService::Sequential, 3, 4), [0; 4]);
    }

    #[test]
    fn the_file_after_one_that_is_done_is_next() {
        let mut choice = FileChoice::new(FileService::Sequential, 3, 7);
        assert_eq!(choice.pick(3), 0);
        choice.given();
        choice.ended();
        // The second is at the first's place now; when the last is done, the round begins at its start.
        assert_eq!(choice.pick(2), 0);
        let mut turns = FileChoice::new(FileService::RoundRobin(2), 2, 7);
        turns.pick(2);
        turns.given();
        turns.given();
        assert_eq!(turns.pick(2), 1);
        turns.ended();
        assert_eq!(turns.pick(1), 0);
    }

    #[test]
    fn a_trim_and_its_write_get_the_same_file() {
        let mut choice = FileChoice::new(FileService::Random(1), 100, 7);
        for _ in 0..50 {
            let of_trim = choice.pick(100);
            assert_eq!(choice.pick(100), of_trim);
            choice.given();
        }
    }

    #[test]
    fn random_files_are_even_and_keep_a_file_for_its_ios() {
        let chi = chi_square(counts(FileService::Random(1), 8, 80_000), &[0.125; 8]);
        assert!(chi < 40.0, "χ² with 7 degrees of freedom is {chi}");
        let rows = picks(FileService::Random(3), 8, 3000);
        assert!(rows.chunks(3).all(|row| row.iter().all(|file| *file == row[0])));
    }

    #[test]
    fn zipf_and_pareto_give_each_rank_its_share() {
        let weights: Vec<f64> = (1..=8).map(|k| f64::from(k).powf(-1.2)).collect();
        let sum: f64 = weights.iter().sum();
        let shares: Vec<f64> = weights.iter().map(|weight| weight / sum).collect();
        let chi = chi_square(counts(FileService::Zipf(1.2), 8, 80_000), &shares);
        assert!(chi < 40.0, "Zipf: χ² with 7 degrees of freedom is {chi}");
        let up_to = |rank: f64| (rank / 8.0).powf((1.0f64 - 0.2).ln() / 0.2f64.ln());
        let shares: Vec<f64> = (0..8).map(|rank| up_to(f64::from(rank) + 1.0) - up_to(f64::from(rank))).collect();
        let chi = chi_square(counts(FileService::Pareto(0.2), 8, 80_000), &shares);
        assert!(chi < 40.0, "Pareto: χ² with 7 degrees of freedom is {chi}");
    }

    #[test]
    fn a_normal_law_has_its_mean_and_deviation() {
        let drawn = picks(FileService::Normal(10.0), 100, 20_000);
        let mean = drawn.iter().sum::<usize>() as f64 / 20_000.0;
        let variance = drawn.iter().map(|&file| (file as f64 - mean).powi(2)).sum::<f64>() / 20_000.0;
        // A file stands for the span up to the next: the mean of positions is half a file below the middle.
        assert!((mean - 49.5).abs() < 5.0 * 10.0 / 20_000f64.sqrt(), "{mean}");
        assert!((variance.sqrt() - 10.0).abs() < 0.3, "{}", variance.sqrt());
        let middle = counts(FileService::Normal(0.0), 4, 1000);
        assert!(middle[1] + middle[2] > 900.0, "{middle:?}");
    }
}
