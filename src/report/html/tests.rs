use super::*;
use crate::report::sample;

/// Elements that have no end tag.
const VOID: [&str; 3] = ["meta", "br", "!DOCTYPE"];

/// The name of the first tag that does not match, if any. What scripts and styles contain is no markup.
fn unbalanced(page: &str) -> Option<String> {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = page;
    while let Some((_, after)) = rest.split_once('<') {
        let (tag, after) = after.split_once('>')?;
        rest = after;
        let name = tag.split_ascii_whitespace().next().unwrap_or_default();
        if let Some(ended) = name.strip_prefix('/') {
            if open.pop() != Some(ended) {
                return Some(ended.to_owned());
            }
        } else if !VOID.contains(&name) && !tag.ends_with('/') {
            open.push(name);
        }
        if ["script", "style"].contains(&name) {
            rest = &rest[rest.find("</")?..];
        }
    }
    open.pop().map(str::to_owned)
}

fn sweep() -> ResultAnalysis {
    let mut sweep = sample::complete();
    sweep.runs.push(sample::run_without_telemetry());
    (sweep.runs[1].threads, sweep.runs[1].number) = (64, 1);
    sweep
}

#[test]
fn one_result_has_every_section_and_every_chart() {
    let page = render(&[sample::complete()]).unwrap();
    assert_eq!(unbalanced(&page), None);
    for expected in [
        "<h1>Samsung PM1735 1.6 TB, quick</h1>",
        "32-thread<br>TPS",
        "<td class=\"n tps\">1,284.23</td>",
        "<span class=\"badge holds\">yes</span>",
        "<span class=\"badge fails\">NO</span>",
        "<span class=\"badge unknown\">?</span>",
        "<h3>Findings</h3>",
        "<h3>I/O anatomy</h3>",
        "about 75&nbsp;% reads",
        "Device nvme0n1",
        "<h3>Host</h3>",
        "server on processors 0-27",
        "<h3>Plan</h3>",
        "8 tables × 1,000,000 rows",
        "<code>load.threads=32</code>",
        "<h3>Dataset</h3>",
        "<h3>Environment</h3>",
        "<h3>Server options</h3>",
        "innodb_flush_log_at_trx_commit",
        "<h3>Notes</h3>",
    ] {
        assert!(page.contains(expected), "{expected} is missing");
    }
    assert_eq!(page.matches("<svg ").count(), 14);
    assert!(!page.contains("role=\"alert\""), "nothing to warn of");
}

#[test]
fn every_device_of_a_stack_has_a_row() {
    let mut result = sample::complete();
    result.runs[0].per_instance[0].stack = sample::machine::stack();
    let page = render(&[result]).unwrap();
    assert_eq!(unbalanced(&page), None);
    for expected in [
        "<th scope=\"row\">md127</th>",
        "<th scope=\"row\">· · nvme0n1</th>",
        "nvme0n1 read 0.51 and wrote 1.02",
        "Vanished within the run: sdb.",
    ] {
        assert!(page.contains(expected), "{expected} is missing");
    }
    assert!(!page.contains("<table class=\"iostat\">"), "in place of the one device's");
}

#[test]
fn incomplete_results_say_so_before_their_figures() {
    for (result, word) in [(sample::partial(), "PARTIAL"), (sample::failed(), "FAILED")] {
        let page = render(std::slice::from_ref(&result)).unwrap();
        assert_eq!(unbalanced(&page), None);
        let banner = page.find(&format!("<strong>{word}</strong>")).unwrap();
        assert!(banner < page.find("<td class=\"n tps\">").unwrap());
        let reason = result.reason.unwrap().split('"').next().unwrap().to_owned();
        assert!(page.contains(&reason), "{reason}");
    }
    let failed = render(&[sample::failed()]).unwrap();
    assert!(failed.contains("No run was started") && failed.contains("None was completed."));
}

#[test]
fn several_results_share_one_headline() {
    let page = render(&[sweep(), sample::partial(), sample::failed()]).unwrap();
    assert_eq!(unbalanced(&page), None);
    assert_eq!(page.matches("<td class=\"n tps\">").count(), 4);
    assert_eq!(page.matches("<h2 class=\"result-title\">").count(), 3);
    assert!(page.contains("Run 2: 1 × 64 threads"));
    assert!(page.contains("<th scope=\"col\" class=\"n\">TPS</th>"), "thread counts differ");
    let readouts = page.split("id=\"readouts\">").nth(1).unwrap().split("</script>").next().unwrap();
    let readouts: Vec<serde_json::Value> = serde_json::from_str(readouts).unwrap();
    assert_eq!(readouts.len(), page.matches("<figure ").count(), "the script counts figures");
}

#[test]
fn an_imported_result_stands_beside_a_measured_one() {
    let page = render(&[sample::imported(), sample::complete()]).unwrap();
    assert_eq!(unbalanced(&page), None);
    for expected in [
        "Imported <b>galera</b> · from <b>galera.log</b>",
        "<th scope=\"row\">Galera, three nodes</th>",
        "<td class=\"n\">161.51 (95th)</td>",
        "<span class=\"outcome complete\">imported</span>",
        "<td class=\"\">unknown: imported</td>",
        "95th: 161.51 ms. It carries an error of up to 1 %.",
        "95th percentile of each interval",
        "<h3>What the log says of itself</h3>",
    ] {
        assert!(page.contains(expected), "{expected} is missing");
    }
    for of_the_other in
        ["<h3>Plan</h3>", "<h3>Server options</h3>", "<h3>Dataset</h3>", "<h3>I/O anatomy</h3>"]
    {
        assert_eq!(page.matches(of_the_other).count(), 1, "{of_the_other}");
    }
    assert_eq!(page.matches("<figure ").count(), 3 + 14);
    let alone = render(&[sample::imported()]).unwrap();
    assert!(alone.contains("<h1>Galera, three nodes, imported</h1>"));
}

