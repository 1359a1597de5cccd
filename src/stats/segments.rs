//! Cutting a window where the set of its members changes.

/// Measured seconds in which the same members took part, as many of them as there are in a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// Who took part, ascending.
    pub members: Vec<usize>,
    /// First second.
    pub first: i64,
    /// Last second.
    pub last: i64,
}

/// Puts a further second, later than those before, into the last segment or into one of its own; tells
/// whether a segment began. A second in which nobody took part was not measured and belongs to none.
pub fn extend(segments: &mut Vec<Segment>, second: i64, members: &[usize]) -> bool {
    match segments.last_mut() {
        _ if members.is_empty() => false,
        Some(segment) if segment.members == members => {
            segment.last = second;
            false
        }
        _ => {
            segments.push(Segment { members: members.to_vec(), first: second, last: second });
            true
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cut(seconds: &[Vec<usize>]) -> Vec<Segment> {
        let mut segments = Vec::new();
        for (second, members) in (0..).zip(seconds) {
            extend(&mut segments, second, members);
        }
        segments
    }

    #[test]
    fn a_lost_member_cuts_and_a_silent_second_does_not() {
        let both = vec![0, 1];
        let segments = cut(&[both.clone(), vec![], both.clone(), vec![1], vec![1]]);
        let of = |members: &[usize], first, last| Segment { members: members.to_vec(), first, last };
        assert_eq!(segments, [of(&[0, 1], 0, 2), of(&[1], 3, 4)]);
    }

    proptest! {
        /// Each measured second lies in exactly one segment, whose members are its own, and two segments
        /// in a row differ: none could be longer.
        #[test]
        fn segments_partition_the_seconds(seconds in prop::collection::vec(
            prop::collection::btree_set(0_usize..3, 0..3), 0..40)) {
            let seconds: Vec<Vec<usize>> = seconds.into_iter().map(|set| set.into_iter().collect()).collect();
            let segments = cut(&seconds);
            for (second, members) in (0_i64..).zip(&seconds) {
                let mut around = segments.iter().filter(|s| (s.first..=s.last).contains(&second));
                let found = around.next();
                prop_assert!(around.next().is_none());
                if !members.is_empty() {
                    prop_assert_eq!(found.map(|segment| &segment.members), Some(members));
                }
            }
            for pair in segments.windows(2) {
                prop_assert!(pair[0].last < pair[1].first && pair[0].members != pair[1].members);
            }
        }
    }
}
