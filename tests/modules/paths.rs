//! Finds the paths in a source file that start at the root of the crate.
//!
//! It works on tokens, so comments and strings never count, while paths inside macro calls do.

use std::iter::Peekable;
use std::str::FromStr;

use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree, token_stream};

/// One path: the name that follows the root of the crate, and where.
#[derive(Debug, PartialEq, Eq)]
pub struct Mention {
    /// Counted from 1.
    pub line: usize,
    /// `plan` for `crate::plan::Plan`; `*`, `self` or a macro's name where one stands there.
    pub name: String,
}

type Tokens = Peekable<token_stream::IntoIter>;

/// Every path of `text` that starts at the root: with `crate`, with `drivestone`, or with as many
/// `super` as there are modules round it. `file` is the path below `src/`.
pub fn mentions(file: &str, text: &str) -> Vec<Mention> {
    let stream = TokenStream::from_str(text).unwrap_or_else(|error| panic!("src/{file}: {error}"));
    let depth = match file {
        "lib.rs" | "main.rs" => 0,
        _ => file.split('/').count(),
    };
    let mut found = Vec::new();
    walk(stream, depth, &mut found);
    found
}

/// `depth` is how many modules stand round these tokens.
fn walk(stream: TokenStream, depth: usize, found: &mut Vec<Mention>) {
    let mut tokens = stream.into_iter().peekable();
    let mut after_mod = false;
    while let Some(token) = tokens.next() {
        let opens_module = std::mem::take(&mut after_mod);
        match token {
            TokenTree::Group(group) => {
                let inside = depth + usize::from(opens_module && group.delimiter() == Delimiter::Brace);
                walk(group.stream(), inside, found);
            }
            TokenTree::Ident(word) => {
                start(&word, &mut tokens, depth, found);
                // In `mod name {` the name hands on the mark that `mod` left.
                after_mod =
                    word == "mod" || (opens_module && matches!(tokens.peek(), Some(TokenTree::Group(_))));
            }
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}

/// Takes a path from its first word on, if that leads to the root.
fn start(word: &Ident, tokens: &mut Tokens, depth: usize, found: &mut Vec<Mention>) {
    let next_is_colon = matches!(tokens.peek(), Some(TokenTree::Punct(mark)) if mark.as_char() == ':');
    if word == "crate" && !next_is_colon {
        // `pub(crate)` stands alone. Anything else (`use crate as c`) would hide a path.
        if tokens.peek().is_some() {
            found.push(Mention { line: word.span().start().line, name: "self".to_owned() });
        }
        return;
    }
    let left = match word.to_string().as_str() {
        "crate" | "drivestone" => 0,
        "super" => depth.saturating_sub(1),
        "self" => depth,
        _ => return,
    };
    if next_is_colon && colons(tokens) {
        tree(tokens, left, found);
    }
}

/// Takes `::`, if it is there.
fn colons(tokens: &mut Tokens) -> bool {
    let mut colon =
        || tokens.next_if(|token| matches!(token, TokenTree::Punct(mark) if mark.as_char() == ':')).is_some();
    colon() && colon()
}

/// What follows the `::` of a path that has come to a module with `left` modules round it: a word,
/// or braces with several trees.
fn tree(tokens: &mut Tokens, left: usize, found: &mut Vec<Mention>) {
    match tokens.next() {
        Some(TokenTree::Group(group)) => {
            let mut inside = group.stream().into_iter().peekable();
            while inside.peek().is_some() {
                tree(&mut inside, left, found);
                // The rest of `a::{b, c} as d` is no matter; the next tree comes after the comma.
                while inside
                    .next()
                    .is_some_and(|token| !matches!(&token, TokenTree::Punct(mark) if mark.as_char() == ','))
                {
                }
            }
        }
        Some(TokenTree::Ident(word)) if word == "super" || (word == "self" && left > 0) => {
            let up = usize::from(word == "super");
            if colons(tokens) {
                tree(tokens, left.saturating_sub(up), found);
            }
        }
        Some(TokenTree::Ident(word)) if left == 0 => {
            found.push(Mention { line: word.span().start().line, name: word.to_string() });
        }
        Some(TokenTree::Punct(mark)) if left == 0 => {
            found.push(Mention { line: mark.span().start().line, name: mark.as_char().to_string() });
        }
        _ => {}
    }
}

fn names(file: &str, text: &str) -> Vec<(usize, String)> {
    mentions(file, text).into_iter().map(|mention| (mention.line, mention.name)).collect()
}

fn at(line: usize, name: &str) -> (usize, String) {
    (line, name.to_owned())
}

#[test]
fn paths_in_use_lines_types_and_expressions() {
    let text = "use crate::a::B;\npub use crate::c;\nfn f(x: &crate::d::E) -> Vec<crate::g::H> {\n    crate::i::j(x)\n}";
    assert_eq!(names("m.rs", text), [at(1, "a"), at(2, "c"), at(3, "d"), at(3, "g"), at(4, "i")]);
    assert_eq!(names("main.rs", "fn main() { drivestone::cli::main() }"), [at(1, "cli")]);
    assert_eq!(names("m.rs", "impl crate::a::T for ::drivestone::b::C {}"), [at(1, "a"), at(1, "b")]);
}

#[test]
fn braces_may_nest() {
    let text = "use crate::{\n    a,\n    b::{C, d::{E, F}} ,\n    g::H as _,\n};\nuse crate::i::{J, K};";
    assert_eq!(names("m.rs", text), [at(2, "a"), at(3, "b"), at(4, "g"), at(6, "i")]);
}

#[test]
fn paths_inside_macros_and_attributes() {
    let text = "fn f() { format!(\"{}\", crate::a::B); }\n#[serde(with = \"x\", y(crate::b::c))]\nstruct S;\nmacro_rules! m { () => { $crate::d::E } }";
    assert_eq!(names("m.rs", text), [at(1, "a"), at(2, "b"), at(4, "d")]);
}

#[test]
fn comments_strings_and_doc_links_do_not_count() {
    let text = "//! [`crate::a`]\n// crate::b::C\n/* crate::d */\n/// [E](crate::e::E)\nconst X: &str = \"crate::f::G\";\nconst Y: &str = r#\"use crate::h;\"#;";
    assert_eq!(names("m.rs", text), []);
}

#[test]
fn visibility_is_no_path_but_its_module_is() {
    assert_eq!(
        names("m.rs", "pub(crate) fn f() {}\npub(super) fn g() {}\npub(in crate::a) fn h() {}"),
        [at(3, "a")]
    );
}

#[test]
fn supers_are_counted() {
    assert_eq!(names("m.rs", "use super::a::B;"), [at(1, "a")]);
    assert_eq!(names("m/n.rs", "use super::a::B;\nuse super::super::c;"), [at(2, "c")]);
    assert_eq!(names("m/n.rs", "use super::{a, super::{b, c::D}};"), [at(1, "b"), at(1, "c")]);
    assert_eq!(
        names("m.rs", "mod tests {\n  use super::*;\n  use super::super::d;\n}\nuse super::e;"),
        [at(3, "d"), at(5, "e")]
    );
    assert_eq!(
        names("m.rs", "mod a { mod b { use super::super::super::c; use self::super::d; } }"),
        [at(1, "c")]
    );
    assert_eq!(names("m.rs", "pub mod a;\nfn f() { super::b::c() }"), [at(2, "b")]);
}

#[test]
fn ways_round_the_search_are_mentions_too() {
    assert_eq!(names("m.rs", "use crate::*;"), [at(1, "*")]);
    assert_eq!(names("m.rs", "use crate as c;"), [at(1, "self")]);
    assert_eq!(names("m.rs", "use crate::{self as c};"), [at(1, "self")]);
    assert_eq!(names("m.rs", "use super::{self as c};"), [at(1, "self")]);
    assert_eq!(names("m.rs", "use super::*;"), [at(1, "*")]);
}
