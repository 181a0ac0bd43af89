//! The modules of one crate: which file each is in, and what each imports.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use syn::{Attribute, Item, ItemMod, ItemUse, Meta, UseTree, Visibility};

use crate::failure::{Failure, Result};

/// The root module's place in [`Modules`].
pub(super) const ROOT: usize = 0;

/// The modules of a crate; the first is its root.
pub(super) type Modules = Vec<Module>;

/// A module, in a file of its own or inline in its parent's.
pub(super) struct Module {
    pub(super) file: PathBuf,
    pub(super) parent: usize,
    pub(super) children: BTreeMap<String, usize>,
    /// The names that `use` brings, with the path as written.
    pub(super) names: BTreeMap<String, Vec<String>>,
    pub(super) uses: Vec<Use>,
    /// The items but for imports and modules.
    pub(super) items: Vec<Item>,
}

/// A module without anything, for what a function imports.
pub(super) fn empty() -> Module {
    new(PathBuf::new(), ROOT)
}

fn new(file: PathBuf, parent: usize) -> Module {
    Module {
        file,
        parent,
        children: BTreeMap::new(),
        names: BTreeMap::new(),
        uses: Vec::new(),
        items: Vec::new(),
    }
}

/// One name of a `use`.
pub(super) struct Use {
    pub(super) path: Vec<String>,
    pub(super) is_public: bool,
}

/// Reads the crate whose root is the file `root`.
///
/// # Errors
///
/// When a file cannot be read, is not Rust, or declares a module that is not there.
pub(super) fn load(root: &Path) -> Result<Modules> {
    let mut modules = Vec::new();
    let directory = root.parent().unwrap_or(root).to_owned();
    load_file(&mut modules, root, &directory, ROOT)?;
    Ok(modules)
}

/// Whether an item is compiled for unit tests or doctests only.
pub(super) fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::List(list) if list.path.is_ident("cfg") => {
            let condition = list.tokens.to_string().replace(' ', "");
            condition.contains("test") && !condition.contains("not(test")
        }
        _ => false,
    })
}

/// `directory` is where the files of its child modules are.
fn load_file(modules: &mut Modules, file: &Path, directory: &Path, parent: usize) -> Result<usize> {
    let text = fs::read_to_string(file)
        .map_err(|error| Failure::new(format!("cannot read {}: {error}", file.display())))?;
    let parsed = syn::parse_file(&text)
        .map_err(|error| Failure::new(format!("cannot parse {}: {error}", file.display())))?;
    load_items(modules, parsed.items, file, directory, parent)
}

fn load_items(
    modules: &mut Modules,
    items: Vec<Item>,
    file: &Path,
    directory: &Path,
    parent: usize,
) -> Result<usize> {
    let this = modules.len();
    modules.push(new(file.to_owned(), parent));
    for item in items {
        match item {
            Item::Mod(child) if is_for_tests(&child.attrs) => {}
            Item::Use(import) if is_for_tests(&import.attrs) => {}
            Item::Mod(child) => {
                let name = child.ident.to_string();
                let index = load_child(modules, child, file, directory, this)?;
                modules[this].children.insert(name, index);
            }
            Item::Use(import) => add_use(&mut modules[this], &import),
            other => modules[this].items.push(other),
        }
    }
    Ok(this)
}

fn load_child(
    modules: &mut Modules,
    child: ItemMod,
    file: &Path,
    directory: &Path,
    parent: usize,
) -> Result<usize> {
    let name = child.ident.to_string();
    let below = directory.join(&name);
    if let Some((_, items)) = child.content {
        return load_items(modules, items, file, &below, parent);
    }
    if let Some(path) = path_attribute(&child.attrs) {
        let path = file.parent().unwrap_or(directory).join(path);
        return load_file(modules, &path, &below, parent);
    }
    let beside = directory.join(format!("{name}.rs"));
    let inside = below.join("mod.rs");
    let path = if beside.is_file() { beside } else { inside };
    load_file(modules, &path, &below, parent)
}

fn path_attribute(attributes: &[Attribute]) -> Option<String> {
    attributes
        .iter()
        .find_map(|attribute| match &attribute.meta {
            Meta::NameValue(pair) if pair.path.is_ident("path") => match &pair.value {
                syn::Expr::Lit(literal) => match &literal.lit {
                    syn::Lit::Str(text) => Some(text.value()),
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        })
}

/// Notes what an import brings. Imports from the root of all crates (`::name`) are of others.
pub(super) fn add_use(module: &mut Module, import: &ItemUse) {
    if import.leading_colon.is_none() {
        let is_public = !matches!(import.vis, Visibility::Inherited);
        flatten(module, &mut Vec::new(), &import.tree, is_public);
    }
}

fn flatten(module: &mut Module, before: &mut Vec<String>, tree: &UseTree, is_public: bool) {
    match tree {
        UseTree::Path(path) => {
            before.push(path.ident.to_string());
            flatten(module, before, &path.tree, is_public);
            before.pop();
        }
        UseTree::Group(group) => {
            for tree in &group.items {
                flatten(module, before, tree, is_public);
            }
        }
        UseTree::Name(name) => bring(module, before, &name.ident.to_string(), None, is_public),
        UseTree::Rename(name) => {
            let alias = name.rename.to_string();
            bring(
                module,
                before,
                &name.ident.to_string(),
                Some(alias),
                is_public,
            );
        }
        UseTree::Glob(_) => module.uses.push(Use {
            path: before.clone(),
            is_public,
        }),
    }
}

fn bring(
    module: &mut Module,
    before: &[String],
    last: &str,
    alias: Option<String>,
    is_public: bool,
) {
    let mut path = before.to_vec();
    if last != "self" {
        path.push(last.to_owned());
    }
    let name = alias.or_else(|| path.last().cloned());
    if let Some(name) = name.filter(|name| name != "_") {
        module.names.insert(name, path.clone());
    }
    module.uses.push(Use { path, is_public });
}
