use proptest::prelude::*;

use super::*;
use crate::report::chart::{Axis, Colour, Scale, Shaded};

fn chart(scale: Scale, style: Style, series: Vec<Vec<(f64, Option<f64>)>>) -> Chart {
    let series = series.into_iter().enumerate().map(|(number, points)| Series {
        name: format!("series {number}"),
        points,
        style,
        colour: Colour::Vermilion,
    });
    Chart {
        title: "A <title> & more".into(),
        unit: "ms".into(),
        x: Axis { label: "Time (s)".into(), ..Axis::of(Scale::Seconds) },
        y: Axis::of(scale),
        series: series.collect(),
        labels: Vec::new(),
        shaded: Some(Shaded { from: -2.0, to: 0.0, label: "warm-up".into() }),
        size: Size::Half,
        when_empty: "no data".into(),
    }
}

/// Coordinates inside the drawing, and no text for what is no number.
fn is_sound(drawing: &Drawing) -> Result<(), String> {
    let svg = &drawing.svg;
    for word in ["NaN", "inf"] {
        if svg.contains(word) {
            return Err(format!("{word} in {svg}"));
        }
    }
    for points in svg.split("points=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
        for pair in points.split_whitespace() {
            let (x, y) = pair.split_once(',').ok_or(pair)?;
            let (x, y): (i32, i32) = (x.parse().map_err(|_| pair)?, y.parse().map_err(|_| pair)?);
            if !(0..=1920).contains(&x) || !(0..=580).contains(&y) {
                return Err(format!("{pair} lies outside"));
            }
        }
    }
    let readout = &drawing.readout;
    let columns = readout.series.iter().all(|series| series.text.len() == readout.px.len());
    let ascending = readout.px.is_sorted() && readout.at.len() == readout.px.len();
    if columns && ascending { Ok(()) } else { Err(format!("{readout:?}")) }
}

#[test]
fn golden_small_chart() {
    let points = vec![(-2.0, Some(1.0)), (-1.0, Some(2.0)), (0.0, Some(4.0)), (1.0, None), (2.0, Some(3.5))];
    let drawing = draw(&chart(Scale::Linear, Style::Area, vec![points])).unwrap();
    insta::assert_snapshot!(drawing.svg);
    insta::assert_debug_snapshot!(drawing.readout);
}

#[test]
fn nothing_to_draw_is_said() {
    for points in
        [vec![], vec![(0.0, None), (1.0, None)], vec![(f64::NAN, Some(1.0)), (1.0, Some(f64::INFINITY))]]
    {
        let drawing = draw(&chart(Scale::Log, Style::Line, vec![points])).unwrap();
        assert!(drawing.svg.contains("no data") && drawing.svg.contains("series 0 (no data)"));
        is_sound(&drawing).unwrap();
    }
}

#[test]
fn extreme_figures_end_and_stay_inside() {
    let extremes =
        [0.0, -0.0, 1e-320, 1e308, -1e308, 1e18, -1e18, f64::INFINITY, f64::NAN, f64::MIN_POSITIVE, 5.0];
    for scale in [Scale::Linear, Scale::Log, Scale::Seconds, Scale::nines(extremes.into_iter())] {
        for x in extremes {
            for y in extremes {
                let drawing =
                    draw(&chart(scale, Style::Line, vec![vec![(x, Some(y)), (0.0, Some(x))]])).unwrap();
                is_sound(&drawing).unwrap();
            }
        }
    }
}

#[test]
fn a_stack_adds_up_and_its_readout_does_not() {
    let level = |y| (0..3).map(|x| (f64::from(x), Some(y))).collect::<Vec<_>>();
    let mut stacked = chart(Scale::Linear, Style::Stacked, vec![level(20.0), level(30.0)]);
    stacked.y.bounds = Some((0.0, 100.0));
    let drawing = draw(&stacked).unwrap();
    let [_, _, top, bottom] = drawing.readout.plot;
    let middle = top.midpoint(bottom);
    let outlines: Vec<&str> = drawing.svg.split("<polygon").skip(1).collect();
    assert_eq!(outlines.len(), 2);
    assert!(outlines[0].contains(&format!(",{middle} ")), "50 of 100 is half way up: {}", outlines[0]);
    assert_eq!(drawing.readout.series[1].text, ["30.00", "30.00", "30.00"]);
}

#[test]
fn what_is_beyond_fixed_bounds_is_drawn_at_the_edge() {
    let mut fixed = chart(Scale::Linear, Style::Line, vec![vec![(0.0, Some(50.0)), (1.0, Some(103.0))]]);
    fixed.y.bounds = Some((0.0, 100.0));
    let drawing = draw(&fixed).unwrap();
    assert!(drawing.svg.contains(&format!("{},{} \"", drawing.readout.plot[1] - 1, drawing.readout.plot[2])));
    assert_eq!(drawing.readout.series[0].text, ["50.00", "103.0"]);
}

fn any_series() -> impl Strategy<Value = Vec<(f64, Option<f64>)>> {
    proptest::collection::vec((any::<f64>(), proptest::option::of(any::<f64>())), 0..40)
}

fn plausible_series() -> impl Strategy<Value = Vec<(f64, Option<f64>)>> {
    proptest::collection::vec((-60.0..3600.0f64, proptest::option::of(0.0..1e5f64)), 0..1500)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn any_chart_is_drawn_soundly(
        series in proptest::collection::vec(prop_oneof![any_series(), plausible_series()], 0..4),
        scale in prop_oneof![Just(Scale::Linear), Just(Scale::Log), Just(Scale::Seconds)],
        style in prop_oneof![Just(Style::Line), Just(Style::Area), Just(Style::Stacked)],
        bounds in proptest::option::of((any::<f64>(), any::<f64>())),
        percentiles in any::<bool>(),
    ) {
        let mut chart = chart(scale, style, series);
        chart.y.bounds = bounds;
        if percentiles {
            let xs = chart.series.iter().flat_map(|s| s.points.iter().map(|(x, _)| *x));
            chart.x = Axis::of(Scale::nines(xs));
        }
        let drawing = draw(&chart).unwrap();
        prop_assert_eq!(is_sound(&drawing), Ok(()));
    }
}
