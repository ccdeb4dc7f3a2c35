//! All-pairs tables: few rows in which every value of every factor meets every value of every other.

use std::collections::BTreeSet;

/// Rows of positions, one for each factor of these sizes, such that each pair of values of two factors stands in one.
///
/// Greedy: always the row that has the most pairs that no row had before, the first of equals; so it is always the same
/// table.
pub fn all_pairs(sizes: &[usize]) -> Vec<Vec<usize>> {
    let mut missing: BTreeSet<Pair> = BTreeSet::new();
    for (first, &first_size) in sizes.iter().enumerate() {
        for (second, &second_size) in sizes.iter().enumerate().skip(first + 1) {
            let values = (0..first_size).flat_map(|a| (0..second_size).map(move |b| (a, b)));
            missing.extend(values.map(|(a, b)| ((first, a), (second, b))));
        }
    }
    let combinations: usize = sizes.iter().product();
    let mut rows = Vec::new();
    while !missing.is_empty() {
        let news = |row: &[usize]| pairs(row).filter(|pair| missing.contains(pair)).count();
        let best = (0..combinations).rev().map(|number| row(number, sizes)).max_by_key(|row| news(row));
        let best = best.expect("there are factors");
        missing.retain(|pair| !pairs(&best).any(|met| met == *pair));
        rows.push(best);
    }
    rows
}

type Pair = ((usize, usize), (usize, usize));

fn pairs(row: &[usize]) -> impl Iterator<Item = Pair> + '_ {
    let factors = || row.iter().copied().enumerate();
    factors().flat_map(move |a| factors().skip(a.0 + 1).map(move |b| (a, b)))
}

/// The row of this number, counted with the last factor fastest.
fn row(mut number: usize, sizes: &[usize]) -> Vec<usize> {
    let mut row: Vec<usize> = sizes
        .iter()
        .rev()
        .map(|size| {
            let value = number % size;
            number /= size;
            value
        })
        .collect();
    row.reverse();
    row
}