#[test]
fn hostile_text_stays_text() {
    let hostile = "<script>alert(1)</script>\"'&</svg>";
    let mut result = sample::partial();
    let plan = sample::plan_of(&mut result);
    plan.hardware.device = vec![("Model".into(), hostile.into())];
    plan.hardware.name = hostile.into();
    result.reason = Some(hostile.into());
    result.notes = vec![hostile.into()];
    result.environment = vec![(hostile.into(), hostile.into())];
    result.runs[0].findings[0].text = hostile.into();
    result.runs[0].device_name = Some(hostile.into());
    let own = &mut result.runs[0].per_instance[0];
    own.stack = sample::machine::stack();
    own.stack.layers.iter_mut().for_each(|layer| layer.name = hostile.into());
    own.machine.server_cpus = Some(hostile.into());
    let page = render(&[result]).unwrap();
    assert!(!page.contains("<script>alert"));
    assert_eq!(page.matches("<script").count(), 2);
    assert_eq!(unbalanced(&page), None);
    let mut readout = svg::draw(&run_charts::charts(&sample::run(3))[0]).unwrap().readout;
    readout.series[0].name = hostile.into();
    assert!(!json_for_script(&[readout]).unwrap().contains('<'));
}

#[test]
fn the_page_needs_nothing_from_outside() {
    let page = render(&[sweep()]).unwrap();
    for word in ["src=", "href=", "url(", "@import", "fetch("] {
        assert!(!page.contains(word), "{word}");
    }
    let addresses = page.matches("http").count();
    assert_eq!(addresses, page.matches("http://www.w3.org/2000/svg").count(), "namespaces only");
}

#[test]
fn an_hour_stays_small_and_figures_that_are_none_do_no_harm() {
    let mut hour = sample::complete();
    hour.runs = vec![sample::run(3600)];
    let size = render(&[hour.clone()]).unwrap().len();
    assert!(size < 1_000_000, "{size} bytes");
    let run = &mut hour.runs[0];
    let figures = run.figures.as_mut().unwrap();
    (figures.tps, figures.latency) = (f64::NAN, None);
    run.percentiles = Vec::new();
    run.series.iter_mut().for_each(|point| point.tps = f64::INFINITY);
    let page = render(&[hour]).unwrap();
    assert!(!page.contains("NaN") && !page.contains(">inf"));
}

#[test]
fn a_sweep_has_scaling_heat_maps_and_observers() {
    let page = render(&[sample::fleet::sweep(&[4, 16], 60)]).unwrap();
    assert_eq!(unbalanced(&page), None);
    for expected in [
        "Throughput by instances",
        "99th percentile of each instance",
        "Instances: I&#x2f;O",
        "node1: Device wait",
        "What others print",
        "Jain&#x27;s index",
        "<th scope=\"row\">vm16</th>",
    ] {
        assert!(page.contains(expected), "{expected} is missing");
    }
    let readouts = page.split("id=\"readouts\">").nth(1).unwrap().split("</script>").next().unwrap();
    let readouts: Vec<serde_json::Value> = serde_json::from_str(readouts).unwrap();
    assert_eq!(readouts.len(), page.matches("<figure ").count(), "the script counts figures");
    let titles: Vec<&str> =
        page.split("<figure ").skip(1).filter_map(|figure| figure.split('"').nth(3)).collect();
    assert_eq!(titles[..2], ["Latency by throughput", "Throughput by instances"]);
    let instances: Vec<_> = [0, 1].map(|n| readouts[n]["at"][1].as_str().unwrap()).into();
    assert_eq!(instances, ["16 instances: 10,358", "16"]);
}

#[test]
fn an_open_loop_shows_its_rate_its_queue_and_the_verdict_of_its_ramp() {
    let page = render(&[sample::ramp()]).unwrap();
    assert_eq!(unbalanced(&page), None);
    for expected in [
        "Rate<br>(per s)",
        "<td class=\"n\">800</td>",
        "Queue at the end of each second",
        "<h3>Before each run (goal: at most 64 dirty pages and 1,000 undo logs, waited for up to 600 s)</h3>",
        "Latency counts from the moment at which each was due",
        "Highest rate that held a 99th percentile of at most 60.00 ms: 400 a second",
    ] {
        assert!(page.contains(expected), "{expected} is missing");
    }
    assert!(!page.contains("NOT RUN"), "a step that is not needed has not failed");
}

#[test]
fn a_fleet_without_headline_shows_its_stretches() {
    let page = render(&[sample::fleet::lost(12)]).unwrap();
    assert!(!page.contains("It was not sampled") && page.contains("told instance by instance"));
    assert!(!page.contains("no transaction completed") && page.contains("not all together for long enough"));
    assert_eq!(unbalanced(&page), None);
    assert!(page.contains("· seconds 12–60") && page.contains("No headline"));
    assert_eq!(page.matches("<td class=\"n tps\">–</td>").count(), 1);
    assert!(page.contains("3 of 4 × 32"));
}
