//! A part of a page that a command writes.

use std::{fs, path::Path};

use crate::failure::{Failure, Result};

/// The part of `page` between the comments `<!-- NAME -->` and `<!-- NAME: end -->`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Section<'a> {
    /// The page, from the root of the project.
    pub(crate) page: &'a str,
    pub(crate) name: &'a str,
}

impl Section<'_> {
    /// The text of the section, without empty lines around it.
    ///
    /// # Errors
    ///
    /// When the page cannot be read or does not have it.
    pub(crate) fn read(self, root: &Path) -> Result<String> {
        let text = self.page_text(root)?;
        let (_, section, _) = self.split(&text)?;
        Ok(format!("{}\n", section.trim()))
    }

    /// Puts `text` into its place.
    ///
    /// # Errors
    ///
    /// When the page cannot be read or written, or does not have it.
    pub(crate) fn write(self, root: &Path, text: &str) -> Result<()> {
        let page = self.page_text(root)?;
        let (before, _, after) = self.split(&page)?;
        let page = format!("{before}\n\n{}\n\n{after}", text.trim());
        fs::write(root.join(self.page), page).map_err(|error| self.failed(&error.to_string()))
    }

    fn page_text(self, root: &Path) -> Result<String> {
        fs::read_to_string(root.join(self.page)).map_err(|error| self.failed(&error.to_string()))
    }

    /// The page up to the first line of the section, the section, and the rest.
    fn split(self, page: &str) -> Result<(&str, &str, &str)> {
        let (begin, end) = (
            format!("<!-- {} -->", self.name),
            format!("<!-- {}: end -->", self.name),
        );
        let parts = page.find(&begin).and_then(|at| {
            let (before, rest) = page.split_at(at + begin.len());
            let (section, after) = rest.split_at(rest.find(&end)?);
            Some((before, section, after))
        });
        parts.ok_or_else(|| self.failed(&format!("it has no lines {begin} and {end}")))
    }

    fn failed(self, why: &str) -> Failure {
        Failure::new(format!("{}: {why}", self.page))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_is_replaced_and_the_page_stays() {
        let section = Section {
            page: "page.md",
            name: "table",
        };
        let page = "# Page\n<!-- table -->\nold\n<!-- table: end -->\nmore\n";
        let (before, old, after) = section.split(page).unwrap();
        assert_eq!((before, old), ("# Page\n<!-- table -->", "\nold\n"));
        assert_eq!(after, "<!-- table: end -->\nmore\n");
        let why = section.split("# Page\n").unwrap_err().to_string();
        assert!(
            why.contains("page.md: it has no lines <!-- table -->"),
            "{why}"
        );
    }
}
