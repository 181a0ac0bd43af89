//! Circles in a directed graph.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// From each node to those that it uses.
pub(super) type Edges = BTreeMap<String, BTreeSet<String>>;

/// The strongly connected components of more than one node, each sorted.
pub(super) fn circles(edges: &Edges) -> Vec<Vec<String>> {
    let reach: BTreeMap<&String, BTreeSet<&String>> = edges
        .keys()
        .map(|node| (node, reached(edges, node)))
        .collect();
    let mut circles: Vec<Vec<String>> = Vec::new();
    for (node, ahead) in &reach {
        if circles.iter().any(|circle| circle.contains(node)) {
            continue;
        }
        let both = |other: &&&String| reach.get(**other).is_some_and(|back| back.contains(*node));
        let mut circle: Vec<String> = ahead.iter().filter(both).copied().cloned().collect();
        circle.sort();
        if circle.len() > 1 {
            circles.push(circle);
        }
    }
    circles
}

/// A shortest way from the first node of `circle` back to it.
pub(super) fn example(edges: &Edges, circle: &[String]) -> Vec<String> {
    let Some(start) = circle.first() else {
        return Vec::new();
    };
    let mut ways = VecDeque::from([vec![start.clone()]]);
    let mut seen = BTreeSet::new();
    while let Some(way) = ways.pop_front() {
        let next = way.last().and_then(|node| edges.get(node));
        for node in next.into_iter().flatten() {
            let mut longer = way.clone();
            longer.push(node.clone());
            if node == start {
                return longer;
            }
            if circle.contains(node) && seen.insert(node.clone()) {
                ways.push_back(longer);
            }
        }
    }
    Vec::new()
}

/// Every node that a way of at least one edge leads to.
fn reached<'a>(edges: &'a Edges, from: &String) -> BTreeSet<&'a String> {
    let mut found = BTreeSet::new();
    let mut open = vec![from];
    while let Some(node) = open.pop() {
        for next in edges.get(node).into_iter().flatten() {
            if found.insert(next) {
                open.push(next);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edges(pairs: &[(&str, &str)]) -> Edges {
        let mut edges = Edges::new();
        for (from, to) in pairs {
            edges
                .entry((*from).to_owned())
                .or_default()
                .insert((*to).to_owned());
        }
        edges
    }

    #[test]
    fn a_tree_has_no_circle() {
        assert!(circles(&edges(&[("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")])).is_empty());
    }

    #[test]
    fn each_circle_is_found_once() {
        let edges = edges(&[
            ("a", "b"),
            ("b", "c"),
            ("c", "a"),
            ("c", "x"),
            ("x", "y"),
            ("y", "x"),
        ]);
        assert_eq!(circles(&edges), [vec!["a", "b", "c"], vec!["x", "y"]]);
    }

    #[test]
    fn the_example_is_a_shortest_circle() {
        let edges = edges(&[("a", "b"), ("b", "c"), ("c", "a"), ("b", "a"), ("c", "b")]);
        let circle = circles(&edges).remove(0);
        assert_eq!(example(&edges, &circle), ["a", "b", "a"]);
    }
}
