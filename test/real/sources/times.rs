// Prints what one clock call costs through std::time. Usage: times CALLS
use std::hint::black_box;
use std::time::{Instant, SystemTime};

fn cost<T>(name: &str, calls: u32, call: impl Fn() -> T) {
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let begin = Instant::now();
        for _ in 0..calls / 5 {
            black_box(call());
        }
        best = best.min(begin.elapsed().as_nanos() as f64 / f64::from(calls / 5));
    }
    println!("{}\t{:.1}", name, best);
}

fn main() {
    let calls = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(1000);
    cost("Instant::now", calls, Instant::now);
    cost("SystemTime::now", calls, SystemTime::now);
}
