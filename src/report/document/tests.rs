//! Tests of the words that readable formats share.

use super::*;
use crate::report::sample;

#[test]
fn device_is_called_by_its_model_or_by_its_profile() {
    let mut result = sample::complete();
    assert_eq!(device_label(&result), "Samsung PM1735 1.6 TB");
    sample::plan_of(&mut result).hardware.device.clear();
    assert_eq!(device_label(&result), "lab-r730");
}

#[test]
fn a_run_that_never_began_has_a_row_of_its_own() {
    let mut result = sample::fleet::sweep(&[4, 8], 5);
    result.runs.truncate(1);
    let rows = headline(&[result]);
    let told: Vec<_> = rows.iter().map(|row| (row.instances.as_str(), row.outcome.as_str())).collect();
    assert_eq!(told, [("4", "complete"), ("8", "NOT RUN")]);
}

#[test]
fn a_log_without_summary_has_no_count() {
    let mut run = sample::imported().runs.remove(0);
    run.imported.as_mut().unwrap().figures.transactions = None;
    let expected = "oltp_read_write, 1 × 64 threads: 176 s, the number of transactions is unknown";
    assert_eq!(volume(&run), expected);
}

#[test]
fn findings_are_counted_by_mark() {
    assert_eq!(tally(&sample::complete().runs[0].findings), "2 yes, 1 NO, 1 ?");
    assert_eq!(tally(&[]), "none");
}

#[test]
fn in_flight_matters_when_older_than_the_peak() {
    assert_eq!(in_flight(&sample::complete().runs[0]), None);
    let text = in_flight(&sample::partial().runs[0]).unwrap();
    assert!(text.contains("2,345.60 ms old") && text.contains("160.25 ms"), "{text}");
}

#[test]
fn rows_of_several_workloads_name_them() {
    let mut other = sample::complete();
    assert!(headline(&[sample::complete(), other.clone()])[1].device.ends_with(&device_label(&other)));
    "oltp_insert".clone_into(&mut other.runs[0].workload);
    let rows = headline(&[sample::complete(), other]);
    assert!(rows[0].device.ends_with(", oltp_read_write"), "{}", rows[0].device);
    assert!(rows[1].device.ends_with(", oltp_insert"), "{}", rows[1].device);
}

#[test]
fn a_rate_beside_the_sum_of_instances_is_their_sum() {
    assert_eq!((rate_label(Some(500), 4), rate_label(None, 4)), ("2,000".to_owned(), String::new()));
    let mut run = sample::fleet::sweep(&[2], 60).runs.remove(0);
    run.rate_per_s = Some(500);
    assert!(load::label(&run).ends_with("threads, 500 a second each"), "{}", load::label(&run));
}
