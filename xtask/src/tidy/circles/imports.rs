//! Which file of a crate uses which other one.

use std::{collections::BTreeSet, path::PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use syn::{
    ImplItemFn, ItemFn, ItemImpl, ItemUse, Macro, Path, TraitItemFn,
    visit::{self, Visit},
};

use super::modules::{self, Module, Modules, ROOT, is_for_tests};

/// No chain of re-exports is longer; `use name::{self}` would go round for ever.
const HOPS_MAX: usize = 16;

/// The end of a path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Target {
    Module(usize),
    /// Something that this module defines.
    Item(usize),
}

/// Each pair of files of which the first names something of the second.
///
/// A re-export of a module's own children is no use of them. Nor is an import of a module: what is
/// named through it counts.
pub(super) fn edges(modules: &Modules) -> BTreeSet<(PathBuf, PathBuf)> {
    let mut found = BTreeSet::new();
    for (index, module) in modules.iter().enumerate() {
        let mut visitor = Visitor {
            local: modules::empty(),
            paths: Vec::new(),
        };
        module
            .items
            .iter()
            .for_each(|item| visitor.visit_item(item));
        let imports = module.uses.iter().chain(&visitor.local.uses);
        let imported = imports.filter_map(|import| {
            let target = resolve(modules, index, &visitor.local, &import.path, HOPS_MAX)?;
            let own = import.is_public && is_below(modules, target, index);
            (!own).then_some(target)
        });
        let named = visitor.paths.iter();
        let named =
            named.filter_map(|path| resolve(modules, index, &visitor.local, path, HOPS_MAX));
        for target in imported.chain(named) {
            if let Target::Item(other) = target {
                let (from, to) = (&module.file, &modules[other].file);
                if from != to {
                    found.insert((from.clone(), to.clone()));
                }
            }
        }
    }
    found
}

/// Where `path` leads, written in module `at`; none for other crates and for locals.
fn resolve(
    modules: &Modules,
    at: usize,
    local: &Module,
    path: &[String],
    hops: usize,
) -> Option<Target> {
    let (first, rest) = path.split_first()?;
    let hops = hops.checked_sub(1)?;
    match first.as_str() {
        "crate" => walk(modules, ROOT, rest, hops),
        "self" => walk(modules, at, rest, hops),
        "super" => {
            let supers = rest.iter().take_while(|word| *word == "super").count();
            let up = (0..=supers).fold(at, |module, _| modules[module].parent);
            walk(modules, up, &rest[supers..], hops)
        }
        name => {
            if let Some(child) = modules[at].children.get(name) {
                return walk(modules, *child, rest, hops);
            }
            let import = local
                .names
                .get(name)
                .or_else(|| modules[at].names.get(name))?;
            onward(
                modules,
                resolve(modules, at, local, import, hops)?,
                rest,
                hops,
            )
        }
    }
}

/// The way from module `at` by the names `rest`, through re-exports.
fn walk(modules: &Modules, at: usize, rest: &[String], hops: usize) -> Option<Target> {
    let Some((name, rest)) = rest.split_first() else {
        return Some(Target::Module(at));
    };
    if let Some(child) = modules[at].children.get(name) {
        return walk(modules, *child, rest, hops);
    }
    match modules[at].names.get(name) {
        Some(import) => {
            let target = resolve(modules, at, &modules::empty(), import, hops)?;
            onward(modules, target, rest, hops)
        }
        None => Some(Target::Item(at)),
    }
}

fn onward(modules: &Modules, target: Target, rest: &[String], hops: usize) -> Option<Target> {
    match target {
        Target::Module(module) => walk(modules, module, rest, hops),
        Target::Item(_) => Some(target),
    }
}

fn is_below(modules: &Modules, target: Target, ancestor: usize) -> bool {
    let (Target::Module(mut module) | Target::Item(mut module)) = target;
    while module != ancestor && module != ROOT {
        module = modules[module].parent;
    }
    module == ancestor
}

/// Collects the paths of a module's code, without what is for unit tests.
struct Visitor {
    /// Imports inside of functions.
    local: Module,
    paths: Vec<Vec<String>>,
}

impl Visitor {
    /// Paths in the arguments of a macro, which are mere tokens.
    fn scan(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut before = String::new();
        for token in tokens {
            match &token {
                // A field or a method is no path.
                TokenTree::Ident(_) if before == "." => self.end(&mut path),
                TokenTree::Ident(name) => {
                    if before != "::" {
                        self.end(&mut path);
                    }
                    path.push(name.to_string());
                }
                TokenTree::Punct(mark) if mark.as_char() == ':' => {}
                TokenTree::Group(group) => {
                    self.end(&mut path);
                    self.scan(group.stream());
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => self.end(&mut path),
            }
            match &token {
                TokenTree::Punct(mark) if mark.as_char() == ':' && before == ":" => {
                    before = "::".to_owned();
                }
                token => before = token.to_string(),
            }
        }
        self.end(&mut path);
    }

    fn end(&mut self, path: &mut Vec<String>) {
        if !path.is_empty() {
            self.paths.push(std::mem::take(path));
        }
    }
}

impl<'ast> Visit<'ast> for Visitor {
    fn visit_path(&mut self, path: &'ast Path) {
        if path.leading_colon.is_none() {
            let words = path
                .segments
                .iter()
                .map(|segment| segment.ident.to_string());
            self.paths.push(words.collect());
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        self.scan(call.tokens.clone());
        visit::visit_macro(self, call);
    }

    fn visit_item_use(&mut self, import: &'ast ItemUse) {
        if !is_for_tests(&import.attrs) {
            modules::add_use(&mut self.local, import);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        if !is_for_tests(&item.attrs) {
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        if !is_for_tests(&item.attrs) {
            visit::visit_item_impl(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        if !is_for_tests(&item.attrs) {
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_trait_item_fn(&mut self, item: &'ast TraitItemFn) {
        if !is_for_tests(&item.attrs) {
            visit::visit_trait_item_fn(self, item);
        }
    }
}
